"""Finds and loads a workspace's catalog, and tells whether definitions changed since it was built.

The question precedes every call, so the answer is stored beside the catalog: the definition files by name, and the state of all
other files, which held no definition then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ferrule.definitions.compiler.check import detect_dialect
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.pool import FileTask
from ferrule.definitions.compiler.read import read
from ferrule.definitions.compiler.seal import PUBLIC_FILE, read_trusted_keys
from ferrule.errors import CatalogError, WorkspaceError
from ferrule.infra.atomic_files import write_whole
from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.model.catalog import Catalog
from ferrule.settings import FILE_NAME
from ferrule.workspace.parts import load_parts
from ferrule.workspace.workspace import Workspace, show_path

CATALOG_FILE = ".ferrule/catalog.ferrule"


def load_catalog(workspace: Workspace, path: str | Path | None = None) -> Catalog:
    """Returns the workspace's built catalog. Raises CatalogError when there is none, or its seal does not hold."""
    file = Path(path) if path is not None else workspace.root / CATALOG_FILE
    if not file.exists():
        raise CatalogError(f"there is no catalog {show_path(str(file))}; make one with 'ferrule build'")
    return Catalog.load(file, read_trusted_keys(workspace.root / PUBLIC_FILE))


FILES_FILE = ".ferrule/catalog.files"

Stamp = tuple[int, int, int]
"""A file's modification time, size, and inode."""


class _BuiltFrom(msgspec.Struct):
    """The files behind a catalog."""

    catalog: tuple[int, int]
    """The catalog's modification time and size: the record is only valid for that catalog."""
    definitions: frozenset[str]
    """Files with definitions at the build."""
    others: dict[str, Stamp]
    """Files without, in the state in which they were last read."""


_decode = msgspec.json.Decoder(_BuiltFrom).decode


def read_stamps(workspace: Workspace) -> dict[str, Stamp]:
    """Returns the files that may hold definitions, by name, as they are now. Call it before they are compiled."""
    found = ((task.name, _read_stamp(task.path)) for task in workspace.select().everything)
    return {name: stamp for name, stamp in found if stamp is not None}


def record_build(workspace: Workspace, seen: dict[str, Stamp], definitions: Iterable[str]) -> None:
    """Stores the files that the newly written catalog was built from. `seen`: all files that were read."""
    catalog = _read_stamp(str(workspace.root / CATALOG_FILE))
    if catalog is not None:
        names = frozenset(definitions)
        others = {name: stamp for name, stamp in seen.items() if name not in names}
        _store_record(workspace, _BuiltFrom(catalog[:2], names, others))


def is_stale(workspace: Workspace) -> bool:
    """Returns True when a definition was changed, added or deleted after the build, so that calls use an old catalog."""
    catalog = _read_stamp(str(workspace.root / CATALOG_FILE))
    if catalog is None:
        return False
    tasks = workspace.select().everything
    known = _load_record(workspace)
    if known is None or known.catalog != catalog[:2]:  # built elsewhere: any newer file may have been a definition
        return any(stamp[0] > catalog[0] for task in tasks if (stamp := _read_stamp(task.path)) is not None)
    if not known.definitions <= {task.name for task in tasks}:
        return True
    others: dict[str, Stamp] = {}
    for task in tasks:
        stamp = _read_stamp(task.path)
        if task.name in known.definitions:
            if stamp is None or stamp[0] > catalog[0]:
                return True
        elif stamp is not None:
            if known.others.get(task.name) != stamp and _is_definition(task):
                return True
            others[task.name] = stamp
    # Files that changed and still hold no definition are not read again by the next call.
    if others != known.others:
        _store_record(workspace, _BuiltFrom(known.catalog, known.definitions, others))
    return False


def _is_definition(task: FileTask) -> bool:
    dialects = load_parts().dialects
    return any(detect_dialect(document, dialects) is not None for document in read(load(task.path, task.name)))


def _load_record(workspace: Workspace) -> _BuiltFrom | None:
    try:
        return _decode((workspace.root / FILES_FILE).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _store_record(workspace: Workspace, known: _BuiltFrom) -> None:
    """Stores the record; it only saves time and false alarms, so failures to write are ignored."""
    with suppress(WorkspaceError, UnicodeEncodeError):
        write_whole(workspace.root / FILES_FILE, msgspec.json.encode(known, order="deterministic"))


def _read_stamp(path: str) -> Stamp | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


Stamps = dict[str, tuple[int, int]]


def read_all_stamps(workspace: Workspace, without: str | None = None) -> Stamps:
    """Returns the time and size of every file that affects the catalog; `without`: one to leave out."""
    seen: Stamps = {}
    own = (str(workspace.root / FILE_NAME), str(workspace.root / LOCK_FILE))
    for path in (*own, *(task.path for task in workspace.select().everything)):
        try:
            facts = Path(path).stat()
        except OSError:  # gone, or never there
            continue
        if path != without:
            seen[path] = (facts.st_mtime_ns, facts.st_size)
    return seen
