"""Forms made from schemas: what they offer, what they begin with, and that every schema has one with an end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.servers.console.catalog.forms import form_of


def node(schema: dict[str, Any]) -> dict[str, Any]:
    """The node of the one field `x` that has a schema."""
    form = form_of({"type": "object", "properties": {"x": schema}})
    found: dict[str, Any] = form["nodes"][form["nodes"][0]["fields"][0][1]]
    return found


def start(schema: dict[str, Any]) -> Any:
    return json.loads(form_of(schema)["start"])


@pytest.mark.parametrize(
    ("schema", "kind", "says"),
    [
        ({"type": "string"}, "text", "text"),
        ({"type": "string", "minLength": 2, "maxLength": 5}, "text", "text 2 to 5"),
        ({"type": "string", "format": "date"}, "text", "date"),
        ({"type": "string", "contentEncoding": "base64"}, "text", "base64"),
        ({"type": "integer", "minimum": 1, "maximum": 100}, "number", "integer 1 to 100"),
        ({"type": "number", "exclusiveMinimum": 0}, "number", "number above 0"),
        ({"type": "boolean"}, "boolean", "boolean"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, "array", "list up to 3"),
        ({"enum": ["a", 1, None]}, "enum", "one of 3"),
        ({"const": "a"}, "const", "fixed"),
        ({"enum": ["a"]}, "const", "fixed"),
        ({"type": "object"}, "json", "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object", "object"),
        ({}, "json", "any JSON"),
        ({"minimum": 3}, "number", "number from 3"),
        ({"oneOf": [{"const": "a", "title": "First"}, {"const": "b"}]}, "enum", "one of 2"),
        ({"type": ["string", "integer"]}, "union", "one of several"),
    ],
)
def test_each_kind_of_schema_has_its_kind_of_field(schema: dict[str, Any], kind: str, says: str) -> None:
    assert (node(schema)["kind"], node(schema)["says"]) == (kind, says)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["integer", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"const": None}, {"type": "integer"}]},
        {"type": "integer", "nullable": True},
    ],
)
def test_null_beside_one_kind_is_no_choice_of_kinds(schema: dict[str, Any]) -> None:
    assert (node(schema)["kind"], node(schema)["nullable"]) == ("number", True)


def test_references_and_what_holds_together_are_one_field() -> None:
    schema = {
        "$defs": {"base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}},
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "integer"}}}],
        "type": "object",
    }
    form = form_of(schema)
    assert [(name, is_required) for name, _, is_required in form["nodes"][0]["fields"]] == [("a", True), ("b", False)]


def test_what_is_required_comes_first_in_its_authors_order() -> None:
    fields = {"properties": {name: {"type": "string"} for name in "abcd"}, "required": ["d", "b"]}
    assert [field[0] for field in form_of({"type": "object", **fields})["nodes"][0]["fields"]] == ["d", "b", "a", "c"]


def test_alternatives_are_named_by_what_tells_them_apart() -> None:
    branch = {"type": "object", "properties": {"kind": {"const": "card"}}}
    found = node({"oneOf": [branch, {"title": "By bank", "type": "object"}, {"type": "string"}, {"type": "string"}]})
    assert [label for label, _ in found["branches"]] == ["kind: card", "By bank", "text (3)", "text (4)"]


def test_alternatives_that_only_require_something_leave_the_fields_as_they_are() -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "string"}}
    form = form_of({"type": "object", "properties": fields, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert form["nodes"][0]["kind"] == "object"


def test_a_schema_that_contains_itself_has_an_end() -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "below": {"$ref": "#/$defs/tree"}}}
    form = form_of({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})
    assert len(form["nodes"]) < 6
    below = form["nodes"][0]["fields"][1][1]
    assert form["nodes"][below]["fields"][1][1] == below


def test_it_begins_with_defaults_and_with_examples_of_what_is_required() -> None:
    fields = {
        "given": {"type": "integer", "default": 3},
        "shown": {"type": "string", "examples": ["x"]},
        "maybe": {"type": "string", "examples": ["y"]},
        "fixed": {"const": "k"},
        "inner": {"type": "object", "properties": {"deep": {"default": [1]}}},
    }
    schema = {"type": "object", "properties": fields, "required": ["shown", "fixed", "inner"]}
    assert start(schema) == {"given": 3, "shown": "x", "fixed": "k", "inner": {"deep": [1]}}


def test_an_example_of_the_whole_is_what_it_begins_with() -> None:
    form = form_of({"type": "object", "examples": [{"a": 1}, {"a": 2}, "no"]})
    assert (json.loads(form["start"]), len(form["examples"])) == ({"a": 1}, 2)


def test_names_that_mean_something_to_javascript_are_names() -> None:
    names = ["__proto__", "constructor", "toString", "", "a/b~c", "\u202e", "<script>"]
    form = form_of({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    assert [field[0] for field in form["nodes"][0]["fields"]] == names


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


HOSTILE: list[Any] = [
    None,
    True,
    {"type": 5, "required": 3, "properties": []},
    {"$ref": "#"},
    {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"allOf": [{"$ref": "#"}]},
    {"anyOf": [True, False, 3]},
    {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}, "b": True}, "required": ["a", "z", 4]},
    {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(5000)}},
    {"type": "object", "properties": {"e": {"enum": list(range(20_000))}}},
    {"type": "object", "properties": {"d": {"default": "x" * 100_000, "description": "y" * 100_000}}},
    {"type": "array", "items": {"$ref": "#"}},
    deep(700),
    {"$defs": {"t": {"oneOf": [{"properties": {"n": {"$ref": "#/$defs/t"}}} for _ in range(40)]}}, "$ref": "#/$defs/t"},
]


@pytest.mark.parametrize("schema", HOSTILE)
def test_a_hostile_schema_has_a_form_of_bounded_size(schema: Any) -> None:
    form = form_of(schema)
    assert len(json.dumps(form)) < 800_000
    assert isinstance(json.loads(form["start"]), dict)
    for one in form["nodes"]:
        numbers = [field[1] for field in one.get("fields", [])] + [branch[1] for branch in one.get("branches", [])]
        assert all(0 <= number < len(form["nodes"]) for number in numbers)
