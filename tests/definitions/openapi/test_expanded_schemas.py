"""Small steps from one plain schema to another."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.openapi.expanded_schemas import (
    NOTHING,
    ExpandedSchema,
    add_branches,
    cut_members,
    declare_required,
    make_nullable,
)
from ferrule.schema.validation.soundness import fits
from tests.definitions.openapi.importing import components, member

ONE = {"const": 1, "description": "One."}


@pytest.mark.parametrize(
    "schema",
    [
        {"nullable": True, "allOf": [{"$ref": "#/components/schemas/Size"}]},
        {"nullable": True, "oneOf": [{"type": "integer"}, {"type": "boolean"}]},
        {"$ref": "#/components/schemas/Size", "nullable": True},
        {"nullable": True, "enum": ["a"]},
    ],
)
def test_null_is_taken_where_the_document_says_so(schema: Any) -> None:
    made = member(schema, **components(Size={"type": "string", "enum": ["s"]}))
    assert fits(made, None)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            ONE,
            {"description": "One.", "anyOf": [{"const": 1, "description": "One."}, {"type": "null"}]},
        ),
        ({"description": "Anything."}, {"description": "Anything."}),
    ],
)
def test_a_schema_takes_null_in_the_plainest_words(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert make_nullable(schema) == expected


def test_alternatives_that_are_hidden_do_not_count() -> None:
    hidden, text = ExpandedSchema({}, is_hidden=True), ExpandedSchema({"type": "string"}, size=2, height=3)
    assert add_branches(NOTHING, "anyOf", [hidden, text]) == ExpandedSchema({"type": "string"}, 3, 4)
    assert add_branches(NOTHING, "anyOf", [hidden]).is_hidden


def test_a_required_name_that_nobody_declares_is_declared() -> None:
    out: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    assert declare_required(["a", "petId", "petId", 3], None, out) == ["a", "petId"]
    assert out["properties"]["petId"] == {"description": "Pet id."}


def test_a_schema_that_is_cut_says_so() -> None:
    cut = cut_members({"properties": {"a": {}}, "description": "A pet."})
    assert cut == ExpandedSchema(
        {"type": "object", "description": "A pet. Its members are not listed here."}, is_cut=True
    )
    assert cut_members({"type": "string"}) == ExpandedSchema({"type": "string"})
