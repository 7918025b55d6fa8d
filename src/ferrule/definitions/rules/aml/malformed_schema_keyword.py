"""Schema keywords with an operand of the wrong kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ferrule.contracts.rule import Rule, Subject
from ferrule.definitions.rules.aml.interface import list_schemas
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.value import Path, is_number
from ferrule.schema.validation.ecma import pattern_defect

Defect = tuple[Path, str]
_SCHEMA = "must be a schema: a mapping, true or false"
_ONE_SCHEMA = "must be one schema, not a list of them"


class MalformedSchemaKeyword(Rule):
    """Each keyword of a schema has an operand of its kind.

    Why: validators ignore or refuse a malformed keyword, so the check the author meant would not happen.
    Bad:  required: query
    Good: required: [query]
    """

    code = "AML-29"
    name = "malformed-schema-keyword"
    severity = Severity.ERROR

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yields a finding at each keyword, or member of it, that is malformed."""
        for path, schema, _ in list_schemas(subject):
            if subject.has_errors and subject.is_reported(path):  # inside what this very loop has reported
                continue
            for keyword, operand in schema.items():
                if _USUAL.get(keyword) is operand.__class__:
                    continue
                judge = _CHECKS.get(keyword)
                if judge is not None:
                    for below, problem in judge(operand):
                        label = ".".join(str(step) for step in (keyword, *below))
                        yield Finding(self.code, (*path, keyword, *below), f"`{label}` {problem}")


def _check_properties(value: object) -> Iterator[Defect]:
    if not isinstance(value, dict):
        yield (), "must be a mapping of names to schemas"
        return
    for name, member in value.items():
        if not isinstance(member, dict | bool):
            yield (name,), _SCHEMA


def _check_names(value: object) -> Iterator[Defect]:
    if not isinstance(value, list):
        yield (), "must be a list of property names"
        return
    for index, name in enumerate(value):
        if not isinstance(name, str):
            yield (index,), "must be a property name"


def _check_branches(value: object) -> Iterator[Defect]:
    if not isinstance(value, list) or not value:
        yield (), "must be a list of at least one schema"
        return
    for index, member in enumerate(value):
        if not isinstance(member, dict | bool):
            yield (index,), _SCHEMA


def _check_string(value: object) -> tuple[Defect, ...]:
    return () if isinstance(value, str) else (((), "must be a string"),)


def _check_pattern(value: object) -> tuple[Defect, ...]:
    problem = pattern_defect(value) if isinstance(value, str) else "it is no text"
    return () if problem is None else (((), f"must be a regular expression (ECMA-262): {problem}"),)


def _check_schema(value: object) -> tuple[Defect, ...]:
    return () if isinstance(value, dict | bool) else (((), _ONE_SCHEMA if isinstance(value, list) else _SCHEMA),)


def _build_check(fits: Callable[[Any], bool], problem: str) -> Callable[[Any], tuple[Defect, ...]]:
    defects: tuple[Defect, ...] = (((), problem),)
    return lambda value: () if fits(value) else defects


def _is_count(value: object) -> bool:
    return is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _is_bound(value: object) -> bool:
    return is_number(value) and (isinstance(value, int) or math.isfinite(value))


_check_count = _build_check(_is_count, "must be an integer of at least 0")
_check_bound = _build_check(_is_bound, "must be a number")
_USUAL: dict[str, type] = {
    "type": str,
    "description": str,
    "format": str,
    "items": dict,
    "additionalProperties": bool,
    "minimum": int,
    "maximum": int,
}
"""The class of almost every operand, sound for its keyword (`type` has a rule of its own): skips the slower checks."""
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "properties": _check_properties,
    "required": _check_names,
    "items": _check_schema,
    "additionalProperties": _check_schema,
    "format": _check_string,
    "description": _check_string,
    "contentEncoding": _check_string,
    "contentMediaType": _check_string,
    "pattern": _check_pattern,
    "enum": _build_check(lambda value: isinstance(value, list) and bool(value), "must be a list of at least one value"),
    "oneOf": _check_branches,
    "anyOf": _check_branches,
    "allOf": _check_branches,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _check_count),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _check_bound),
}
