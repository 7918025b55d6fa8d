"""Single keywords of OpenAPI's schemas in the words of AML."""

from __future__ import annotations

from typing import Any

import pytest

from tests.definitions.openapi.importing import member


@pytest.mark.parametrize(
    ("version", "schema", "expected"),
    [
        ("3.0.3", {"type": "string", "nullable": True}, {"type": ["string", "null"], "description": "A."}),
        (
            "3.0.3",
            {"type": "string", "enum": ["x"], "nullable": True},
            {"type": ["string", "null"], "description": "A.", "enum": ["x", None]},
        ),
        ("3.1.0", {"enum": [0, False, 1, True, 0]}, {"description": "A.", "enum": [0, False, 1, True]}),
        (
            "3.0.3",
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "description": "A.", "exclusiveMinimum": 1},
        ),
        (
            "3.1.0",
            {"type": "integer", "exclusiveMinimum": 1},
            {"type": "integer", "description": "A.", "exclusiveMinimum": 1},
        ),
        ("3.1.0", {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"], "description": "A."}),
        ("3.1.0", {"type": "string", "examples": ["e"]}, {"type": "string", "description": 'Example: "e".'}),
        ("3.0.3", {"type": "string", "format": "password"}, {"type": "string", "description": "A.", "sensitive": True}),
        (
            "3.0.3",
            {"type": "string", "format": "byte"},
            {"type": "string", "description": "A.", "contentEncoding": "base64"},
        ),
        ("3.0.3", {"type": "string", "format": "hostname"}, {"type": "string", "description": "The name of a host."}),
        ("3.0.3", {"type": "string", "default": 3}, {"type": "string", "description": "A."}),
        (
            "3.0.3",
            {"type": "string", "default": "d", "title": "Name"},
            {"type": "string", "description": "Name.", "default": "d"},
        ),
        (
            "3.0.3",
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            {"type": "array", "description": "Each only once.", "items": {"type": "integer"}},
        ),
        ("3.0.3", {"type": "number", "minimum": 5, "maximum": 1}, {"type": "number", "description": "A."}),
        ("3.0.3", {"type": "string", "pattern": "["}, {"type": "string", "description": "Pattern: `[`."}),
        ("3.0.3", {"type": "date"}, {"description": "A."}),
    ],
)
def test_keywords_become_those_of_aml(version: str, schema: Any, expected: Any) -> None:
    assert member(schema, version) == expected
