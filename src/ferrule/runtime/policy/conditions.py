"""Conditions on argument values: `when = { amount = { above = 100 }, "customer.country" = { in = ["DE"] } }`.

A value that cannot be judged (a text in place of a number, a missing value that must not be something) counts against
the call: a deny or ask holds, an allow does not. Several values under one name (a list) hold for an allow only if all
do, for a deny if any does. Regular expressions take linear time: the engine that also checks schemas compiles them, and
it never backtracks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from ferrule.contracts.policy import JudgedCall
from ferrule.model.value import is_number
from ferrule.runtime.policy.records import Condition

LONGEST_REGEX = 1000


def compile_regex(pattern: str) -> Callable[[str], bool]:
    """Compiles a test for whole texts; `.` is any character. Raises ValueError for a pattern that is invalid or not
    linear."""
    if len(pattern) > LONGEST_REGEX:
        raise ValueError(f"it is longer than {LONGEST_REGEX} characters")
    try:
        # By itself first, so that it cannot close our own brackets.
        Draft202012Validator({"pattern": pattern}, pattern_options=RegexOptions())
        validator = Draft202012Validator(
            {"type": "string", "pattern": f"^(?s:{pattern})$"}, pattern_options=RegexOptions()
        )
    except ValueError:
        raise ValueError("it is none that can be matched in linear time (no look-around, no back-references)") from None
    test: Callable[[str], bool] = validator.is_valid
    return test


Holds = Callable[[Any], bool | None]
"""Tests whether one value fulfils a condition; None when it cannot be judged."""

SCALARS = (str, int, float, bool)
NEGATIVE = frozenset({"not", "not_in"})
"""Conditions that a missing value may well fulfil."""


def make_test(condition: Condition, *, is_strict: bool) -> Callable[[JudgedCall], bool]:
    """Makes a test of a call. `is_strict` for an allow."""
    path, holds = condition.path, OPERATORS[condition.operator](condition.operand)
    if condition.operator == "present":
        return lambda judged: bool(collect_values(judged.arguments, path)) is condition.operand

    only = path[0] if len(path) == 1 else None

    def test(judged: JudgedCall) -> bool:
        arguments = judged.arguments
        value = arguments.get(only) if only is not None else None
        if value.__class__ in SCALARS:  # nearly always, and then there is nothing to walk through
            return (holds(value) is True) if is_strict else (holds(value) is not False)
        values = collect_values(arguments, path)
        if not values:
            return not is_strict and condition.operator in NEGATIVE
        if is_strict:
            return all(holds(value) is True for value in values)
        return any(holds(value) is not False for value in values)

    return test


def collect_values(arguments: object, path: tuple[str, ...]) -> list[Any]:
    """Collects everything under a path; lists are walked through. Null counts as nothing."""
    found = [arguments]
    for step in path:
        members = [member for value in found for member in (value if isinstance(value, list) else (value,))]
        found = [member[step] for member in members if isinstance(member, dict) and step in member]
    # An empty list is a value, and must not pass for a missing one.
    flat = [item for value in found for item in (value if isinstance(value, list) and value else (value,))]
    return [value for value in flat if value is not None]


def is_same(left: object, right: object) -> bool:
    """Returns True for values that are equal as JSON: `1` is `1.0` and not `true`."""
    # In Python True equals 1; in JSON it does not.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return bool(left == right)


def _equals(operand: object) -> Holds:
    return lambda value: is_same(value, operand)


def _not(operand: object) -> Holds:
    return lambda value: not is_same(value, operand)


def _in(operand: Any) -> Holds:
    return lambda value: any(is_same(value, each) for each in operand)


def _not_in(operand: Any) -> Holds:
    return lambda value: not any(is_same(value, each) for each in operand)


def _make_number_operator(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Holds]:
    def make(operand: object) -> Holds:
        def holds(value: object) -> bool | None:
            if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
                return None
            return compare(value, operand)

        return holds

    return make


def _make_text_operator(compare: Callable[[str, Any], bool]) -> Callable[[Any], Holds]:
    return lambda operand: lambda value: compare(value, operand) if isinstance(value, str) else None


def _matches(operand: Any) -> Holds:
    test = compile_regex(operand)
    return lambda value: test(value) if isinstance(value, str) else None


OPERATORS: dict[str, Callable[[Any], Holds]] = {
    "equals": _equals,
    "not": _not,
    "in": _in,
    "not_in": _not_in,
    "above": _make_number_operator(lambda value, operand: bool(value > operand)),
    "below": _make_number_operator(lambda value, operand: bool(value < operand)),
    "at_least": _make_number_operator(lambda value, operand: bool(value >= operand)),
    "at_most": _make_number_operator(lambda value, operand: bool(value <= operand)),
    "matches": _matches,
    "contains": _make_text_operator(lambda value, operand: operand in value),
    "starts_with": _make_text_operator(lambda value, operand: value.startswith(operand)),
    "present": _equals,
}
NUMBERS = frozenset({"above", "below", "at_least", "at_most"})
LISTS = frozenset({"in", "not_in"})
TEXTS = frozenset({"matches", "contains", "starts_with"})
