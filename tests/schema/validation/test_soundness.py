"""What a JSON Schema validator would reject, and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.value import Path
from ferrule.schema.validation.soundness import fits, schema_defects

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    "schema",
    [
        True,
        False,
        {},
        {"type": "object", "properties": {"type": {"type": "string"}, "$ref": {}, "pattern": {"const": "["}}},
        {"enum": [{"type": "strng", "$ref": "#/nowhere"}], "default": {"pattern": "["}, "examples": [{"required": 1}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$ref": "#/definitions/a%20b~1c", "definitions": {"a b/c": True}},
        {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}},
        {"$ref": "https://elsewhere.example/schema.json#/no/such/place"},
        {"$ref": "#"},
        {"items": [{"type": "string"}], "additionalItems": False},
        {"prefixItems": [{"type": "string"}], "items": False},
        {"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True},
        {"$schema": "https://my.example/dialect", "items": [{}]},
        {"pattern": r"^\p{L}+(?<year>\d{4})\-$"},
        {"format": "no-such-format", "x-anything": {"type": "strng"}},
        {"$defs": {"inner": {"$id": "inner.json", "$ref": "#/$defs/x", "$defs": {"x": {}}}}},
    ],
)
def test_sound_schemas_have_no_defects(schema: Any) -> None:
    assert schema_defects(schema) == []


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("object", [()]),
        ({"type": "strng"}, [("type",)]),
        ({"type": ["string", None]}, [("type",)]),
        ({"required": "a"}, [("required",)]),
        ({"required": ["a", 5, 6]}, [("required",)]),
        ({"items": {"type": "strng"}}, [("items", "type")]),
        ({"items": [{"type": "strng"}]}, [("items", 0, "type")]),
        ({"properties": {"a": 5, "b": {"minLength": -1}}}, [("properties", "a"), ("properties", "b", "minLength")]),
        ({"anyOf": []}, [("anyOf",)]),
        ({"anyOf": [{}, 5]}, [("anyOf", 1)]),
        ({"exclusiveMinimum": True, "minimum": 1}, [("exclusiveMinimum",)]),
        ({"pattern": "["}, [("pattern",)]),
        ({"pattern": "(?P<year>x)"}, [("pattern",)]),
        ({"patternProperties": {"(": {}, "a": {}}}, [("patternProperties", "(")]),
        ({"$ref": "#/$defs/a"}, [("$ref",)]),
        ({"$ref": "#nowhere"}, [("$ref",)]),
        ({"properties": {"a": {"$ref": "#/properties/b"}}}, [("properties", "a", "$ref")]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "strng"}}}, [("$defs", "a", "type")]),
        ({"$ref": "#/x-shared/a", "x-shared": {"a": {"type": "strng"}}}, [("x-shared", "a", "type")]),
    ],
)
def test_defects_stand_at_the_offending_keyword(schema: Any, paths: list[Path]) -> None:
    assert sorted((defect.path for defect in schema_defects(schema)), key=str) == sorted(paths, key=str)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "items", "properties", "$ref", "anyOf", "pattern", "required", "$defs", "$id"])
                | st.text(max_size=3),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_anything_is_examined_without_a_crash(schema: Any) -> None:
    schema_defects(schema)


def test_hostile_patterns_and_schemas_stay_cheap() -> None:
    deep: dict[str, Any] = {}
    for _ in range(90):
        deep = {"not": deep, "pattern": "(a+)+$"}
    assert schema_defects(deep) == []
    assert schema_defects({"pattern": "(a{1000}){1000000}"}) == []
    assert len(schema_defects({"pattern": "(" * 50_000})) == 1
    loop = {"properties": {str(n): {"$ref": f"#/properties/{(n + 1) % 500}"} for n in range(500)}}
    assert schema_defects(loop) == []


def test_a_value_is_held_against_a_schema_without_fetching_anything() -> None:
    assert fits({"type": "string"}, "a") and not fits({"type": "string"}, 5)
    assert fits({"type": "strng"}, 5), "an unsound schema is another finding"
    assert fits({"$ref": "http://unreachable.invalid/schema.json"}, 5)


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "strng"}, "did you mean 'string'?"),
        ({"type": ["string", None]}, 'the type is the word "null", in quotes'),
        (
            {"properties": {"a": {"required": True}}},
            "list the property's name in the `required` of the schema around it",
        ),
        ({"type": 5}, None),
    ],
)
def test_common_slips_come_with_a_hint(schema: Any, hint: str | None) -> None:
    assert [defect.hint for defect in schema_defects(schema)] == [hint]


def test_a_position_in_a_list_is_written_without_leading_zeros() -> None:
    assert [d.path for d in schema_defects({"allOf": [{}], "$ref": "#/allOf/00"})] == [("$ref",)]
    assert not schema_defects({"allOf": [{}], "$ref": "#/allOf/0"})
