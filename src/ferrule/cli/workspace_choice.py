"""The workspace of `serve`, `console` and `key`: how it is found or refused, and how and at which address it is served.

A folder that holds no workspace is refused before anything is written, with a hint to the one below it. Settings come from
`[serve]` in ferrule.toml, changed by the environment, changed by options. `ferrule serve` notes its address for commands on
this machine and holds a lock on the note. The system releases the lock however the process ends, so a note without one was
left behind, and its port may be another workspace's by now.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.errors import SettingsError, WorkspaceError
from ferrule.model.diagnostic import Severity
from ferrule.model.misfits import describe_complaint
from ferrule.model.serving import ServeSettings
from ferrule.model.value import JsonObject
from ferrule.settings import FILE_NAME, load_settings
from ferrule.workspace.staleness import CATALOG_FILE
from ferrule.workspace.workspace import Workspace, show_path

_CLUTTER = frozenset({"node_modules", "venv", "dist", "build", "target"})


def find_workspace(path: str) -> Workspace:
    """Finds the workspace around a path: a folder with a ferrule.toml, or one with definitions. Raises WorkspaceError."""
    workspace = Workspace.open(path)
    if workspace.has_settings_file or _was_used(workspace):
        return workspace
    below = _workspaces_below(workspace.root)
    has_definitions = any(compiled.compiled for compiled in workspace.compile())
    # A bare folder around a workspace, such as a repository, has definitions in it that were never meant to go together.
    if has_definitions and not (len(below) == 1 and _has_errors(workspace)):
        return workspace
    lack = (
        f"no {FILE_NAME}, and definitions with errors" if has_definitions else f"neither a {FILE_NAME} nor a definition"
    )
    hint = f"did you mean --workspace {show_path(str(below[0]))}? " if len(below) == 1 else ""
    raise WorkspaceError(
        f"there is no workspace in {workspace.root}: {lack}; {hint}--workspace DIR names one, 'ferrule init' makes one"
    )


def _was_used(workspace: Workspace) -> bool:
    """True where a catalog was built, or calls were made: a workspace of Python functions has no definitions."""
    return any((workspace.root / file).exists() for file in (CATALOG_FILE, workspace.settings.ledger.path))


def _has_errors(workspace: Workspace) -> bool:
    return any(found.severity is Severity.ERROR for found in workspace.check().diagnostics)


def _workspaces_below(folder: Path) -> list[Path]:
    """Returns the direct subfolders that are workspaces."""
    try:
        with os.scandir(folder) as listing:
            names = sorted(entry.name for entry in listing if not entry.name.startswith("."))
    except OSError:
        return []
    return [folder / name for name in names if name not in _CLUTTER and (folder / name / FILE_NAME).is_file()]


FOLDER = ".ferrule/served"


class AddressNote(NamedTuple):
    """A note, and the descriptor that holds its lock."""

    file: Path
    held: int


@contextmanager
def remove_notes(notes: list[AddressNote]) -> Iterator[None]:
    """Removes the notes in the list at the end of the block."""
    try:
        yield
    finally:
        for note in notes:
            # Removed before its lock is let go: after that the file may be another server's note.
            with suppress(OSError):
                note.file.unlink()
            os.close(note.held)


def note_address(root: Path, host_and_port: str) -> list[AddressNote]:
    """Writes a note that a workspace is served here. Without permission to write there is no note, which is harmless."""
    # By port: that has one server, so a note that was left there is replaced.
    file = root / FOLDER / host_and_port.rpartition(":")[2]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return []
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(held, 0)
        os.write(held, f"http://{host_and_port}\n".encode())
        os.utime(held)
    except OSError:
        os.close(held)
        return []
    return [AddressNote(file, held)]


def list_addresses(root: Path) -> list[str]:
    """Returns the addresses at which a workspace is served, the newest note first."""
    notes = []
    for file in (root / FOLDER).glob("*"):
        with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8") as note:
            if _is_held(note.fileno()):
                notes.append((os.fstat(note.fileno()).st_mtime, note.read().strip()))
    return [address for _, address in sorted(notes, reverse=True)]


def _is_held(descriptor: int) -> bool:
    """True while the process that wrote a note lives. Raises OSError where locks are unsupported."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


PREFIX = "FERRULE_SERVE_"
NAMES = {"host": str, "port": int, "public_url": str, "processes": int, "log_level": str}
"""What the environment may say: `FERRULE_SERVE_PORT=9000`."""


def join_serve_settings(workspace: Workspace, options: Mapping[str, object] | None = None) -> ServeSettings:
    """Joins the settings of the file, of the environment and of the options; later ones win. Raises SettingsError."""
    said = read_environment() | dict(options or {})
    settings = load_settings(workspace.root).serve
    try:
        said["public_url"] = str(said.get("public_url", settings.public_url)).rstrip("/")  # paths begin with theirs
        return msgspec.convert({**msgspec.structs.asdict(settings), **said}, ServeSettings, from_attributes=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"[serve], {PREFIX}… or an option cannot be used: {describe_complaint(error)}") from None


def read_environment(environment: Mapping[str, str] = os.environ) -> JsonObject:
    """Reads the settings from environment variables. Raises SettingsError."""
    said: dict[str, Any] = {}
    for name, kind in NAMES.items():
        text = environment.get(PREFIX + name.upper())
        if text:
            if kind is int and not text.isdecimal():
                raise SettingsError(f"{PREFIX}{name.upper()} is {text!r}; write a whole number")
            said[name] = kind(text)
    return said
