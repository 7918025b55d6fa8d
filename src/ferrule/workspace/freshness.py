"""Whether the files of a workspace changed: their times and sizes at one moment, to compare with those of another."""

from __future__ import annotations

from pathlib import Path

from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.settings import FILE_NAME
from ferrule.workspace.workspace import Workspace

Stamps = dict[str, tuple[int, int]]


def stamps_of(workspace: Workspace, without: str | None = None) -> Stamps:
    """Every file that could matter to the catalog, with its time and size; `without`: one that does not."""
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
