"""Schemas of OpenAPI as AML holds them: plain, bounded, and meaning the same."""

from __future__ import annotations

from ferrule.schema.walk import positions
from tests.definitions.openapi.importing import body, components, import_one, import_value, member


def test_all_of_is_merged() -> None:
    parts = {
        "A": {
            "type": "object",
            "properties": {"x": {"type": "string", "minLength": 1}},
            "required": ["x"],
            "additionalProperties": False,
        },
        "B": {"type": "object", "properties": {"x": {"maxLength": 5}, "y": {"type": "integer"}}, "required": ["y"]},
    }
    both = {"allOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}], "description": "Both."}
    made = member(both, **components(**parts))
    assert made["required"] == ["x", "y"] and made["description"] == "Both." and "additionalProperties" not in made
    assert made["properties"]["x"] == {"type": "string", "description": "X.", "minLength": 1, "maxLength": 5}


def test_recursion_is_unrolled_and_then_open() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Node"}}}
    made = member({"$ref": "#/components/schemas/Node"}, **components(Node=node))
    depth = 0
    while "properties" in made:
        made, depth = made["properties"]["child"], depth + 1
    assert depth == 3
    assert made == {"type": "object", "description": "Again a Node, in the shape described further up."}


def test_what_a_recursive_schema_demands_is_still_told_where_it_ends() -> None:
    node = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "child": {"$ref": "#/components/schemas/Node"}},
    }
    made = member({"$ref": "#/components/schemas/Node"}, **components(Node=node))
    for _ in range(3):
        made = made["properties"]["child"]
    assert made["required"] == ["name"] and list(made["properties"]) == ["name"]


def test_read_only_members_are_not_sent_and_write_only_ones_do_not_come_back() -> None:
    schema = {
        "type": "object",
        "required": ["id", "secret", "name"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "secret": {"type": "string", "writeOnly": True},
            "name": {"type": "string"},
        },
    }
    answer = {"responses": {"200": {"description": "It.", "content": {"application/json": {"schema": schema}}}}}
    made = import_one({**body(schema), **answer})["interface"]
    assert made["input"]["required"] == ["secret", "name"] and "id" not in made["input"]["properties"]
    assert made["output"]["required"] == ["id", "name"] and "secret" not in made["output"]["properties"]


def test_siblings_of_a_reference_count_where_the_version_says_so() -> None:
    root = components(S={"type": "string", "description": "Old."})
    beside = {"$ref": "#/components/schemas/S", "description": "New.", "maxLength": 3}
    assert member(beside, "3.1.0", **root) == {"type": "string", "description": "New.", "maxLength": 3}
    assert member(beside, "3.0.3", **root) == {"type": "string", "description": "New."}


def test_schemas_that_are_too_large_are_cut() -> None:
    many = {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{m}": {"$ref": f"#/components/schemas/S{(n * 7 + m) % 40}"} for m in range(12)},
        }
        for n in range(40)
    }
    document = {
        "openapi": "3.0.3",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": "https://t.example.com"}],
        "paths": {"/x": {"post": {**body({"$ref": "#/components/schemas/S0"}), "responses": {}}}},
        **components(**many),
    }
    made = import_value(document)
    assert made.score.tools == 1 and len(next(iter(made.files.values()))) < 200_000
    assert any("large or contains itself" in each.message for each in made.findings)


def test_no_reference_is_left() -> None:
    made = import_one(
        body({"$ref": "#/components/schemas/N"}),
        **components(N={"anyOf": [{"$ref": "#/components/schemas/N"}, {"type": "string"}]}),
    )
    assert all("$ref" not in each.schema for each in positions(made["interface"]["input"]))
