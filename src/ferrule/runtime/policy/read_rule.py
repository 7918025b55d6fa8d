"""Reads one rule table. Every key is checked here, so that the engine meets only rules it can obey."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

from ferrule.model.decision import RISKS, Behavior, Risk, RuleSource
from ferrule.model.hints import nearest
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS
from ferrule.model.value import is_number
from ferrule.runtime.policy.commands import split_pattern
from ferrule.runtime.policy.conditions import LISTS, NUMBERS, OPERATORS, TEXTS, compile_regex
from ferrule.runtime.policy.globs import find_glob_defect
from ferrule.runtime.policy.records import Condition, Demand, PolicyRule, ValuePatterns
from ferrule.runtime.policy.ruling import parse_duration
from ferrule.runtime.policy.table import PolicyTable

DECISIONS: tuple[Behavior, ...] = ("allow", "ask", "deny", "passthrough")
FACTS = ("is_read_only", "is_destructive", "is_concurrency_safe", "is_open_world", "requires_user_interaction")
DEMANDS = ("approvers", "people", "not_requester", "channels", "expires")
_GLOBS = ("tool", "namespace", "dialect", "native_id", "principal", "agent", "channel", "tenant", "model")
_VALUES = ("path", "command", "url", "resource")
MATCHERS = (*_GLOBS, "tool_kind", "risk", "facts", "lifecycle", *_VALUES, "when")
KEYS = ("id", "decision", "reason", *MATCHERS, *DEMANDS)
_HINTS = {
    "tools": "write `tool`",
    "action": "write `decision`",
    "effect": "write `decision`",
    "behavior": "write `decision`",
    "arguments": "write `when`",
    "if": "write `when`",
    "description": "write `reason`",
}


def read_rule(table: PolicyTable, source: RuleSource, file: str, line: int, default_id: str) -> PolicyRule:
    """Reads the rule of a table; its problems are among the table's findings."""
    table.refuse_unknown_keys(KEYS, _HINTS)
    decision = table.read_word("decision", DECISIONS)
    misspelt = any(
        key not in KEYS and (key in ("action", "effect", "behavior") or nearest(key, ("decision",)))
        for key in table.value
    )
    # A misspelt `decision` has its finding as an unknown key.
    if "decision" not in table.value and not misspelt:
        table.add_error("the rule has no `decision`", "decision", hint=f"one of {', '.join(DECISIONS)}")
    globs = {key: table.read_texts(key, find_glob_defect) for key in _GLOBS}
    return PolicyRule(
        rule_id=table.read_text("id", default_id),
        decision=decision or "deny",  # type: ignore[arg-type]  # one of the four words
        source=source,
        file=file,
        line=line,
        reason=table.read_text("reason"),
        tool_kind=table.read_words("tool_kind", TOOL_KINDS),
        lifecycle=table.read_words("lifecycle", LIFECYCLES),
        risk=_read_risk(table),
        facts=_read_facts(table),
        when=_read_when(table),
        demand=_read_demand(table, decision),
        path=_read_values(table, "path"),
        command=_read_values(table, "command"),
        url=_read_values(table, "url"),
        resource=_read_values(table, "resource"),
        **globs,
    )


def _read_risk(table: PolicyTable) -> tuple[Risk, ...]:
    if not isinstance(table.value.get("risk"), dict):
        return table.read_words("risk", RISKS)  # type: ignore[return-value]  # checked just there
    limits = table.read_table("risk")
    assert limits is not None
    limits.refuse_unknown_keys(("at_least", "at_most"))
    first, last = limits.read_word("at_least", RISKS, "low"), limits.read_word("at_most", RISKS, "critical")
    return RISKS[RISKS.index(first or "low") : RISKS.index(last or "critical") + 1]


def _read_facts(table: PolicyTable) -> dict[str, bool]:
    facts = table.read_table("facts")
    if facts is None:
        return {}
    facts.refuse_unknown_keys(FACTS)
    if not facts.value:
        facts.add_error("`facts` names no fact")
    return {key: facts.read_flag(key) for key in FACTS if key in facts.value}


def _read_values(table: PolicyTable, key: str) -> ValuePatterns | None:
    if key not in table.value:
        return None
    defect = find_command_defect if key == "command" else find_glob_defect
    if not isinstance(table.value[key], dict):
        return ValuePatterns(table.read_texts(key, defect))
    inner = table.read_table(key)
    assert inner is not None
    inner.refuse_unknown_keys(("match", "in"))
    if "match" not in inner.value:
        inner.add_error(f"`{key}` has no `match`", "match", hint="a glob or a list of globs")
    return ValuePatterns(inner.read_texts("match", defect), inner.read_texts("in"))


def find_command_defect(pattern: str) -> str | None:
    """Returns the reason why a command pattern cannot be used; None when it can."""
    try:
        words = split_pattern(pattern)
    except ValueError:
        return "a quote is not closed"
    if any(word in (";", "&&", "||", "|", "&") for word in words):
        return "it joins several commands; write one pattern for each"
    return next((defect for word in words if (defect := find_glob_defect(word))), None)


def _read_when(table: PolicyTable) -> tuple[Condition, ...]:
    when = table.read_table("when")
    if when is None:
        return ()
    if not when.value:
        when.add_error("`when` names no argument")
    found: list[Condition] = []
    for name, wanted in when.value.items():
        # `items[].name` is `items.name`: lists are walked through in any case.
        path = tuple(step for step in name.replace("[]", "").split(".") if step)
        if not path:
            when.add_error(f"{name!r} is no name of an argument", name)
        operators = wanted if isinstance(wanted, dict) else {"equals": wanted}
        if not operators:
            when.add_error(f"`{name}` has no condition", name, hint=f"one of {', '.join(OPERATORS)}")
        inside = PolicyTable(operators, (*when.path, name), when.findings)
        found += [_read_condition(inside, path, operator, operand) for operator, operand in operators.items()]
    return tuple(condition for condition in found if condition.path and condition.operator in OPERATORS)


def _read_condition(table: PolicyTable, path: tuple[str, ...], operator: str, operand: object) -> Condition:
    if operator not in OPERATORS:
        hint = nearest(operator, OPERATORS) or f"known: {', '.join(OPERATORS)}"
        table.add_error(f"there is no condition `{operator}`", operator, hint=hint)
    elif defect := _find_operand_defect(operator, operand):
        table.add_error(f"`{operator}` {defect}", operator)
        # A stand-in: with this error the policy is refused, and no call is tested by it.
        return Condition(path, "present", True)
    return Condition(path, operator, operand)


def _find_operand_defect(operator: str, operand: Any) -> str | None:
    if operator in NUMBERS:
        return None if is_number(operand) else "takes a number"
    if operator in LISTS:
        return None if isinstance(operand, list) and operand else "takes a list that is not empty"
    if operator in TEXTS and not isinstance(operand, str):
        return "takes a text"
    if operator == "present":
        return None if isinstance(operand, bool) else "takes true or false"
    if operator == "matches":
        return _find_pattern_defect(operand)
    if isinstance(operand, list):
        return "takes one value; for several use `in`"
    return "takes no date; write it as a text" if isinstance(operand, date | datetime | time) else None


def _find_pattern_defect(pattern: str) -> str | None:
    try:
        compile_regex(pattern)
    except ValueError as error:
        return f"takes a regular expression, and {error}"
    return None


def _read_demand(table: PolicyTable, decision: str | None) -> Demand:
    for key in DEMANDS:
        if key in table.value and decision in ("allow", "deny", "passthrough"):
            table.add_error(f"`{key}` belongs to a rule that asks, and this one is `{decision}`", key)
    expires = table.read_text("expires")
    seconds = parse_duration(expires) if expires else None
    if expires and seconds is None:
        table.add_error(
            f"`expires` is {expires!r}, which is no duration of up to a year", "expires", hint="such as 30m, 4h, 2d"
        )
    return Demand(
        approvers=table.read_texts("approvers"),
        people=table.read_count("people", 1),
        not_requester=table.read_flag("not_requester"),
        channels=table.read_texts("channels"),
        expires_seconds=seconds,
    )
