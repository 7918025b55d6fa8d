"""Where the schema of a note stands: the file and the line, as near as its document can tell."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.cli.show.gen_report import GenNote
from ferrule.cli.workspace_tools import ListedTool
from ferrule.definitions.compiler.discover import load
from ferrule.definitions.compiler.locate import find_line, find_places
from ferrule.definitions.compiler.read import read
from ferrule.infra.lockfile.file import LOCK_FILE
from ferrule.model.document import Document, Places
from ferrule.model.value import Path, dig
from ferrule.schema.pointers import follow_steps, read_fragment
from ferrule.workspace.convert.fields import find_path
from ferrule.workspace.stubs import LooseType
from ferrule.workspace.workspace import Workspace


def place_notes(workspace: Workspace, entries: Sequence[ListedTool], notes: Sequence[LooseType]) -> list[GenNote]:
    """Returns the notes, each with its place."""
    by_id = {entry.outline.tool_id: entry for entry in entries}
    lines = _Lines(workspace)
    return [
        GenNote(note.tool_id, lines.place(by_id[note.tool_id], note), note.pointer, note.message)
        for note in notes
        if note.tool_id in by_id
    ]


class _Lines:
    """Lines of definition files, each of which is read once, and only where there is something to tell of it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._read: dict[tuple[str, int], tuple[Document, Places] | None] = {}

    def place(self, entry: ListedTool, note: LooseType) -> str:
        opened = self._open(entry)
        if opened is None:
            return entry.file
        document, places = opened
        path = _find_path(entry, note, document)
        return f"{entry.file}:{find_line(document, places, path) if path else 1}"

    def _open(self, entry: ListedTool) -> tuple[Document, Places] | None:
        key = (entry.outline.file, entry.outline.document)
        if key not in self._read:
            self._read[key] = self._read_document(*key) if entry.file != LOCK_FILE else None
        return self._read[key]

    def _read_document(self, file: str, number: int) -> tuple[Document, Places] | None:
        documents = read(load(str(self._workspace.root / file), file))
        if number >= len(documents):
            return None
        return documents[number], find_places(documents[number])


def _find_path(entry: ListedTool, note: LooseType, document: Document) -> Path:
    """Finds a note's path in its document. A note without a side takes the first schema in which its pointer leads somewhere."""
    tool = entry.outline.path
    for side in (note.side,) if note.side else ("input", "output"):
        home = find_path(entry.outline.dialect, f"{side}_schema")
        if home is not None:
            wanted = read_fragment(note.pointer.removeprefix("#"))
            _, steps = follow_steps(dig(document.value, (*tool, *home)), wanted)
            if note.side or len(steps) == len(wanted):
                return (*tool, *home, *steps)
    return tool
