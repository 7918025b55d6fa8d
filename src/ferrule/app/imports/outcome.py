"""Tells what came of an import, for people and for programs, and what changed at its source.

A change since the last import is judged as `ferrule diff` judges: whom it breaks. `planning` made the decisions; nothing
here writes a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ferrule.app.imports.merging import BODY, Conflict
from ferrule.app.imports.planning import WRITTEN, FilePlan, Plan
from ferrule.definitions.compiler.compare import compare, snapshot_pieces
from ferrule.definitions.compiler.gather import gather
from ferrule.model.change import Snapshot, ToolChange
from ferrule.model.diagnostic import Diagnostic
from ferrule.model.document import Source
from ferrule.model.value import MISSING, format_path
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
    return snapshot_pieces(gather(sources, parts().dialects, namespace))


def _effect(change: ToolChange) -> Effect:
    if change.word in ("added", "removed"):
        return "added" if change.word == "added" else "removed"
    if change.narrowed or change.weakened or change.example is not MISSING:
        return "breaking"
    return "undecided" if change.is_undecided else "compatible"


_LONGEST = 300


class ConflictEntry(msgspec.Struct, frozen=True):
    """Something that the user and upstream changed differently since the last import."""

    file: str
    """The user's file."""
    line: int
    """In that file, 1-based."""
    path: str
    """The key, dotted; empty for the Markdown below the fields."""
    imported: str | None
    """What the last import wrote, as JSON; null when there was nothing."""
    yours: str | None
    """What stands in the file, as JSON (lines of Markdown as they are); null when it was taken away."""
    upstream: str | None
    """What the source says now; null when it has it no more."""
    why: str
    """What stands in the way when it is not the values; may be empty."""


class FileEntry(msgspec.Struct, frozen=True):
    """What became of one file."""

    file: str
    """Below the workspace."""
    state: str
    """`new`; `updated`; `unchanged`; `conflict`: left as it is until somebody decides; `deleted`: by the user, and it stays so;
    `gone`: the source has it no more, and the file stays; `pruned`; `taken`: no import made the file that is there."""
    kept: int
    """Edits of the user's that stay."""
    taken: int
    """Keys that come from upstream."""
    why: str
    """Why it is not written; may be empty."""


class UpstreamEntry(msgspec.Struct, frozen=True):
    """One tool that is not as it was when it was imported last."""

    tool_id: str
    effect: str
    """`added`, `removed`, `breaking`, `undecided` (nobody can tell whether callers break) or `compatible`."""
    reasons: tuple[str, ...]
    """What callers notice."""


class LeftEntry(msgspec.Struct, frozen=True):
    """Something that was found and is not imported."""

    name: str
    file: str
    """Where it is; may be empty."""
    line: int
    """1-based; 0 where nobody knows."""
    why: str
    """And what to do about it."""


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """One import."""

    name: str
    """What it is called under `.ferrule/imports`."""
    kind: str
    """`openapi`, `python`, `openai`, `anthropic` or `gemini`."""
    source: str
    """Where the tools come from."""
    written: bool
    """False for a dry run, and when nobody agreed."""
    files: tuple[FileEntry, ...]
    conflicts: tuple[ConflictEntry, ...] = ()
    upstream: tuple[UpstreamEntry, ...] = ()
    """Tools that changed since the last import."""
    left_out: tuple[LeftEntry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """What was noticed in the source."""
    notes: tuple[str, ...] = ()
    """What a definition says less exactly than the source."""
    next: tuple[str, ...] = ()
    """What to do now."""


def report_of(plan: Plan, upstream: Iterable[UpstreamChange] = (), **more: Any) -> ImportReport:
    """The report of a plan."""
    return ImportReport(
        name=plan.record.name,
        kind=plan.record.kind,
        source=plan.record.source,
        files=tuple(FileEntry(one.file, one.state, len(one.kept), len(one.taken), one.why) for one in plan.files),
        conflicts=tuple(_entry(one, conflict) for one in plan.of("conflict") for conflict in one.conflicts),
        upstream=tuple(UpstreamEntry(one.tool_id, one.effect, one.reasons) for one in upstream),
        **more,
    )


def _entry(plan: FilePlan, conflict: Conflict) -> ConflictEntry:
    is_text = conflict.path == BODY
    return ConflictEntry(
        plan.file,
        conflict.line,
        format_path(conflict.path),
        _shown(conflict.base, is_text),
        _shown(conflict.mine, is_text),
        _shown(conflict.theirs, is_text),
        conflict.why,
    )


def _shown(value: Any, is_text: bool) -> str | None:
    if value is MISSING:
        return None
    return str(value) if is_text else json.dumps(value, ensure_ascii=False)


def report_lines(report: ImportReport, *, is_long: bool = False) -> Iterator[str]:
    """The report for people. `is_long`: files that stay as they are, too."""
    yield f"{report.source} ({report.kind}, import {report.name!r})"
    yield from _counted(report)
    for one in report.upstream:
        if one.effect in ("breaking", "undecided"):
            yield f"  upstream: {one.tool_id}: {one.effect}" + "".join(f"; {reason}" for reason in one.reasons)
    for entry in report.files:
        if entry.state in ("taken", "gone", "deleted") or (is_long and entry.state != "unchanged"):
            yield f"  {entry.state}: {entry.file}" + (f": {entry.why}" if entry.why else _meaning(entry.state))
    for left in report.left_out:
        place = f"{left.file}:{left.line}: " if left.file else ""
        yield f"  {place}{left.name} is not imported: {left.why}"
    for note in report.notes:
        yield f"  note: {note}"
    for conflict in report.conflicts:
        yield from _conflict(conflict)


def _counted(report: ImportReport) -> Iterator[str]:
    counts = {
        state: sum(entry.state == state for entry in report.files) for state in (*WRITTEN, "unchanged", "conflict")
    }
    words = [f"{count} {state}" for state, count in counts.items() if count]
    kept = sum(entry.kept for entry in report.files if entry.state in ("updated", "unchanged", "conflict"))
    if kept:
        words.append(f"{kept} of your edits kept")
    yield "  " + (", ".join(words) or "nothing to import")
    effects = {
        effect: sum(one.effect == effect for one in report.upstream)
        for effect in ("breaking", "undecided", "compatible")
    }
    told = [f"{count} {effect}" for effect, count in effects.items() if count]
    if told:
        yield f"  upstream changed since the last import: {', '.join(told)}"


def _meaning(state: str) -> str:
    return {
        "gone": ": the source has it no more; --prune takes the file away",
        "deleted": ": you deleted it, and it stays so; --again brings it back",
    }.get(state, "")


def _conflict(conflict: ConflictEntry) -> Iterator[str]:
    what = conflict.path or "the text below the fields"
    yield f"  {conflict.file}:{conflict.line}: conflict: {what}" + (f" ({conflict.why})" if conflict.why else "")
    sides = (("imported", conflict.imported), ("yours", conflict.yours), ("upstream", conflict.upstream))
    if conflict.why and not any(value for _, value in sides):
        return
    for side, value in sides:
        yield f"      {side + ':':<10}{'(nothing)' if value is None else _cut(value)}"


def _cut(text: str) -> str:
    shown = text.rstrip("\n").replace("\n", "\n" + " " * 16)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}… ({len(text)} characters)"
