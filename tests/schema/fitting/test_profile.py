"""Null is said in a provider's own words, once."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.profile import NULL, Nullable, nullable, takes_null
from tests.schema.fitting.providers import provider

TEXT = {"type": "string", "description": "A name."}
LISTED = {"type": "string", "enum": ["a"]}


@pytest.mark.parametrize(
    ("way", "schema", "taking_null"),
    [
        ("type-list", TEXT, {**TEXT, "type": ["string", "null"]}),
        ("type-list", {"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ("type-list", LISTED, {"anyOf": [LISTED, NULL]}),
        ("any-of", TEXT, {"anyOf": [{"type": "string"}, NULL], "description": "A name."}),
        ("any-of", {"anyOf": [{"type": "string"}], "title": "T"}, {"anyOf": [{"type": "string"}, NULL], "title": "T"}),
        ("any-of", {"$ref": "#/$defs/a"}, {"anyOf": [{"$ref": "#/$defs/a"}, NULL]}),
        ("nullable", TEXT, {**TEXT, "nullable": True}),
        ("nullable", LISTED, {**LISTED, "nullable": True}),
    ],
)
def test_null_is_said_as_the_provider_wants_it(
    way: Nullable, schema: dict[str, Any], taking_null: dict[str, Any]
) -> None:
    assert nullable(provider(nullable=way), schema) == taking_null
    assert takes_null(taking_null) and not takes_null(schema)


@pytest.mark.parametrize("way", ["type-list", "any-of", "nullable"])
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"description": "anything"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "string", "nullable": True},
        {"enum": ["a", None]},
        {"anyOf": [{"type": "string"}, {"anyOf": [NULL]}]},
    ],
    ids=str,
)
def test_what_takes_null_already_stays_as_it_is(way: Nullable, schema: dict[str, Any]) -> None:
    if way == "type-list" and schema.get("nullable"):
        schema = {"type": ["null", "string"]}
    assert takes_null(schema)
    assert nullable(provider(nullable=way), schema) is schema


def test_a_list_of_types_with_null_does_not_help_where_the_values_leave_it_out() -> None:
    assert not takes_null({"type": ["string", "null"], "enum": ["a"]})
