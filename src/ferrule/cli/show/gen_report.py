"""What generating stubs found and did, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ferrule.cli.gen_choice import UnreadTool
from ferrule.contracts.language import Language, NextStep
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.definitions.stubs.ownership import REFUSED, WRITTEN, JudgedFile, State
from ferrule.workspace.stubs import StubsOutcome

_MOST = 20
"""So many files of one kind are told by name."""
_STALE: frozenset[State] = frozenset({"new", "missing", "stale", "edited", "foreign"})


class GenFile(msgspec.Struct, frozen=True):
    """One file of the stubs."""

    path: str
    """From the folder, with `/`."""
    state: str
    """`new`, `missing` or `stale` (written, or to be written), `unchanged`, `kept` (a person's), `forced`, `edited` or `foreign`
    (refused), `removed` (a person deleted it), `protected` (an ignore file names it)."""
    standing: str
    """`generated` or `yours`."""
    tool_id: str
    """Empty for what all tools share."""
    is_behind: bool
    """True for a person's file whose tool takes, gives or is given something else than at the last run."""


class GenNote(msgspec.Struct, frozen=True):
    """Where a type is looser than its schema."""

    tool_id: str
    place: str
    """`file:line` of the schema, or of the tool."""
    pointer: str
    """A JSON pointer into the schema."""
    message: str


class GenUnread(msgspec.Struct, frozen=True):
    """A tool that was left out, because its file has errors."""

    tool_id: str
    place: str
    """`file:line` of the first error."""
    message: str


class GenReport(msgspec.Struct, frozen=True):
    """One language and kind."""

    language: str
    kind: str
    flavour: str
    project: bool
    tools: int
    """How many tools have stubs."""
    is_current: bool
    """True when nothing was, or would be, written or refused, and nothing is orphaned."""
    files: tuple[GenFile, ...]
    orphans: tuple[str, ...]
    """Files that nothing needs any more. They are never deleted."""
    notes: tuple[GenNote, ...]
    unread: tuple[GenUnread, ...]
    needless: tuple[str, ...] = ()
    """Ids of tools without stubs to fill in, because Ferrule runs them itself."""


class GenReports(msgspec.Struct, frozen=True):
    """What `ferrule gen --json` prints."""

    folder: str
    is_check: bool
    """True when nothing was written, because of `--check`."""
    runs: tuple[GenReport, ...]


def report_of(
    outcome: StubsOutcome, notes: Sequence[GenNote], unread: Sequence[UnreadTool], needless: Sequence[str] = ()
) -> GenReport:
    """The report of one run."""
    files = tuple(
        GenFile(each.file.path, each.state, each.file.standing, each.file.tool_id, each.is_behind)
        for each in outcome.judged
    )
    is_current = not (outcome.orphans or unread or any(_is_off(each) for each in outcome.judged))
    return GenReport(
        language=outcome.wish.language,
        kind=outcome.wish.kind,
        flavour=outcome.made.plan.flavour,
        project=outcome.wish.is_project,
        tools=len(outcome.made.plan.tools),
        is_current=is_current,
        files=files,
        orphans=outcome.orphans,
        notes=tuple(notes),
        unread=tuple(GenUnread(each.tool_id, f"{each.file}:{each.line}", each.message) for each in unread),
        needless=tuple(needless),
    )


def _is_off(each: JudgedFile) -> bool:
    return each.state in _STALE or each.is_behind


def is_refused(outcome: StubsOutcome) -> bool:
    """True when a file was left as it is that should be another."""
    return any(each.state in REFUSED for each in outcome.judged)


def check_lines(outcome: StubsOutcome, report: GenReport, folder: Path, language: Language) -> Iterator[str]:
    """What `--check` says."""
    yield from _unread_lines(report)
    if report.is_current:
        yield f"{_title(report, language)} in {_show_path(folder)}: up to date, {_count(len(report.files), 'file')}"
        return
    yield f"{_title(report, language)} in {_show_path(folder)}:"
    for state, word in (("stale", "stale"), ("missing", "missing"), ("new", "would be new")):
        yield from _list_paths(word, [each.path for each in report.files if each.state == state])
    yield from _list_attention_lines(outcome)
    if any(each.state in ("stale", "missing", "new") for each in report.files):
        yield f"  run: ferrule gen --out {_show_path(folder)}"


def lines(outcome: StubsOutcome, report: GenReport, folder: Path, language: Language) -> Iterator[str]:
    """What a run that wrote says."""
    yield from _unread_lines(report)
    yield f"{_title(report, language)} in {_show_path(folder)}: {_summary(report)}"
    yield from _list_attention_lines(outcome)
    yield from _list_paths("run by Ferrule itself, so there is nothing to fill in", report.needless)
    yield from _removed_lines(report)
    for note in report.notes[:_MOST]:
        yield f"  looser: {sanitize(note.place)}: {sanitize(note.tool_id)} {sanitize(note.pointer)}: {sanitize(note.message)}"
    if len(report.notes) > _MOST:
        yield f"  looser: {len(report.notes) - _MOST} more (--json tells all)"
    is_switched = outcome.before is not None and outcome.before.flavour != outcome.wish.flavour
    if is_switched or any(each.state == "new" for each in report.files):
        yield from _next_lines(report, outcome.made.steps, folder)


def _title(report: GenReport, language: Language) -> str:
    of = "client stubs" if report.kind == "client" else "stubs"
    return f"{language.title} {of} of {_count(report.tools, 'tool')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _show_path(folder: Path) -> str:
    return sanitize(folder.as_posix())


def _summary(report: GenReport) -> str:
    counts = Counter(each.state for each in report.files)
    written = sum(counts[state] for state in WRITTEN)
    parts = [f"{written:,} written"]
    if 0 < counts["new"] < written:
        parts[0] += f" ({counts['new']:,} new)"
    for words, states in (
        ("unchanged", ("unchanged",)),
        ("kept because yours", ("kept",)),
        ("protected by an ignore file", ("protected",)),
        ("refused", ("edited", "foreign")),
    ):
        if number := sum(counts[state] for state in states):
            parts.append(f"{number:,} {words}")
    if report.orphans:
        parts.append(_count(len(report.orphans), "orphan"))
    return ", ".join(parts)


def _unread_lines(report: GenReport) -> Iterator[str]:
    for each in report.unread:
        what = f"{sanitize(each.tool_id)}: " if each.tool_id else ""
        yield f"left out: {what}{sanitize(each.place)}: {sanitize(each.message)}"


def _list_attention_lines(outcome: StubsOutcome) -> Iterator[str]:
    """What a person has to look at."""
    edited = [each.file.path for each in outcome.judged if each.state == "edited"]
    foreign = [each.file.path for each in outcome.judged if each.state == "foreign"]
    yield from _list_paths("edited by hand", edited)
    yield from _list_paths("not ours", foreign)
    if edited or foreign:
        yield "    they stay as they are: move your changes to a file of yours and use --force, or list them in .ferrule-ignore"
    yield from _behind_lines(outcome)
    yield from _list_paths("orphan", outcome.orphans)
    if outcome.orphans:
        yield "    nothing that was generated needs them now; delete them when you do not either"


def _behind_lines(outcome: StubsOutcome) -> Iterator[str]:
    shown: dict[str, str] = {}
    for each in outcome.judged:
        if each.file.standing == "generated":
            shown.setdefault(each.file.tool_id, each.file.path)  # its types come first
    for each in outcome.judged:
        if each.is_behind:
            tool_id = each.file.tool_id
            yield f"  {each.file.path}: what {sanitize(tool_id)} takes, gives or is given has changed;"
            yield f"    compile it, and compare it with {shown.get(tool_id, 'the generated file')}"


def _removed_lines(report: GenReport) -> Iterator[str]:
    yield from _list_paths("removed by you", [each.path for each in report.files if each.state == "removed"])
    if any(each.state == "removed" for each in report.files):
        yield "    to have them again, delete their lines in .ferrule-ignore"


def _list_paths(word: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths[:_MOST]:
        yield f"  {word}: {sanitize(path)}"
    if len(paths) > _MOST:
        yield f"  {word}: {len(paths) - _MOST:,} more"


def _next_lines(report: GenReport, steps: Sequence[NextStep], folder: Path) -> Iterator[str]:
    if report.kind == "implementation":
        new = (each.path for each in report.files if each.standing == "yours" and each.tool_id and each.state == "new")
        first = next(new, None)
        if first is not None:
            yield f"  next: write what the tool does in {sanitize((folder / first).as_posix())}"
    there = "" if folder == Path(".") else f"cd {_show_path(folder)} && "
    for step in steps:
        yield f"  next: {there if step.is_command else ''}{sanitize(step.words)}"
