"""Files that a command writes: all or none, and never over a file that it did not write itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import write_whole

RECORD = ".ferrule-written.json"
"""Beside the files: what was written there, each with its digest, so that an edit of somebody's is not overwritten."""


def write_files(folder: Path, files: Mapping[str, bytes], *, is_forced: bool = False) -> int:
    """Writes files into a folder, and returns how many were missing or outdated. Raises WorkspaceError, before anything is
    written, when one of them belongs to somebody else."""
    known = _read_known(folder)
    places = {_resolve_inside(folder, name): data for name, data in files.items()}
    changed = {path: data for path, data in places.items() if _content(path) != data}
    if not is_forced:
        _refuse_foreign(folder, changed, known)
    for path, data in changed.items():
        write_whole(path, data)
    record = known | {name: _digest(data) for name, data in files.items()}
    if record != known:
        write_whole(folder / RECORD, msgspec.json.format(msgspec.json.encode(dict(sorted(record.items())))) + b"\n")
    return len(changed)


def write_file(path: Path, data: bytes, *, is_forced: bool = False) -> None:
    """Writes one file. Raises WorkspaceError when another file is there."""
    there = _content(path)
    if there is not None and there != data and not is_forced:
        raise WorkspaceError(f"{path} is there already and has something else in it; --force overwrites it")
    write_whole(path, data)


def _refuse_foreign(folder: Path, changed: Mapping[Path, bytes], known: Mapping[str, str]) -> None:
    foreign = []
    for path in changed:
        there = _content(path)
        name = path.relative_to(folder).as_posix()
        if there is not None and known.get(name) != _digest(there):
            foreign.append(name)
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise WorkspaceError(
            f"{folder} has {', '.join(sorted(foreign)[:3])}{more} already, not as it was written from here; nothing was"
            " written: choose another folder, or overwrite with --force"
        )


def _resolve_inside(folder: Path, name: str) -> Path:
    """Returns the path of a file, inside the folder."""
    # The name comes from a definition, which may be hostile.
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or any(part in ("..", RECORD) or "\0" in part for part in parts):
        raise WorkspaceError(f"a file cannot be named {name!r}; give the tool another id")
    return folder.joinpath(*parts)


def _read_known(folder: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkspaceError(f"cannot look at {path}: {error.strerror}; nothing was written") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
