"""Judges a comparison: runs the compatibility rules, checks every user of a changed tool again, and gives the
findings their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from ferrule.contracts.rule import CompatFinding, CompatRule, RuleSettings
from ferrule.definitions.compiler import suppress
from ferrule.definitions.compiler.check import CheckParts
from ferrule.definitions.compiler.locate import build_diagnostic, locate
from ferrule.definitions.compiler.read import read
from ferrule.model.change import Comparison, Snapshot
from ferrule.model.diagnostic import Diagnostic, Finding
from ferrule.model.document import Source
from ferrule.model.effective import references
from ferrule.model.outline import AgentOutline, BrokenOutline, Library, Outline, RecordOutline, RoleOutline, ToolOutline
from ferrule.model.value import dig

_UNRESOLVED = frozenset({"AML-91", "AML-95"})
SourceOf = Callable[[str], Source | None]


class ComparedFiles(NamedTuple):
    """How to find and show the files of both sides."""

    published: SourceOf
    candidate: SourceOf
    shown_published: Callable[[str], str]
    shown_candidate: Callable[[str], str]


def judge(
    comparison: Comparison, rules: Iterable[CompatRule], parts: CheckParts, settings: RuleSettings, files: ComparedFiles
) -> list[Diagnostic]:
    """Returns every diagnostic about the change from one snapshot to the other."""
    findings = [finding for rule in rules for finding in rule.check(comparison)]
    findings += recheck(comparison, parts, settings, _find_vanished_tools(comparison))
    diagnostics = [
        found for item in _drop_repeats(findings) for found in _place_finding(item, comparison, parts, files)
    ]
    return sorted(diagnostics, key=lambda diagnostic: diagnostic.order)


def recheck(
    comparison: Comparison, parts: CheckParts, settings: RuleSettings, vanished: set[str]
) -> Iterator[CompatFinding]:
    """Yields what is newly wrong with published agents and roles once the candidate's tools replace the published ones.

    An agent or role that the candidate changes itself is checked as it will be.
    """
    published, candidate = comparison.published, comparison.candidate
    if not published.agents and not published.roles:
        return
    new = _Users(published, candidate)
    before = {
        _finding_key(item)
        for item in _run_rules(_collect_tools(published), _Users(published, None).outlines, parts, settings, published)
    }
    tools = _replace_tools(published, candidate) if candidate.is_full else _overlay_tools(published, candidate)
    for outline, finding in _run_rules(tools, new.outlines, parts, settings, published):
        if _finding_key((outline, finding)) in before:
            continue
        if finding.rule in _UNRESOLVED and _find_reference(outline, finding) in vanished:
            continue
        yield CompatFinding(outline, finding, on_published=id(outline) not in new.from_candidate)


def _find_vanished_tools(comparison: Comparison) -> set[str]:
    """Returns the tools that are gone although published agents name them: only AML-81 reports those."""
    named = {
        entry.ref
        for agent in comparison.published.agents.values()
        for entry in references(agent.value, "tools").entries
    }
    return {change.part.outline.tool_id for change in comparison.changes if change.new is None} & named


def _find_reference(outline: AgentOutline | RoleOutline, finding: Finding) -> object:
    """Returns the reference a finding is about."""
    value = dig(outline.value, finding.path)
    return value.get("ref") if isinstance(value, dict) else value if isinstance(value, str) else None


class _Users:
    """The agents and roles to check: the published ones, or what the candidate makes of them."""

    def __init__(self, published: Snapshot, candidate: Snapshot | None) -> None:
        self.outlines: list[Outline] = []
        self.from_candidate: set[int] = set()
        for kind in ("agents", "roles"):
            own = getattr(candidate, kind) if candidate is not None else {}
            for name, outline in getattr(published, kind).items():
                changed = own.get(name)
                if changed is not None and changed.value != outline.value:
                    self.outlines.append(changed)
                    self.from_candidate.add(id(changed))
                else:
                    self.outlines.append(outline)


def _collect_tools(snapshot: Snapshot) -> list[Outline]:
    stems = [BrokenOutline("", kind, stem) for kind, stem in sorted(snapshot.broken)]
    outlines: list[Outline] = [o for o in snapshot.outlines if not isinstance(o, AgentOutline | RoleOutline)]
    return outlines + list(stems)


def _replace_tools(published: Snapshot, candidate: Snapshot) -> list[Outline]:
    """Returns the candidate's tools, with the published records that the candidate does not bring along."""
    new = _collect_tools(candidate)
    named = {(o.kind, o.record_id) for o in new if isinstance(o, RecordOutline)}
    kept: list[Outline] = [
        o for o in published.outlines if isinstance(o, RecordOutline) and (o.kind, o.record_id) not in named
    ]
    kept += [BrokenOutline("", kind, stem) for kind, stem in sorted(published.broken) if kind != "tool"]
    return new + kept


def _overlay_tools(published: Snapshot, candidate: Snapshot) -> list[Outline]:
    """Returns the published tools with those of a few files put over them."""
    new = _collect_tools(candidate)
    ids = {o.tool_id for o in new if isinstance(o, ToolOutline)}
    return new + [o for o in _collect_tools(published) if not (isinstance(o, ToolOutline) and o.tool_id in ids)]


def _run_rules(
    tools: list[Outline], users: list[Outline], parts: CheckParts, settings: RuleSettings, snapshot: Snapshot
) -> Iterator[tuple[AgentOutline | RoleOutline, Finding]]:
    library = Library((*tools, *users), is_closed=True, folders=snapshot.folders)
    for rule in parts.library_rules():
        for outline, finding in rule.check(library, settings):
            if isinstance(outline, AgentOutline | RoleOutline):
                yield outline, finding


def _finding_key(item: tuple[AgentOutline | RoleOutline, Finding]) -> tuple[str, str | None, str, object]:
    """Returns a key that is equal for the same finding in files of other names."""
    outline, finding = item
    name = outline.agent_id if isinstance(outline, AgentOutline) else outline.iam_id
    return (type(outline).__name__, name, finding.rule, (finding.path, finding.severity))


def _drop_repeats(findings: list[CompatFinding]) -> Iterator[CompatFinding]:
    seen = set()
    for item in findings:
        key = (
            item.on_published,
            item.outline.file,
            getattr(item.outline, "path", ()),
            item.finding.rule,
            item.finding.path,
        )
        if key not in seen:
            seen.add(key)
            yield item


def _place_finding(
    item: CompatFinding, comparison: Comparison, parts: CheckParts, files: ComparedFiles
) -> Iterator[Diagnostic]:
    outline, finding, on_published = item
    source = (files.published if on_published else files.candidate)(outline.file)
    shown = (files.shown_published if on_published else files.shown_candidate)(outline.file)
    if source is None and on_published:  # a catalog has no files; people edit the candidate's file of the same id
        twin = _find_twin(outline, comparison.candidate)
        if twin is not None:
            source, shown = files.candidate(twin.file), files.shown_candidate(twin.file)
    url = parts.page_of(finding.rule)
    if source is None:
        place = Diagnostic(
            finding.rule,
            finding.severity,
            ".".join(map(str, finding.path)),
            shown,
            1,
            1,
            1,
            1,
            finding.message,
            finding.hint,
            url,
        )
        yield place
        return
    documents = read(source)
    index, base = getattr(outline, "document", 0), getattr(outline, "path", ())
    if base:
        finding = msgspec.structs.replace(finding, path=base + finding.path)
    if index < len(documents):
        placed = [build_diagnostic(found, shown, url) for found in locate(documents[index], [finding])]
        text = source.data.decode("utf-8", "replace") if suppress.MARKER in source.data else ""
        yield from suppress.drop_silenced(text, documents[index].syntax, placed)


def _find_twin(
    outline: ToolOutline | AgentOutline | RoleOutline, candidate: Snapshot
) -> AgentOutline | RoleOutline | None:
    match outline:
        case AgentOutline(agent_id=str(name)):
            return candidate.agents.get(name)
        case RoleOutline(iam_id=str(name)):
            return candidate.roles.get(name)
        case _:
            return None
