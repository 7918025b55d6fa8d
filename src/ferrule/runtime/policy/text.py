"""Writes rules as text: the form that the ledger keeps, and plain words for people who do not read TOML.

The ledger keeps a policy in readable form so that old decisions can be explained. The words say when a rule holds, and
what it demands of the person who answers. Knows the records of a policy, not how they are matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ferrule.model.decision import RULE_SOURCES, Behavior, RuleSource
from ferrule.model.value import JsonObject
from ferrule.runtime.policy.globs import is_literal
from ferrule.runtime.policy.records import GROUP, Condition, Demand, PolicyFile, PolicyRule, PolicySet, ValuePatterns
from ferrule.runtime.policy.ruling import collect_modes, format_modes

_ELSEWHERE = frozenset({"rule_id", "decision", "source", "file", "line", "reason", "demand"})


def format_policy(policy: PolicySet) -> str:
    """Formats the whole policy for people."""
    lines = [f"mode {format_modes(collect_modes(policy.files))}"]
    lines += [f"group {name}: {', '.join(members)}" for name, members in sorted(policy.groups.items())]
    for file in policy.files:
        lines += ["", *_format_file(file)]
    if policy.cedar is not None:
        lines += ["", f"# Cedar, {policy.cedar_file}", policy.cedar.rstrip()]
    return "\n".join(lines) + "\n"


def _format_file(file: PolicyFile) -> Iterator[str]:
    yield f"# {file.source}, {file.ref}"
    yield from map(format_rule, file.rules)
    if file.authoritative_hooks:
        yield f"hooks whose allow counts: {', '.join(file.authoritative_hooks)}"
    for use in file.classifiers:
        yield f"classifier {use.name} may {use.authority} for {', '.join(use.tools)}"


def format_rule(rule: PolicyRule) -> str:
    """Formats one rule on one line."""
    written: JsonObject = msgspec.to_builtins(rule)
    parts = [f"{key} {_show_setting(value)}" for key, value in written.items() if value and key not in _ELSEWHERE]
    if rule.decision == "ask":
        parts += [f"{key} {_show_setting(value)}" for key, value in written["demand"].items() if value]
    reason = f"  # {rule.reason}" if rule.reason else ""
    return f"{rule.decision} {rule.rule_id} (line {rule.line}): {'; '.join(parts) or 'every call'}{reason}"


def _show_setting(value: object) -> str:
    return msgspec.json.encode(value).decode()


_RANK: dict[Behavior, int] = {"deny": 0, "ask": 1, "allow": 2, "passthrough": 3}
_FACTS = {
    "is_read_only": ("only reads", "does not only read"),
    "is_destructive": ("may destroy something", "destroys nothing"),
    "is_concurrency_safe": ("may run beside others", "does not run beside others"),
    "is_open_world": ("reaches outside systems", "reaches no outside system"),
    "requires_user_interaction": ("needs a person", "needs no person"),
}
_OPERATORS = {
    "equals": "is",
    "not": "is not",
    "in": "is one of",
    "not_in": "is none of",
    "above": "is above",
    "below": "is below",
    "at_least": "is at least",
    "at_most": "is at most",
    "matches": "matches",
    "contains": "contains",
    "starts_with": "starts with",
}
_VALUES = {"path": "a path", "command": "a command", "url": "an address", "resource": "a resource"}
SOURCES: dict[RuleSource, str] = {
    "policy_settings": "security policy",
    "project_settings": "project",
    "local_settings": "this machine",
    "user_settings": "this user",
    "flag_settings": "named by FERRULE_POLICY",
    "cli_arg": "command line",
    "command": "command",
    "session": "session",
}
"""Whose word a source is."""


def sort_by_precedence(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Sorts rules as they win: deny before ask before allow, then by source, then as written."""
    return sorted(rules, key=lambda rule: (_RANK[rule.decision], RULE_SOURCES.index(rule.source)))


def describe_conditions(rule: PolicyRule) -> list[str]:
    """Describes the conditions of a rule, which must all hold. Empty for a rule that fits every call."""
    return [*_describe_tool(rule), *_describe_values(rule), *_describe_caller(rule)]


def describe_demands(demand: Demand) -> list[str]:
    """Describes the demands of an ask beyond one approval."""
    said = []
    if demand.approvers:
        said.append(f"answered by {_join_with_or(map(_format_person, demand.approvers))}")
    if demand.people > 1:
        said.append(f"{demand.people} people have to agree")
    if demand.not_requester:
        said.append("not by whoever it is made for")
    if demand.channels:
        said.append(f"the calling channel {_join_with_or(demand.channels)} may carry the answer")
    if demand.expires_seconds is not None:
        said.append(f"within {_format_duration(demand.expires_seconds)}")
    return said


def _describe_tool(rule: PolicyRule) -> Iterator[str]:
    if rule.tool:
        yield f"the tool is {_format_names(rule.tool)}"
    if rule.namespace:
        yield f"its namespace is {_format_names(rule.namespace)}"
    if rule.tool_kind:
        yield f"its kind is {_join_with_or(rule.tool_kind)}"
    if rule.risk:
        yield f"its risk is {_join_with_or(rule.risk)}"
    for name, wanted in rule.facts.items():
        yield f"it {_FACTS[name][0 if wanted else 1]}" if name in _FACTS else f"`{name}` is {_show_value(wanted)}"
    if rule.dialect:
        yield f"its dialect is {_format_names(rule.dialect)}"
    if rule.lifecycle:
        yield f"its lifecycle is {_join_with_or(rule.lifecycle)}"
    if rule.native_id:
        yield f"its native id is {_format_names(rule.native_id)}"


def _describe_values(rule: PolicyRule) -> Iterator[str]:
    for key, noun in _VALUES.items():
        wanted: ValuePatterns | None = getattr(rule, key)
        if wanted is not None:
            where = f" in {_join_with_or(f'`{field}`' for field in wanted.fields)}" if wanted.fields else ""
            yield f"{noun}{where} fits {_join_with_or(wanted.patterns)}"
    yield from map(_describe_condition, rule.when)


def _describe_condition(condition: Condition) -> str:
    name = f"`{'.'.join(condition.path)}`"
    if condition.operator == "present":
        return f"{name} is {'given' if condition.operand else 'not given'}"
    operand = condition.operand
    shown = ", ".join(map(_show_value, operand)) if isinstance(operand, list) else _show_value(operand)
    return f"{name} {_OPERATORS.get(condition.operator, condition.operator)} {shown}"


def _describe_caller(rule: PolicyRule) -> Iterator[str]:
    if rule.principal:
        yield f"it is for {_join_with_or(map(_format_person, rule.principal))}"
    for key in ("agent", "channel", "tenant", "model"):
        patterns: tuple[str, ...] = getattr(rule, key)
        if patterns:
            yield f"the {key} is {_format_names(patterns)}"


def _format_person(name: str) -> str:
    return f"the group {name.removeprefix(GROUP)}" if name.startswith(GROUP) else name


def _format_names(patterns: Iterable[str]) -> str:
    return _join_with_or(pattern if is_literal(pattern) else f"any {pattern}" for pattern in patterns)


def _join_with_or(words: Iterable[str]) -> str:
    found = list(words)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def _format_duration(seconds: int) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _show_value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
