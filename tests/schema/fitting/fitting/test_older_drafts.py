"""Schemas of older drafts mean what they meant."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from ferrule.schema.fitting import PROFILES, decode, encode, fit
from tests.schema.fitting.obedience import offences

OLD: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "a list under items": (
        {
            "type": "object",
            "properties": {
                "at": {"type": "array", "items": [{"type": "number"}, {"type": "string"}], "additionalItems": False}
            },
        },
        [{"at": []}, {"at": [1.5]}, {"at": [1, "a"]}],
    ),
    "definitions, and words beside a reference": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"one": {"$ref": "#/definitions/One", "minLength": 50}},
            "definitions": {"One": {"type": "string"}, "Spare": {}},
        },
        [{"one": "short"}, {}],
    ),
    "bounds that say true": (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "properties": {
                "n": {
                    "type": "integer",
                    "minimum": 1,
                    "exclusiveMinimum": True,
                    "maximum": 5,
                    "exclusiveMaximum": False,
                }
            },
        },
        [{"n": 2}, {"n": 5}],
    ),
    "keywords that came later": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "a": {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}},
                "b": {},
            },
            "dependentRequired": {"a": ["b"]},
        },
        [{"a": [1, 2]}],
    ),
    "references to anywhere": (
        {
            "$id": "https://example.com/tool.json",
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"$ref": "#/properties/a"},
                "c": {"$ref": "https://example.com/tool.json#/$defs/C"},
                "d": {"$ref": "#here"},
            },
            "$defs": {"C": {"type": "string"}, "D": {"$anchor": "here", "type": "boolean"}},
        },
        [{"a": 1, "b": 2, "c": "x", "d": True}],
    ),
}


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_what_fitted_before_fits(name: str, profile: Any) -> None:
    schema, values = OLD[name]
    fitted = fit(schema, profile)
    assert offences(fitted.schema, profile) == []
    reader = jsonschema_rs.Draft7Validator if profile.draft == 7 else jsonschema_rs.Draft202012Validator
    plain = {word: said for word, said in fitted.schema.items() if word != "$id"}
    for value in values:
        answer = encode(fitted.steps, value)
        if profile.nullable != "nullable":
            assert reader(plain).is_valid(answer), (fitted.schema, answer)
        assert decode(fitted.steps, answer) == value


def test_bounds_of_draft_4_are_numbers() -> None:
    fitted = fit(OLD["bounds that say true"][0], PROFILES["openai-strict"])
    assert fitted.schema["properties"]["n"] == {"type": ["integer", "null"], "exclusiveMinimum": 1, "maximum": 5}
