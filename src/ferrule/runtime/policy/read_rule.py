"""Reads one rule table. Every key is checked here, so that the engine meets only rules it can obey."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

from ferrule.model.decision import RISKS, Behavior, Risk, RuleSource
from ferrule.model.hints import nearest
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS
from ferrule.model.value import is_number
from ferrule.runtime.policy.commands import words_of
from ferrule.runtime.policy.conditions import LISTS, NUMBERS, OPERATORS, TEXTS, compile_regex
from ferrule.runtime.policy.globs import defect_of
from ferrule.runtime.policy.records import Condition, Demand, PolicyRule, Values
from ferrule.runtime.policy.ruling import seconds_of
from ferrule.runtime.policy.table import Table

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


def read_rule(table: Table, source: RuleSource, file: str, line: int, default_id: str) -> PolicyRule:
    """The rule of a table; what is wrong with it is among the table's findings."""
    table.closed(KEYS, _HINTS)
    decision = table.word("decision", DECISIONS)
    misspelt = any(
        key not in KEYS and (key in ("action", "effect", "behavior") or nearest(key, ("decision",)))
        for key in table.value
    )
    if "decision" not in table.value and not misspelt:
        table.wrong("the rule has no `decision`", "decision", hint=f"one of {', '.join(DECISIONS)}")
    globs = {key: table.texts(key, defect_of) for key in _GLOBS}
    return PolicyRule(
        rule_id=table.text("id", default_id),
        decision=decision or "deny",  # type: ignore[arg-type]  # one of the four words
        source=source,
        file=file,
        line=line,
        reason=table.text("reason"),
        tool_kind=table.words("tool_kind", TOOL_KINDS),
        lifecycle=table.words("lifecycle", LIFECYCLES),
        risk=_risk(table),
        facts=_facts(table),
        when=_when(table),
        demand=_demand(table, decision),
        path=_values(table, "path"),
        command=_values(table, "command"),
        url=_values(table, "url"),
        resource=_values(table, "resource"),
        **globs,
    )


def _risk(table: Table) -> tuple[Risk, ...]:
    if not isinstance(table.value.get("risk"), dict):
        return table.words("risk", RISKS)  # type: ignore[return-value]  # checked just there
    limits = table.table("risk")
    assert limits is not None
    limits.closed(("at_least", "at_most"))
    first, last = limits.word("at_least", RISKS, "low"), limits.word("at_most", RISKS, "critical")
    return RISKS[RISKS.index(first or "low") : RISKS.index(last or "critical") + 1]


def _facts(table: Table) -> dict[str, bool]:
    facts = table.table("facts")
    if facts is None:
        return {}
    facts.closed(FACTS)
    if not facts.value:
        facts.wrong("`facts` names no fact")
    return {key: facts.flag(key) for key in FACTS if key in facts.value}


def _values(table: Table, key: str) -> Values | None:
    if key not in table.value:
        return None
    defect = command_defect if key == "command" else defect_of
    if not isinstance(table.value[key], dict):
        return Values(table.texts(key, defect))
    inner = table.table(key)
    assert inner is not None
    inner.closed(("match", "in"))
    if "match" not in inner.value:
        inner.wrong(f"`{key}` has no `match`", "match", hint="a glob or a list of globs")
    return Values(inner.texts("match", defect), inner.texts("in"))


def command_defect(pattern: str) -> str | None:
    """What makes a command pattern unusable, or None."""
    try:
        words = words_of(pattern)
    except ValueError:
        return "a quote is not closed"
    if any(word in (";", "&&", "||", "|", "&") for word in words):
        return "it joins several commands; write one pattern for each"
    return next((defect for word in words if (defect := defect_of(word))), None)


def _when(table: Table) -> tuple[Condition, ...]:
    when = table.table("when")
    if when is None:
        return ()
    if not when.value:
        when.wrong("`when` names no argument")
    found: list[Condition] = []
    for name, wanted in when.value.items():
        path = tuple(step for step in name.replace("[]", "").split(".") if step)
        if not path:
            when.wrong(f"{name!r} is no name of an argument", name)
        operators = wanted if isinstance(wanted, dict) else {"equals": wanted}
        if not operators:
            when.wrong(f"`{name}` has no condition", name, hint=f"one of {', '.join(OPERATORS)}")
        inside = Table(operators, (*when.path, name), when.findings)
        found += [_condition(inside, path, operator, operand) for operator, operand in operators.items()]
    return tuple(condition for condition in found if condition.path and condition.operator in OPERATORS)


def _condition(table: Table, path: tuple[str, ...], operator: str, operand: Any) -> Condition:
    if operator not in OPERATORS:
        hint = nearest(operator, OPERATORS) or f"known: {', '.join(OPERATORS)}"
        table.wrong(f"there is no condition `{operator}`", operator, hint=hint)
    elif defect := _operand_defect(operator, operand):
        table.wrong(f"`{operator}` {defect}", operator)
        return Condition(path, "present", True)
    return Condition(path, operator, operand)


def _operand_defect(operator: str, operand: Any) -> str | None:
    if operator in NUMBERS:
        return None if is_number(operand) else "takes a number"
    if operator in LISTS:
        return None if isinstance(operand, list) and operand else "takes a list that is not empty"
    if operator in TEXTS and not isinstance(operand, str):
        return "takes a text"
    if operator == "present":
        return None if isinstance(operand, bool) else "takes true or false"
    if operator == "matches":
        return _pattern_defect(operand)
    if isinstance(operand, list):
        return "takes one value; for several use `in`"
    return "takes no date; write it as a text" if isinstance(operand, date | datetime | time) else None


def _pattern_defect(pattern: str) -> str | None:
    try:
        compile_regex(pattern)
    except ValueError as error:
        return f"takes a regular expression, and {error}"
    return None


def _demand(table: Table, decision: str | None) -> Demand:
    for key in DEMANDS:
        if key in table.value and decision in ("allow", "deny", "passthrough"):
            table.wrong(f"`{key}` belongs to a rule that asks, and this one is `{decision}`", key)
    expires = table.text("expires")
    seconds = seconds_of(expires) if expires else None
    if expires and seconds is None:
        table.wrong(
            f"`expires` is {expires!r}, which is no duration of up to a year", "expires", hint="such as 30m, 4h, 2d"
        )
    return Demand(
        approvers=table.texts("approvers"),
        people=table.count("people", 1),
        not_requester=table.flag("not_requester"),
        channels=table.texts("channels"),
        expires_seconds=seconds,
    )
