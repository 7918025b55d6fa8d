"""References of a schema lead to its parts, and outside of it to nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.checking import Schema
from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError


def _accepts(schema: Any, value: Any) -> bool:
    try:
        Schema(json.dumps(schema)).check(value)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("schema", "value", "is_right"),
    [
        ({"$ref": "https://example.com/other.json"}, 5, True),
        ({"$ref": "https://example.com/other.json#/$defs/a", "type": "string"}, 5, False),
        ({"$ref": "other.json#spot"}, 5, True),
        ({"$ref": "urn:example:other"}, 5, True),
        ({"properties": {"a": {"$ref": "https://example.com/o"}, "b": {"type": "string"}}}, {"a": 1, "b": 2}, False),
        ({"oneOf": [{"$ref": "https://example.com/o"}, {"type": "string"}]}, 5, True),
        (
            {
                "$ref": "https://example.com/o#spot",
                "$defs": {"o": {"$id": "https://example.com/o", "$anchor": "spot", "type": "null"}},
            },
            5,
            False,
        ),
        (
            {
                "$ref": "https://example.com/o#/$defs/a",
                "$defs": {"o": {"$id": "https://example.com/o", "$defs": {"a": False}}},
            },
            5,
            False,
        ),
    ],
)
def test_a_reference_that_leads_out_of_the_schema_takes_anything(schema: Any, value: Any, is_right: bool) -> None:
    assert _accepts(schema, value) is is_right
