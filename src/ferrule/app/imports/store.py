"""Stores imports with their sources and texts in `.ferrule/imports/<name>/`. The folder belongs into version control.

`import.json` says where the tools came from and which were chosen, so that the import can be repeated; `base.json` holds the
text of every file as the last import wrote it, to tell the user's edits from. `begun.json` exists while an import writes: after
an interruption, the files that were already written count as imported.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import write_whole

FOLDER = ".ferrule/imports"
_RECORD, _BASE, _BEGUN = "import.json", "base.json", "begun.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ImportRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The source of an import."""

    name: str
    kind: str
    """`openapi`, `python`, `openai`, `anthropic`, `gemini`."""
    source: str
    """A file of the workspace, an address, a module; `-` for standard input."""
    out: str
    """The folder the files are in, below the workspace."""
    imported_at: str
    choice: dict[str, Any] = {}
    """The chosen parts, in the words of the importer."""


class StoredImport(msgspec.Struct, frozen=True, kw_only=True):
    """The last outcome of an import."""

    record: ImportRecord
    bases: dict[str, str] = {}
    """The text of each file as it was imported, by its path below the workspace."""


class PendingFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that an import is about to write."""

    text: str
    base: str
    """The text to tell edits from once it is written."""


def demand_name(name: str) -> str:
    """Returns a name if it can be a folder's. Raises WorkspaceError."""
    if not _NAME.fullmatch(name):
        raise WorkspaceError(f"{name!r} cannot name an import; use letters, digits, '-' and '_', at most 64 of them")
    return name


def list_imports(root: Path) -> list[ImportRecord]:
    """Returns every import of a workspace, by name. Raises WorkspaceError."""
    try:
        names = sorted(entry.name for entry in os.scandir(root / FOLDER) if entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WorkspaceError(f"cannot look into {FOLDER}: {error.strerror}") from None
    found = (_read(root, name, _RECORD, ImportRecord) for name in names if _NAME.fullmatch(name))
    return [record for record in found if record is not None]


def load_import(root: Path, name: str) -> StoredImport | None:
    """Returns an import with the texts it made; None when there is none of this name. Raises WorkspaceError."""
    record = _read(root, demand_name(name), _RECORD, ImportRecord)
    if record is None:
        return None
    bases = _read(root, name, _BASE, dict[str, str]) or {}
    begun = _read(root, name, _BEGUN, dict[str, PendingFile]) or {}
    for file in {**bases, **begun}:
        demand_inside(root, file)
    done = {file: one.base for file, one in begun.items() if _has_text(root / file, one.text)}
    return StoredImport(record=record, bases={**bases, **done})


def begin_import(root: Path, record: ImportRecord, files: dict[str, PendingFile]) -> None:
    """Records the files that are about to be written. Raises WorkspaceError."""
    if files:
        _write(root, record.name, _BEGUN, files)
        if _read(root, record.name, _RECORD, ImportRecord) is None:
            _write(root, record.name, _RECORD, record)


def save_import(root: Path, kept: StoredImport) -> None:
    """Records an import. Raises WorkspaceError."""
    name = demand_name(kept.record.name)
    _write(root, name, _BASE, dict(sorted(kept.bases.items())))
    _write(root, name, _RECORD, kept.record)
    # Last: until then, this file marks the import as unfinished.
    _locate(root, name, _BEGUN).unlink(missing_ok=True)


def map_owners(root: Path) -> dict[str, str]:
    """Returns the name of the import that made each file."""
    found: dict[str, str] = {}
    for record in list_imports(root):
        kept = load_import(root, record.name)
        found.update(dict.fromkeys(kept.bases if kept is not None else (), record.name))
    return found


def demand_inside(root: Path, file: str) -> Path:
    """Returns a writable file of the workspace: not outside of it, and not through a link. Raises WorkspaceError."""
    parts = PurePosixPath(file).parts
    if not parts or file.startswith("/") or ".." in parts or "\\" in file or "\0" in file:
        raise WorkspaceError(f"{file!r} is no file of the workspace, so nothing is written there")
    path = root.joinpath(*parts)
    base = os.path.realpath(root)
    if os.path.realpath(path.parent) != os.path.normpath(os.path.join(base, *parts[:-1])) or path.is_symlink():
        raise WorkspaceError(
            f"{file!r} is behind a link, so nothing is written there; import into a real folder with --out"
        )
    return path


def _locate(root: Path, name: str, file: str) -> Path:
    return demand_inside(root, f"{FOLDER}/{name}/{file}")


def _write(root: Path, name: str, file: str, value: object) -> None:
    write_whole(_locate(root, name, file), msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _has_text(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _read(root: Path, name: str, file: str, kind: object) -> Any:
    path = root / FOLDER / name / file
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkspaceError(f"cannot read {FOLDER}/{name}/{file}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        advice = "take it from version control, or delete the folder and import anew under another --out"
        raise WorkspaceError(f"{FOLDER}/{name}/{file} is damaged ({error}); {advice}") from None
