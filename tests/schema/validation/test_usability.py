"""What keeps calls from being checked by a schema, and where."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from ferrule.model.value import Path
from ferrule.schema.validation.usability import call_defects, why_unusable
from ferrule.schema.validation.validators import compile_schema
from tests.schema.fitting.schemas import schema_of
from tests.schema.validation.test_latest_draft import ADDRESSES, Old

DRAFT_7 = "http://json-schema.org/draft-07/schema"
LATEST = "https://json-schema.org/draft/2020-12/schema"
ELSEWHERE = "http://127.0.0.1:1/x.json"


@pytest.mark.parametrize(
    "address",
    [
        LATEST,
        f"{LATEST}#",
        DRAFT_7,
        f"{DRAFT_7}#",
        "https://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/schema#",
    ],
)
def test_dialects_of_json_schema_are_known(address: str) -> None:
    assert call_defects({"$schema": address, "type": "object"}) == []


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"properties": {"$schema": {"type": "string"}, "$ref": {"type": "string"}}},
        {"properties": {"a": {"$schema": "https://example.com/mine"}}},
        {"default": {"$ref": ELSEWHERE}, "const": {"$schema": "https://example.com/mine"}, "examples": [{"$ref": "x"}]},
        {"x-note": {"$ref": ELSEWHERE}},
        {"$ref": "#"},
        {"$ref": ""},
        {"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}},
        {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}},
        {"$ref": "a.json", "$defs": {"a": {"$id": "a.json"}}},
        {"$id": "https://example.com/all/root", "$ref": "a#/$defs/b", "$defs": {"a": {"$id": "a", "$defs": {"b": {}}}}},
        {"$id": "urn:x:root", "properties": {"next": {"$ref": "urn:x:root"}}},
        {"$schema": DRAFT_7, "$ref": "#a", "definitions": {"x": {"$id": "#a"}}},
        {"$schema": DRAFT_7, "properties": {"schema": {"$ref": f"{DRAFT_7}#"}}},
        {"properties": {"schema": {"$ref": LATEST}}},
        {"$schema": "https://example.com/mine", "$id": "https://example.com/mine"},
    ],
)
def test_what_the_validator_takes_is_not_complained_of(schema: Any) -> None:
    compile_schema(msgspec.json.encode(schema))
    assert call_defects(schema) == []


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ({"$schema": "https://example.com/mine"}, [("$schema",)]),
        ({"$schema": "https://example.com/mine", "type": "strng"}, [("$schema",)]),
        (
            {"$schema": "http://json-schema.org/draft-03/schema#", "properties": {"a": {"required": True}}},
            [("$schema",)],
        ),
        ({"$schema": "draft 7"}, [("$schema",)]),
        ({"$schema": 7}, [("$schema",)]),
        ({"$ref": ELSEWHERE}, [("$ref",)]),
        ({"properties": {"a": {"$ref": "other.json"}}}, [("properties", "a", "$ref")]),
        ({"$schema": LATEST, "$defs": {"a": {"$id": "a", "$ref": "b"}}}, [("$defs", "a", "$ref")]),
        ({"items": {"$ref": ELSEWHERE}, "not": {"$ref": f"{ELSEWHERE}#/a"}}, [("items", "$ref"), ("not", "$ref")]),
        ({"type": "strng", "items": {"$ref": ELSEWHERE}}, [("type",), ("items", "$ref")]),
        ({"$ref": "#/$defs/a b", "$defs": {"a b": {}}}, [("$ref",)]),
        ({"$ref": "#/$defs/é", "$defs": {"é": {}}}, [("$ref",)]),
        ({"$schema": LATEST, "$dynamicRef": f"{ELSEWHERE}#a"}, [("$dynamicRef",)]),
    ],
)
def test_what_the_validator_does_not_take_is_told_at_its_place(schema: Any, paths: list[Path]) -> None:
    """MCP-136, MCP-138."""
    with pytest.raises(jsonschema_rs.ValidationError):
        compile_schema(msgspec.json.encode(schema))
    assert sorted((defect.path for defect in call_defects(schema)), key=str) == sorted(paths, key=str)


def test_what_is_wrong_is_told_with_what_to_do_about_it() -> None:
    (found,) = call_defects({"$ref": "#/$defs/é", "$defs": {"é": {}}})
    assert found.hint == "write 'é' as %C3%A9"
    (found,) = call_defects({"properties": {"a": {"$ref": ELSEWHERE}}})
    assert found.sentence().startswith(f"`a.$ref` points at '{ELSEWHERE}', another document")


def test_no_schema_of_any_draft_that_can_be_used_is_complained_of() -> None:
    for seed in range(100):
        for draft in ADDRESSES:
            assert call_defects(Old(Random(seed), draft).root()) == []
        assert call_defects(schema_of(Random(seed))) == []


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "object"}, None),
        ({"$schema": LATEST, "properties": {"$ref": {"type": "string"}}}, None),
        ({"$schema": "https://acme.test/mine"}, "`$schema` names a dialect that is not known here"),
        ({"properties": {"a": {"$ref": ELSEWHERE}}}, f"`a.$ref` points at '{ELSEWHERE}', another document"),
        ({"const": {"$schema": "https://acme.test/mine", "$ref": ELSEWHERE}}, None),
        ({"$ref": "inner", "$defs": {"one": {"$id": "inner"}}}, None),
    ],
)
def test_why_a_schema_is_of_no_use_is_told_in_one_sentence(schema: Any, told: str | None) -> None:
    found = why_unusable(msgspec.json.encode(schema))
    assert found is None if told is None else found is not None and found.startswith(told)
