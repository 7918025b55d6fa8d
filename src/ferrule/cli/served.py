"""Where a workspace is being served from this machine: noted by `ferrule serve` for commands that want to reach it, such as
`ferrule console`. Whoever serves holds a lock on its note, and the system lets go of that however the process ends: a note
that nobody holds was left behind, and its port may be another workspace's by now.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

FOLDER = ".ferrule/served"


class Note(NamedTuple):
    """A note, and the descriptor that holds its lock."""

    file: Path
    held: int


@contextmanager
def forgetting(notes: list[Note]) -> Iterator[None]:
    """Removes at the end of the block the notes that are in the list by then."""
    try:
        yield
    finally:
        for note in notes:
            with suppress(OSError):
                note.file.unlink()
            os.close(note.held)


def noted(root: Path, host_and_port: str) -> list[Note]:
    """Note that a workspace is served here. Where that cannot be written there is no note, which hinders nobody."""
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
    return [Note(file, held)]


def noted_addresses(root: Path) -> list[str]:
    """Where a workspace is being served, the newest note first."""
    notes = []
    for file in (root / FOLDER).glob("*"):
        with suppress(OSError, UnicodeDecodeError), file.open(encoding="utf-8") as note:
            if _is_held(note.fileno()):
                notes.append((os.fstat(note.fileno()).st_mtime, note.read().strip()))
    return [address for _, address in sorted(notes, reverse=True)]


def _is_held(descriptor: int) -> bool:
    """True while the process that wrote a note lives. Raises OSError where locks are unknown."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
