"""Finds valid rules that do not do what their author wanted: about nothing, overruled, or unanswerable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.hints import nearest
from ferrule.model.outline import Library
from ferrule.model.value import Path
from ferrule.runtime.policy.globs import fits, is_literal
from ferrule.runtime.policy.read import ParsedPolicy
from ferrule.runtime.policy.records import GROUP, PolicyRule
from ferrule.runtime.policy.table import OVERRULED, UNANSWERABLE, UNKNOWN_GROUP, UNREACHABLE

_GLOBS = ("tool", "namespace", "dialect", "native_id", "principal", "agent", "channel", "tenant", "model")
_CHOICES = ("tool_kind", "risk", "lifecycle")
_WHOLE = ("facts", "path", "command", "url", "resource", "when")


class WorkspaceNames(NamedTuple):
    """The names a workspace defines; incomplete ones produce no findings about tools."""

    tools: frozenset[str] = frozenset()
    """Every name a rule may give a tool."""
    aliases: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    is_complete: bool = False


def collect_names(
    library: Library,
    namespace: str = "",
    functions: frozenset[str] | None = frozenset(),
    imported: frozenset[tuple[str, str]] | None = frozenset(),
) -> WorkspaceNames:
    """Collects the names of a set of files. A tool file that cannot be parsed hides names, so then nothing is
    complete."""
    tools = [tool for versions in library.tools.values() for tool in versions]
    defined = frozenset(name for tool in tools for name in (tool.tool_id, tool.name, f"{tool.namespace}.{tool.name}"))
    made = functions or frozenset()
    pinned = imported or frozenset()
    return WorkspaceNames(
        tools=defined
        | made
        | frozenset(f"{namespace}.{name}" for name in made)
        | frozenset(word for server, name in pinned for word in (name, f"{server}.{name}")),
        aliases=frozenset(
            name for tool in tools for alias in tool.aliases for name in (alias, f"{tool.namespace}.{alias}")
        ),
        agents=frozenset(library.agents),
        namespaces=frozenset(tool.namespace for tool in tools)
        | made
        | (frozenset({namespace}) if made else made)
        | frozenset(server for server, _ in pinned),
        is_complete=library.is_closed
        and functions is not None
        and imported is not None
        and not any(kind == "tool" for kind, _ in library.broken),
    )


class _PlacedRule(NamedTuple):
    name: str
    path: Path
    rule: PolicyRule


def find_purposeless_rules(
    reads: Mapping[str, ParsedPolicy], groups: Mapping[str, tuple[str, ...]], known: WorkspaceNames
) -> Iterator[tuple[str, Finding]]:
    """Yields such findings with the file each belongs to. Skips files with errors until those are fixed."""
    placed = [each for name, read in reads.items() if not read.errors for each in _place_rules(name, read)]
    for each in placed:
        found = [*_check_names(each, known), *_check_groups(each, groups), *_check_approvers(each, groups)]
        found += _check_overruled(each, placed)
        yield from ((each.name, finding) for finding in found)


def _place_rules(name: str, read: ParsedPolicy) -> Iterator[_PlacedRule]:
    base: Path = ("policy", "rules") if read.file.source == "project_settings" else ("rules",)
    for number, rule in enumerate(read.file.rules):
        yield _PlacedRule(name, (*base, number), rule)


def _check_names(placed: _PlacedRule, known: WorkspaceNames) -> Iterator[Finding]:
    if not known.is_complete:
        return
    rule = placed.rule
    callable_as = known.tools if rule.decision == "allow" else known.tools | known.aliases
    yield from _find_unmet(placed, "tool", rule.tool, callable_as, known.tools, known.aliases)
    yield from _find_unmet(placed, "namespace", rule.namespace, known.namespaces, known.namespaces)
    if known.agents:
        yield from _find_unmet(placed, "agent", rule.agent, known.agents, known.agents)


def _find_unmet(
    placed: _PlacedRule,
    key: str,
    patterns: tuple[str, ...],
    names: frozenset[str],
    suggested: frozenset[str],
    aliases: frozenset[str] = frozenset(),
) -> Iterator[Finding]:
    for number, pattern in enumerate(patterns):
        if pattern in names or any(fits((pattern,), name) for name in (() if is_literal(pattern) else names)):
            continue
        path = (*placed.path, key, number) if len(patterns) > 1 else (*placed.path, key)
        message, hint = f"no {key} of this workspace is called {pattern!r}", nearest(pattern, suggested)
        if not is_literal(pattern):
            message = f"no {key} of this workspace fits {pattern!r}"
        if any(fits((pattern,), alias) for alias in aliases):
            message, hint = f"{pattern!r} is only an alias, and an allow goes by a tool's own name", None
        yield Finding(UNREACHABLE, path, message, Severity.WARNING, hint)


def _check_groups(placed: _PlacedRule, groups: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    for key, names in (("principal", placed.rule.principal), ("approvers", placed.rule.demand.approvers)):
        for number, name in enumerate(names):
            group = name.removeprefix(GROUP)
            if not name.startswith(GROUP) or group in groups:
                continue
            path = (*placed.path, key, number) if len(names) > 1 else (*placed.path, key)
            usual = "define it under [groups] of this file: policy.toml counts only its own"
            if placed.rule.source == "project_settings":
                usual = "define it under [policy.groups]"
            hint = nearest(group, groups) or usual
            message = f"no group is called {group!r}"
            severity = Severity.ERROR
            if key == "approvers":
                severity = Severity.WARNING
                message += "; only people whose login carries it could answer"
            yield Finding(UNKNOWN_GROUP, path, message, severity, hint)


def _check_approvers(placed: _PlacedRule, groups: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    demand = placed.rule.demand
    named = [name for name in demand.approvers if not name.startswith(GROUP)]
    listed = [name.removeprefix(GROUP) for name in demand.approvers if name.startswith(GROUP)]
    # Undefined groups have a finding of their own; logins may still carry them.
    if not demand.approvers or any(group not in groups for group in listed):
        return
    people = {*named, *(member for group in listed for member in groups[group])}
    if len(people) < demand.people:
        message = (
            f"the rule wants {demand.people} people and only {len(people)} may answer, so it can never be approved"
        )
        yield Finding(UNANSWERABLE, (*placed.path, "people"), message, Severity.WARNING, "name more approvers")


def _check_overruled(placed: _PlacedRule, others: list[_PlacedRule]) -> Iterator[Finding]:
    if placed.rule.decision != "allow":
        return
    for other in others:
        if other.rule.decision in ("ask", "deny") and covers(other.rule, placed.rule):
            where = f"{other.rule.rule_id!r} ({other.rule.place})"
            message = f"this allow can never win: the rule {where} says `{other.rule.decision}` to every call it fits"
            yield Finding(OVERRULED, (*placed.path, "decision"), message, Severity.WARNING, "narrow the other rule")
            return


def covers(wide: PolicyRule, narrow: PolicyRule) -> bool:
    """Returns True when every call the narrow rule fits is certain to fit the wide one."""
    return (
        all(_globs_cover(getattr(wide, key), getattr(narrow, key)) for key in _GLOBS)
        and all(_choices_cover(getattr(wide, key), getattr(narrow, key)) for key in _CHOICES)
        and all(not getattr(wide, key) or getattr(wide, key) == getattr(narrow, key) for key in _WHOLE)
    )


def _globs_cover(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    if not wide or "*" in wide:
        return True
    return bool(narrow) and all(name in wide or (is_literal(name) and fits(wide, name)) for name in narrow)


def _choices_cover(wide: tuple[str, ...], narrow: tuple[str, ...]) -> bool:
    return not wide or (bool(narrow) and set(narrow) <= set(wide))
