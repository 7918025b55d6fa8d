"""The source of an import: the bytes of its document, what the import is called, and whether it was made before.

A document is a file, an address, or standard input; its size is limited. `store` holds earlier imports. This module does not
know what the bytes mean.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ferrule.app.imports.store import ImportRecord, StoredImport, demand_name, list_imports, load_import
from ferrule.app.network import Network
from ferrule.errors import WorkspaceError
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.network.redirects import RedirectStep, follow
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.workspace.workspace import Workspace

PIPE = "-"
MOST_BYTES = 64 * 1024**2
_SECONDS = 60.0
_ACCEPT = (("Accept", "application/json, application/yaml, text/yaml, */*;q=0.5"),)


def is_address(source: str) -> bool:
    """Returns True for a source to fetch."""
    return urlsplit(source).scheme in ("http", "https") if "://" in source else False


def load_document(workspace: Workspace, source: str) -> bytes:
    """Returns the document at a source. Raises WorkspaceError."""
    if source == PIPE:
        return _check_size(sys.stdin.buffer.read(MOST_BYTES + 1), "the document from standard input")
    if is_address(source):
        return asyncio.run(_fetch(workspace, source))
    if "://" in source:
        raise WorkspaceError(f"{source!r} cannot be fetched; give an http or https address, or a file")
    return _read(Path(source))


def make_file_reader(workspace: Workspace, source: str) -> Callable[[str], bytes | None] | None:
    """Returns a reader for files that a local document refers to: in its own folder or the workspace, nowhere else."""
    if source == PIPE or is_address(source):
        return None
    folder = os.path.realpath(os.path.dirname(os.path.abspath(source)))
    allowed = (folder, os.path.realpath(workspace.root))

    def read(name: str) -> bytes | None:
        path = os.path.realpath(os.path.join(folder, name))
        if not any(os.path.commonpath((path, root)) == root for root in allowed) or not os.path.isfile(path):
            return None
        return _read(Path(path))

    return read


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise _build_size_error(str(path))
        return path.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"cannot read {path}: {error.strerror}; give a file, an address or '-'") from None


def _check_size(data: bytes, what: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise _build_size_error(what)
    return data


def _build_size_error(what: str) -> WorkspaceError:
    return WorkspaceError(f"{what} is larger than {MOST_BYTES // 1024**2} MB; split it into smaller documents first")


async def _fetch(workspace: Workspace, source: str) -> bytes:
    parts = urlsplit(source)
    if parts.username or parts.password:
        raise WorkspaceError(
            "the address contains a password, which would be stored; download the document yourself, and pipe it"
        )
    client = Network(workspace.settings, os.environ, workspace.root).make_client()
    try:
        async with asyncio.timeout(_SECONDS):
            followed = await follow(client, RedirectStep("GET", parse_url(source), _ACCEPT))
            body = await followed.response.read(MOST_BYTES)
    except TimeoutError:
        raise WorkspaceError(
            f"{parts.netloc} sent no document within {_SECONDS:.0f} seconds; try again, or pipe it"
        ) from None
    except (Forbidden, BadUrl, BadRequest, Unreachable, BrokenAnswer, TooLong) as error:
        raise WorkspaceError(f"{source} cannot be fetched: {error}") from None
    finally:
        await client.aclose()
    if followed.response.status != 200:
        raise WorkspaceError(
            f"{source} answers with status {followed.response.status}; fetch it another way, and pipe it"
        )
    return body


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


class ImportIdentity(NamedTuple):
    """The name of an import with its last outcome, if it was made before."""

    name: str
    source: str
    last: StoredImport | None


def identify_import(root: Path, kind: str, source: str, name: str) -> ImportIdentity:
    """Finds the import that a source, or a name, refers to. Raises WorkspaceError."""
    records = [record for record in list_imports(root) if record.kind == kind]
    kept_as = encode_source(root, source)
    for record in records:
        if record.name == (name or source) and (record.name == source or record.source == kept_as or name):
            return ImportIdentity(
                record.name, record.source if record.name == source else kept_as, load_import(root, record.name)
            )
    for record in records:
        if not name and record.source == kept_as and source != PIPE:
            return ImportIdentity(record.name, kept_as, load_import(root, record.name))
    chosen = demand_name(name) if name else _suggest_name(kept_as)
    other = load_import(root, chosen)
    if other is not None:
        raise WorkspaceError(
            f"there is an import {chosen!r} already, of {other.record.source} ({other.record.kind});"
            f" {'--name ' + chosen + ' imports that one from here' if other.record.kind == kind else 'give this one'}"
            f"{', another --name makes a new one' if other.record.kind == kind else ' another --name'}"
        )
    return ImportIdentity(chosen, kept_as, None)


def list_repeatable(root: Path, kind: str) -> list[ImportRecord]:
    """Returns the imports of a kind that can be repeated without naming a source."""
    return [record for record in list_imports(root) if record.kind == kind and record.source != PIPE]


def encode_source(root: Path, source: str) -> str:
    """Returns a source as it is stored: files relative to the workspace."""
    if source == PIPE or is_address(source):
        return source.partition("#")[0]
    return os.path.relpath(os.path.abspath(source), root).replace(os.sep, "/")


def decode_source(root: Path, kept: str) -> str:
    """Returns a stored source as it is opened."""
    return kept if kept == PIPE or is_address(kept) else str(root / kept)


def _suggest_name(source: str) -> str:
    if source == PIPE:
        raise WorkspaceError("an import from standard input has no name of its own; set one with --name")
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
