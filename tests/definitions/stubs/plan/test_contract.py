"""The digits of a contract change with the types and limits of a tool and with nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.language import Injected
from ferrule.definitions.stubs.plan import digest_contract
from ferrule.definitions.stubs.tree import make_type_tree

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"description": {"type": "string"}, "unit": {"enum": ["c", "f"]}},
    "required": ["description", "unit"],
}


def _digits(schema: Any, output: Any = None, inject: tuple[Injected, ...] = ()) -> str:
    gives = None if output is None else make_type_tree(output, "GetOutput")
    return digest_contract(make_type_tree(schema, "GetInput"), gives, inject)


def test_other_things_that_a_tool_is_given_are_another_contract() -> None:
    repo, logger = Injected("service", "repo"), Injected("logger")
    ways = [(), (repo,), (Injected("section", "repo"),), (repo, logger), (logger, repo)]
    assert len({_digits(SCHEMA, inject=way) for way in ways}) == 5


def _with(**properties: Any) -> dict[str, Any]:
    return SCHEMA | {"properties": SCHEMA["properties"] | properties}


@pytest.mark.parametrize(
    "said",
    [
        SCHEMA | {"title": "T", "description": "D", "examples": [{}], "$comment": "C", "deprecated": True},
        _with(description={"type": "string", "description": "Words", "default": "a", "x-order": 1}),
        {"required": ["unit", "description"], "properties": SCHEMA["properties"], "type": "object"},
        _with(unit={"enum": ["c", "f"], "title": "Unit"}),
    ],
)
def test_descriptions_do_not_matter(said: Any) -> None:
    assert _digits(said) == _digits(SCHEMA)


@pytest.mark.parametrize(
    "changed",
    [
        SCHEMA | {"required": ["description"]},
        _with(more={}),
        {**SCHEMA, "properties": {"unit": SCHEMA["properties"]["unit"]}},
        _with(unit={"enum": ["c", "f", "k"]}),
        _with(unit={"const": "c"}),
        _with(description={"type": "string", "maxLength": 3}),
        _with(description={"type": "string", "pattern": "^a"}),
        SCHEMA | {"maxProperties": 3},
        SCHEMA | {"additionalProperties": False},
        True,
    ],
)
def test_a_change_of_what_is_taken_does(changed: Any) -> None:
    assert _digits(changed) != _digits(SCHEMA)


def test_input_and_output_are_told_apart() -> None:
    assert len({_digits(SCHEMA), _digits(SCHEMA, True), _digits(SCHEMA, SCHEMA), _digits(True, SCHEMA)}) == 4


def test_they_are_eight_hex_digits_whatever_the_schema() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"properties": {"a": deep}}
    odd: list[Any] = [SCHEMA, deep, [], {"properties": [1], "items": {"a": 1}}]
    for schema in odd:
        assert len(_digits(schema)) == 8 and int(_digits(schema), 16) >= 0
