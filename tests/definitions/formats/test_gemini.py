"""Functions for Gemini, in JSON Schema and in the older words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.entries import UnreadableTool
from ferrule.definitions.formats.gemini import convert_schema
from tests.definitions.formats.lists import OLD_DECLARATION


def test_a_schema_in_the_older_words_of_gemini_is_read_as_json_schema() -> None:
    reading = FORMATS.get("gemini").read([OLD_DECLARATION], "", {})
    assert json.loads(bytes(reading.tools[0].tool.input_schema)) == {
        "type": "object",
        "properties": {"days": {"type": ["integer", "null"]}, "tags": {"type": "array", "minItems": 1}},
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "STRING", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"anyOf": [{"type": "STRING"}], "nullable": True}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": "TYPE_UNSPECIFIED", "example": 1}, {"examples": [1]}),
        (
            {"type": "ARRAY", "maxItems": "9", "items": {"type": "NUMBER"}},
            {"type": "array", "maxItems": 9, "items": {"type": "number"}},
        ),
        (
            {"ref": "#/defs/a", "defs": {"a": {"type": "OBJECT"}}},
            {"$defs": {"a": {"type": "object"}}, "$ref": "#/$defs/a"},
        ),
        ({"type": "odd", "minItems": "-1"}, {"type": "odd", "minItems": "-1"}),
        ("text", "text"),
    ],
)
def test_the_older_words_have_words_of_json_schema(schema: Any, expected: Any) -> None:
    assert convert_schema(schema) == expected


def test_a_schema_in_the_older_words_that_never_ends_is_refused() -> None:
    schema: Any = {}
    for _ in range(300):
        schema = {"items": schema}
    with pytest.raises(UnreadableTool, match="too deeply"):
        convert_schema(schema)
