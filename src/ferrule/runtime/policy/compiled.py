"""Compiles one rule for one tool: evaluates what no call can change, and leaves the rest as a list of checks.

Deny and ask match broadly, allow narrowly: all values must fit an allow, any value fits a deny.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ferrule.contracts.policy import JudgedCall
from ferrule.model.surface import SurfaceRequest
from ferrule.model.tool import SafetyFacts, Tool
from ferrule.runtime.policy.commands import CommandMatcher
from ferrule.runtime.policy.conditions import make_test
from ferrule.runtime.policy.globs import fits, is_literal
from ferrule.runtime.policy.paths import PathBase, PathMatcher
from ferrule.runtime.policy.records import GROUP, Condition, PolicyRule, ValuePatterns
from ferrule.runtime.policy.urls import UrlMatcher
from ferrule.runtime.policy.view import KINDS, FieldValue, Kind, ToolView

Groups = Mapping[str, tuple[str, ...]]


class RuleCheck(NamedTuple):
    """One matcher that looks at the call."""

    key: str
    test: Callable[[JudgedCall], bool]
    about: Condition | ValuePatterns | None
    """The part of the rule that it tests; None for facts."""
    kind: Kind | None = None
    """The kind of values it looks at; None for a condition on an argument."""


class CompiledRule(NamedTuple):
    """A rule that concerns a tool and a caller."""

    rule: PolicyRule
    checks: tuple[RuleCheck, ...]
    """The checks to run for each call; empty when it holds for every call."""
    is_naming: bool
    """True when it names the tool itself, without a wildcard (AT-123)."""
    find_blocked_path: Callable[[JudgedCall], str | None]
    """The path that made it fit, where it is about paths."""

    def fits(self, judged: JudgedCall) -> bool:
        """Returns True when the rule holds for a call."""
        for check in self.checks:  # noqa: SIM110  # a generator would cost more than the checks
            if not check.test(judged):
                return False
        return True


def find_tool_mismatch(rule: PolicyRule, view: ToolView) -> str | None:
    """Finds the matcher by which a rule does not concern a tool; None when it does. An allow never matches an alias."""
    tool = view.tool
    # Narrow for an allow: only the tool's own names count, an alias may be added to any tool.
    names = view.names if rule.decision == "allow" else (*view.names, *view.aliases)
    if rule.tool and not any(fits(rule.tool, name) for name in names):
        return "tool"
    for key, value in (
        ("namespace", tool.namespace),
        ("tool_kind", tool.tool_kind),
        ("dialect", tool.dialect),
        ("lifecycle", tool.lifecycle),
    ):
        patterns = getattr(rule, key)
        if patterns and not fits(patterns, value):
            return key
    if rule.risk and view.risk not in rule.risk:
        return "risk"
    if rule.native_id and not any(fits(rule.native_id, native) for native in view.native_ids):
        return "native_id"
    if rule.facts and not view.asks_facts and not facts_fit(rule.facts, tool.facts, tool.inferred_facts):
        return "facts"
    return None


def find_caller_mismatch(rule: PolicyRule, request: SurfaceRequest, groups: Groups) -> str | None:
    """Finds the matcher by which a rule does not concern a caller; None when it does."""
    if rule.principal and not any(_is_meant(name, request.principal, groups) for name in rule.principal):
        return "principal"
    for key in ("agent", "channel", "tenant", "model"):
        patterns = getattr(rule, key)
        if patterns and not fits(patterns, getattr(request, key) or ""):
            return key
    return None


def _is_meant(name: str, principal: str, groups: Groups) -> bool:
    if name.startswith(GROUP):
        return principal in groups.get(name.removeprefix(GROUP), ())
    return fits((name,), principal)


def is_possibly_destructive(facts: SafetyFacts, inferred: tuple[str, ...]) -> bool:
    """Returns True unless the tool states that it is not destructive, or only reads (AT-49)."""
    return facts.is_destructive is not False or (facts.is_read_only is not True and "is_destructive" in inferred)


def is_harmless(tool: Tool, facts: SafetyFacts) -> bool:
    """Returns True for a tool that the usual mode allows although it is not read-only: stated as not destructive, or
    a task for a person (AML-21), who is asked by the call itself."""
    is_task = tool.dialect == "aml" and facts.requires_user_interaction
    return is_task or not is_possibly_destructive(facts, tool.inferred_facts)


def facts_fit(wanted: dict[str, bool], facts: SafetyFacts, inferred: tuple[str, ...]) -> bool:
    """Returns True when the facts are as a rule wants them; an uncertain fact counts as the dangerous value."""
    for name, value in wanted.items():
        match name:
            case "is_destructive":
                known = is_possibly_destructive(facts, inferred)
            case "is_open_world":
                known = facts.is_open_world is not False
            case _:
                known = getattr(facts, name) is True
        if known is not value:
            return False
    return True


def names_tool(rule: PolicyRule, view: ToolView) -> bool:
    """Returns True when one of the rule's patterns is the tool's own name."""
    return any(is_literal(pattern) and pattern in view.names for pattern in rule.tool)


def compile_rule(rule: PolicyRule, view: ToolView, base: PathBase) -> CompiledRule:
    """Compiles a rule for a tool that it concerns."""
    return CompiledRule(
        rule, tuple(_make_checks(rule, view, base)), names_tool(rule, view), _make_path_finder(rule, view, base)
    )


def _make_checks(rule: PolicyRule, view: ToolView, base: PathBase) -> Iterator[RuleCheck]:
    is_strict = rule.decision == "allow"
    if view.asks_facts and rule.facts:
        inferred = view.tool.inferred_facts
        yield RuleCheck("facts", lambda judged: facts_fit(rule.facts, judged.facts, inferred), None)
    for kind in KINDS:
        wanted: ValuePatterns | None = getattr(rule, kind)
        if wanted is not None:
            test = _make_values_test(kind, wanted, view, _make_matcher(kind, wanted, base, is_strict), is_strict)
            yield RuleCheck(kind, test, wanted, kind)
    for condition in rule.when:
        test = make_test(condition, is_strict=is_strict)
        yield RuleCheck(f"when {'.'.join(condition.path)}", test, condition)


def _make_matcher(kind: Kind, wanted: ValuePatterns, base: PathBase, is_strict: bool) -> Callable[[Any], bool]:
    match kind:
        case "path":
            return PathMatcher(wanted.patterns, base, is_strict=is_strict).fits
        case "command":
            return CommandMatcher(wanted.patterns, is_strict=is_strict).fits
        case "url":
            return UrlMatcher(wanted.patterns, is_strict=is_strict).fits
        case "resource":
            return lambda value: fits(wanted.patterns, str(value)) if isinstance(value, str | int) else not is_strict


def _make_values_test(
    kind: Kind, wanted: ValuePatterns, view: ToolView, matches: Callable[[Any], bool], is_strict: bool
) -> Callable[[JudgedCall], bool]:
    def test(judged: JudgedCall) -> bool:
        found = find_values(view, kind, wanted.fields, judged)
        if is_strict:
            # An allow needs a value that fits: without one nothing is known about the call.
            return bool(found) and all(matches(each.value) for each in found)
        return any(matches(each.value) for each in found)

    return test


def find_values(view: ToolView, kind: Kind, fields: tuple[str, ...], judged: JudgedCall) -> list[FieldValue]:
    """Finds the values a rule is about. `file:` addresses are paths too."""
    found = view.fields.find_values(kind, judged.arguments, fields)
    if kind == "path" and not fields:
        addresses = view.fields.find_values("url", judged.arguments)
        found += [each for each in addresses if isinstance(each.value, str) and each.value[:5].lower() == "file:"]
    return found


def _make_path_finder(rule: PolicyRule, view: ToolView, base: PathBase) -> Callable[[JudgedCall], str | None]:
    wanted = rule.path
    if wanted is None:
        return lambda judged: None
    matcher = PathMatcher(wanted.patterns, base, is_strict=False)

    def find_path(judged: JudgedCall) -> str | None:
        found = find_values(view, "path", wanted.fields, judged)
        return next((matcher.describe(each.value) for each in found if matcher.fits(each.value)), None)

    return find_path
