"""What an import is called, and whether it was made before."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ferrule.app.imports.source import PIPE, is_address
from ferrule.app.imports.store import ImportRecord, Kept, demand_name, imports_of, kept_import
from ferrule.errors import WorkspaceError

_GENERIC = frozenset(
    {
        "openapi",
        "swagger",
        "spec",
        "api",
        "apis",
        "api-docs",
        "v1",
        "v2",
        "v3",
        "docs",
        "www",
        "index",
        "schema",
        "tools",
    }
)


class Known(NamedTuple):
    """An import that is made, or made again."""

    name: str
    source: str
    last: Kept | None


def known_import(root: Path, kind: str, source: str, name: str) -> Known:
    """The import that a source, or a name, means. Raises WorkspaceError."""
    records = [record for record in imports_of(root) if record.kind == kind]
    kept_as = source_as_kept(root, source)
    for record in records:
        if record.name == (name or source) and (record.name == source or record.source == kept_as or name):
            return Known(
                record.name, record.source if record.name == source else kept_as, kept_import(root, record.name)
            )
    for record in records:
        if not name and record.source == kept_as and source != PIPE:
            return Known(record.name, kept_as, kept_import(root, record.name))
    chosen = demand_name(name) if name else _name_of(kept_as)
    other = kept_import(root, chosen)
    if other is not None:
        raise WorkspaceError(
            f"there is an import {chosen!r} already, of {other.record.source} ({other.record.kind});"
            f" {'--name ' + chosen + ' imports that one from here' if other.record.kind == kind else 'give this one'}"
            f"{', another --name makes a new one' if other.record.kind == kind else ' another --name'}"
        )
    return Known(chosen, kept_as, None)


def repeatable(root: Path, kind: str) -> list[ImportRecord]:
    """The imports of a kind that can be made again without a source being named."""
    return [record for record in imports_of(root) if record.kind == kind and record.source != PIPE]


def source_as_kept(root: Path, source: str) -> str:
    """A source as it is written down: files as seen from the workspace."""
    if source == PIPE or is_address(source):
        return source.partition("#")[0]
    return os.path.relpath(os.path.abspath(source), root).replace(os.sep, "/")


def source_as_used(root: Path, kept: str) -> str:
    """The same, as it is opened."""
    return kept if kept == PIPE or is_address(kept) else str(root / kept)


def _name_of(source: str) -> str:
    if source == PIPE:
        raise WorkspaceError("nothing says what to call an import that comes through a pipe; give it a --name")
    if is_address(source):
        parts = urlsplit(source)
        words = [*reversed(parts.path.split("/")), *(parts.hostname or "").split(".")]
    else:
        words = list(reversed(source.split("/")))
    for word in words:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", re.sub(r"\.(?:json|ya?ml|py)$", "", word)).strip("-_").lower()
        if plain and plain not in _GENERIC and not plain.isdigit():
            return plain[:64]
    return "tools"
