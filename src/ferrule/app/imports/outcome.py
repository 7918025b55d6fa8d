"""Reports the outcome of an import, for people and for programs, and the changes at its source.

A change since the last import is judged as `ferrule diff` judges it: by the callers it breaks. `planning` made the decisions;
nothing here writes a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from ferrule.app.imports.merging import BODY, Conflict
from ferrule.app.imports.planning import WRITTEN, FilePlan, ImportPlan
from ferrule.definitions.compiler.compare import compare, snapshot_pieces
from ferrule.definitions.compiler.gather import gather
from ferrule.model.change import Snapshot, ToolChange
from ferrule.model.diagnostic import Diagnostic
from ferrule.model.document import Source
from ferrule.model.value import MISSING, format_path
from ferrule.workspace.parts import load_parts

Effect = Literal["added", "removed", "breaking", "undecided", "compatible"]


class UpstreamChange(NamedTuple):
    """One tool that changed upstream."""

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


def list_upstream_changes(before: Mapping[str, str], after: Mapping[str, str], namespace: str) -> list[UpstreamChange]:
    """Returns the tools that differ between two imports, by id."""
    # Only files that differ are compiled: what they make is all that can have changed.
    differing = {file for file in {*before, *after} if before.get(file) != after.get(file)}
    comparison = compare(*(_take_snapshot(side, differing, namespace) for side in (before, after)))
    return [
        UpstreamChange(change.part.outline.tool_id or "", _judge_effect(change), change)
        for change in comparison.changes
        if change.word != "unchanged"
    ]


def _take_snapshot(files: Mapping[str, str], wanted: Iterable[str], namespace: str) -> Snapshot:
    sources = (Source(file, files[file].encode()) for file in sorted(wanted) if file in files)
    return snapshot_pieces(gather(sources, load_parts().dialects, namespace))


def _judge_effect(change: ToolChange) -> Effect:
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
    """The value that the last import wrote, as JSON; null when there was none."""
    yours: str | None
    """The value in the file, as JSON (lines of Markdown as they are); null when it was removed."""
    upstream: str | None
    """The value in the source; null when the source has none."""
    why: str
    """The obstacle when it is not the values; may be empty."""


class FileEntry(msgspec.Struct, frozen=True):
    """The outcome for one file."""

    file: str
    """Below the workspace."""
    state: str
    """`new`; `updated`; `unchanged`; `conflict`: not written until it is decided; `deleted`: by the user, and not restored;
    `gone`: no longer in the source, and the file stays; `pruned`; `taken`: the file was not made by an import."""
    kept: int
    """The user's edits that stay."""
    taken: int
    """Keys that come from upstream."""
    why: str
    """The reason why it is not written; may be empty."""


class UpstreamEntry(msgspec.Struct, frozen=True):
    """One tool that changed since its last import."""

    tool_id: str
    effect: str
    """`added`, `removed`, `breaking`, `undecided` (the effect on callers is unknown) or `compatible`."""
    reasons: tuple[str, ...]
    """The effects on callers."""


class LeftEntry(msgspec.Struct, frozen=True):
    """A tool of the source that is not imported."""

    name: str
    file: str
    """Where it is; may be empty."""
    line: int
    """1-based; 0 where it is unknown."""
    why: str
    """The reason, and the remedy."""


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """One import."""

    name: str
    """The import's name under `.ferrule/imports`."""
    kind: str
    """`openapi`, `python`, `openai`, `anthropic` or `gemini`."""
    source: str
    """Where the tools come from."""
    written: bool
    """False for a dry run, and when the user declined."""
    files: tuple[FileEntry, ...]
    conflicts: tuple[ConflictEntry, ...] = ()
    upstream: tuple[UpstreamEntry, ...] = ()
    """Tools that changed since the last import."""
    left_out: tuple[LeftEntry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Findings in the source."""
    notes: tuple[str, ...] = ()
    """Details of the source that a definition states less exactly."""
    next: tuple[str, ...] = ()
    """The next steps for the user."""


def build_report(plan: ImportPlan, upstream: Iterable[UpstreamChange] = (), **more: Any) -> ImportReport:
    """Returns the report of a plan."""
    return ImportReport(
        name=plan.record.name,
        kind=plan.record.kind,
        source=plan.record.source,
        files=tuple(FileEntry(one.file, one.state, len(one.kept), len(one.taken), one.why) for one in plan.files),
        conflicts=tuple(
            _build_conflict(one, conflict) for one in plan.having("conflict") for conflict in one.conflicts
        ),
        upstream=tuple(UpstreamEntry(one.tool_id, one.effect, one.reasons) for one in upstream),
        **more,
    )


def _build_conflict(plan: FilePlan, conflict: Conflict) -> ConflictEntry:
    is_text = conflict.path == BODY
    return ConflictEntry(
        plan.file,
        conflict.line,
        format_path(conflict.path),
        _format_value(conflict.base, is_text),
        _format_value(conflict.mine, is_text),
        _format_value(conflict.theirs, is_text),
        conflict.why,
    )


def _format_value(value: object, is_text: bool) -> str | None:
    if value is MISSING:
        return None
    return str(value) if is_text else json.dumps(value, ensure_ascii=False)


def format_report(report: ImportReport, *, is_long: bool = False) -> Iterator[str]:
    """Yields the report for people. `is_long`: files that stay as they are, too."""
    yield f"{report.source} ({report.kind}, import {report.name!r})"
    yield from _format_counts(report)
    for one in report.upstream:
        if one.effect in ("breaking", "undecided"):
            yield f"  upstream: {one.tool_id}: {one.effect}" + "".join(f"; {reason}" for reason in one.reasons)
    for entry in report.files:
        if entry.state in ("taken", "gone", "deleted") or (is_long and entry.state != "unchanged"):
            yield f"  {entry.state}: {entry.file}" + (f": {entry.why}" if entry.why else _explain_state(entry.state))
    for left in report.left_out:
        place = f"{left.file}:{left.line}: " if left.file else ""
        yield f"  {place}{left.name} is not imported: {left.why}"
    for note in report.notes:
        yield f"  note: {note}"
    for conflict in report.conflicts:
        yield from _format_conflict(conflict)


def _format_counts(report: ImportReport) -> Iterator[str]:
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


def _explain_state(state: str) -> str:
    return {
        "gone": ": no longer in the source; --prune deletes the file",
        "deleted": ": you deleted it; --again restores it",
    }.get(state, "")


def _format_conflict(conflict: ConflictEntry) -> Iterator[str]:
    what = conflict.path or "the text below the fields"
    yield f"  {conflict.file}:{conflict.line}: conflict: {what}" + (f" ({conflict.why})" if conflict.why else "")
    sides = (("imported", conflict.imported), ("yours", conflict.yours), ("upstream", conflict.upstream))
    if conflict.why and not any(value for _, value in sides):
        return
    for side, value in sides:
        yield f"      {side + ':':<10}{'(nothing)' if value is None else _shorten(value)}"


def _shorten(text: str) -> str:
    shown = text.rstrip("\n").replace("\n", "\n" + " " * 16)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}… ({len(text)} characters)"
