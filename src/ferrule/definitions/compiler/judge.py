"""A comparison judged: the compatibility rules, the re-check of everybody who uses a changed tool, and the places of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from ferrule.contracts.rule import CompatFinding, CompatRule, RuleSettings
from ferrule.definitions.compiler import suppress
from ferrule.definitions.compiler.check import Parts
from ferrule.definitions.compiler.locate import diagnostic_of, locate
from ferrule.definitions.compiler.read import read
from ferrule.model.change import Comparison, Snapshot
from ferrule.model.diagnostic import Diagnostic, Finding
from ferrule.model.document import Source
from ferrule.model.effective import references
from ferrule.model.outline import AgentOutline, BrokenOutline, Library, Outline, RecordOutline, RoleOutline, ToolOutline
from ferrule.model.value import dig

_UNRESOLVED = frozenset({"AML-91", "AML-95"})
SourceOf = Callable[[str], Source | None]


class Places(NamedTuple):
    """Where the files of both sides are found and how they are shown."""

    published: SourceOf
    candidate: SourceOf
    shown_published: Callable[[str], str]
    shown_candidate: Callable[[str], str]


def judge(
    comparison: Comparison, rules: Iterable[CompatRule], parts: Parts, settings: RuleSettings, places: Places
) -> list[Diagnostic]:
    """Every diagnostic about the change from one snapshot to the other."""
    findings = [finding for rule in rules for finding in rule.check(comparison)]
    findings += recheck(comparison, parts, settings, _vanished(comparison))
    diagnostics = [found for item in _distinct(findings) for found in _placed(item, comparison, parts, places)]
    return sorted(diagnostics, key=lambda diagnostic: diagnostic.order)


def recheck(
    comparison: Comparison, parts: Parts, settings: RuleSettings, vanished: set[str]
) -> Iterator[CompatFinding]:
    """What is newly wrong with published agents and roles once the candidate's tools replace the published ones.

    An agent or role that the candidate changes itself is looked at as it will be.
    """
    published, candidate = comparison.published, comparison.candidate
    if not published.agents and not published.roles:
        return
    new = _Users(published, candidate)
    before = {
        _key(item)
        for item in _findings(_tools(published), _Users(published, None).outlines, parts, settings, published)
    }
    tools = _replaced(published, candidate) if candidate.is_full else _overlaid(published, candidate)
    for outline, finding in _findings(tools, new.outlines, parts, settings, published):
        if _key((outline, finding)) in before:
            continue
        if finding.rule in _UNRESOLVED and _named(outline, finding) in vanished:
            continue
        yield CompatFinding(outline, finding, on_published=id(outline) not in new.from_candidate)


def _vanished(comparison: Comparison) -> set[str]:
    """Tools that are gone although published agents name them: AML-81 alone tells of those."""
    named = {
        entry.ref
        for agent in comparison.published.agents.values()
        for entry in references(agent.value, "tools").entries
    }
    return {change.part.outline.tool_id for change in comparison.changes if change.new is None} & named


def _named(outline: AgentOutline | RoleOutline, finding: Finding) -> object:
    """The reference a finding is about."""
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


def _tools(snapshot: Snapshot) -> list[Outline]:
    stems = [BrokenOutline("", kind, stem) for kind, stem in sorted(snapshot.broken)]
    kept: list[Outline] = [o for o in snapshot.outlines if not isinstance(o, AgentOutline | RoleOutline)]
    return kept + list(stems)


def _replaced(published: Snapshot, candidate: Snapshot) -> list[Outline]:
    """The candidate's tools, with whatever else agents and roles may name and the candidate does not bring along."""
    new = _tools(candidate)
    named = {(o.kind, o.record_id) for o in new if isinstance(o, RecordOutline)}
    kept: list[Outline] = [
        o for o in published.outlines if isinstance(o, RecordOutline) and (o.kind, o.record_id) not in named
    ]
    kept += [BrokenOutline("", kind, stem) for kind, stem in sorted(published.broken) if kind != "tool"]
    return new + kept


def _overlaid(published: Snapshot, candidate: Snapshot) -> list[Outline]:
    """The published tools with those of a few files put over them."""
    new = _tools(candidate)
    ids = {o.tool_id for o in new if isinstance(o, ToolOutline)}
    return new + [o for o in _tools(published) if not (isinstance(o, ToolOutline) and o.tool_id in ids)]


def _findings(
    tools: list[Outline], users: list[Outline], parts: Parts, settings: RuleSettings, snapshot: Snapshot
) -> Iterator[tuple[AgentOutline | RoleOutline, Finding]]:
    library = Library((*tools, *users), is_closed=True, folders=snapshot.folders)
    for rule in parts.library_rules():
        for outline, finding in rule.check(library, settings):
            if isinstance(outline, AgentOutline | RoleOutline):
                yield outline, finding


def _key(item: tuple[AgentOutline | RoleOutline, Finding]) -> tuple[str, str | None, str, object]:
    """What makes two findings the same although their files have other names."""
    outline, finding = item
    name = outline.agent_id if isinstance(outline, AgentOutline) else outline.iam_id
    return (type(outline).__name__, name, finding.rule, (finding.path, finding.severity))


def _distinct(findings: list[CompatFinding]) -> Iterator[CompatFinding]:
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


def _placed(item: CompatFinding, comparison: Comparison, parts: Parts, places: Places) -> Iterator[Diagnostic]:
    outline, finding, on_published = item
    source = (places.published if on_published else places.candidate)(outline.file)
    shown = (places.shown_published if on_published else places.shown_candidate)(outline.file)
    if (
        source is None and on_published
    ):  # a catalog has no files; the candidate's file of the same id is what people edit
        twin = _twin(outline, comparison.candidate)
        if twin is not None:
            source, shown = places.candidate(twin.file), places.shown_candidate(twin.file)
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
        placed = [diagnostic_of(found, shown, url) for found in locate(documents[index], [finding])]
        text = source.data.decode("utf-8", "replace") if suppress.MARKER in source.data else ""
        yield from suppress.remaining(text, documents[index].syntax, placed)


def _twin(outline: ToolOutline | AgentOutline | RoleOutline, candidate: Snapshot) -> AgentOutline | RoleOutline | None:
    match outline:
        case AgentOutline(agent_id=str(name)):
            return candidate.agents.get(name)
        case RoleOutline(iam_id=str(name)):
            return candidate.roles.get(name)
        case _:
            return None
