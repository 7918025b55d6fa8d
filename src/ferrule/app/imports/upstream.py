"""What changed where tools come from since they were imported last, and whom it breaks: judged as `ferrule diff` judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from ferrule.definitions.compiler.compare import compare, snapshot_of_pieces
from ferrule.definitions.compiler.gather import gather
from ferrule.model.change import Snapshot, ToolChange
from ferrule.model.document import Source
from ferrule.model.value import MISSING
from ferrule.workspace.parts import parts

Effect = Literal["added", "removed", "breaking", "undecided", "compatible"]


class UpstreamChange(NamedTuple):
    """One tool that is not as it was."""

    tool_id: str
    effect: Effect
    change: ToolChange

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why callers break, or what else is different."""
        texts = tuple(item.text for item in (*self.change.narrowed, *self.change.weakened))
        if texts or self.effect in ("added", "removed"):
            return texts
        return (f"changed: {', '.join(self.change.fields) or 'version'}",)


def upstream_changes(before: Mapping[str, str], after: Mapping[str, str], namespace: str) -> list[UpstreamChange]:
    """The tools that differ between two imports, by id."""
    differing = {file for file in {*before, *after} if before.get(file) != after.get(file)}
    comparison = compare(*(_snapshot(side, differing, namespace) for side in (before, after)))
    return [
        UpstreamChange(change.part.outline.tool_id or "", _effect(change), change)
        for change in comparison.changes
        if change.word != "unchanged"
    ]


def _snapshot(files: Mapping[str, str], wanted: Iterable[str], namespace: str) -> Snapshot:
    sources = (Source(file, files[file].encode()) for file in sorted(wanted) if file in files)
    return snapshot_of_pieces(gather(sources, parts().dialects, namespace))


def _effect(change: ToolChange) -> Effect:
    if change.word in ("added", "removed"):
        return "added" if change.word == "added" else "removed"
    if change.narrowed or change.weakened or change.example is not MISSING:
        return "breaking"
    return "undecided" if change.is_undecided else "compatible"
