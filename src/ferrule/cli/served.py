"""Where a workspace is being served from this machine: noted by `ferrule serve` for commands that want to reach it, such as
`ferrule console`. A note may outlive its server, so whoever reads one asks whether anybody is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = ".ferrule/served"


@contextmanager
def forgetting(notes: list[Path]) -> Iterator[None]:
    """Removes at the end of the block the notes that are in the list by then."""
    try:
        yield
    finally:
        for note in notes:
            with suppress(OSError):
                note.unlink()


def noted(root: Path, host_and_port: str) -> list[Path]:
    """Note that a workspace is served here. Where that cannot be written there is no note, which hinders nobody."""
    # By port: that has one server, so a note that was left there is replaced.
    file = root / FOLDER / host_and_port.rpartition(":")[2]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"http://{host_and_port}\n", encoding="utf-8")
    except OSError:
        return []
    return [file]


def noted_addresses(root: Path) -> list[str]:
    """Where a workspace was said to be served, the newest note first."""
    notes = []
    for file in (root / FOLDER).glob("*"):
        with suppress(OSError, UnicodeDecodeError):
            notes.append((file.stat().st_mtime, file.read_text(encoding="utf-8").strip()))
    return [address for _, address in sorted(notes, reverse=True)]
