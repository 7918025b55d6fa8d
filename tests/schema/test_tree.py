"""Schemas as trees for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrule.schema.tree import SchemaField, schema_tree
from tests.cpu_time import least_cpu_seconds


def rows(nodes: Iterable[SchemaField], depth: int = 0) -> list[str]:
    found = []
    for node in nodes:
        found.append(f"{'  ' * depth}{node.name}{'*' if node.is_required else ''}: {node.type}")
        found += rows(node.children, depth + 1)
    return found


def test_fields_have_types_bounds_and_marks() -> None:
    schema = {
        "type": "object",
        "required": ["id", "lines"],
        "properties": {
            "id": {"type": "string", "pattern": "^o-", "description": "The  order."},
            "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 2000},
            "count": {"type": "integer", "minimum": 1, "maximum": 99, "default": 3},
            "currency": {"enum": ["EUR", "GBP"]},
            "reason": {"type": "string", "enum": ["a", "b", "c", "d", "e"]},
            "lines": {
                "type": "array",
                "minItems": 1,
                "maxItems": 50,
                "items": {"type": "object", "properties": {"isbn": {"type": "string"}}, "required": ["isbn"]},
            },
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "tags": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
        },
    }
    tree = schema_tree(schema)
    assert rows(tree) == [
        "id*: string, like ^o-",
        "lines*: array of object, 1 to 50 items",
        "  isbn*: string",
        "amount: number > 0, ≤ 2000",
        "count: integer 1 to 99 = 3",
        'currency: "EUR" | "GBP"',
        "reason: one of 5",
        "when: string, date or null",
        "tags: object",
        "  (any other name): string, at most 5 characters",
    ]
    assert tree[0].description == "The order."
    assert tree[5].values == ('"a"', '"b"', '"c"', '"d"', '"e"')


def test_unions_show_each_of_their_shapes() -> None:
    card = {"title": "Card", "type": "object", "properties": {"number": {"type": "string"}}}
    cash = {"title": "Cash", "type": "object", "properties": {"till": {"type": "integer"}}}
    tree = schema_tree({"type": "object", "properties": {"pay": {"oneOf": [card, cash]}}})
    assert rows(tree) == [
        "pay: object",
        "  exactly one of, 1: object",
        "    number: string",
        "  exactly one of, 2: object",
        "    till: integer",
    ]


def test_references_are_followed_once() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}
    tree = schema_tree({"$defs": {"node": node}, "type": "object", "properties": {"head": {"$ref": "#/$defs/node"}}})
    assert rows(tree) == ["head: object", "  next: node again", "  name: string"]


def test_references_that_lead_nowhere_are_told() -> None:
    properties = {"a": {"$ref": "#/nothing"}, "b": {"$ref": "https://x.example/s"}, "c": {"$ref": "#/properties/c"}}
    assert rows(schema_tree({"type": "object", "properties": properties})) == [
        "a: anything",
        "b: as at https://x.example/s",
        "c: c again",
    ]


def test_what_is_no_object_is_one_field() -> None:
    assert rows(schema_tree({"type": "array", "items": {"type": "string"}})) == ["*: array of string"]
    assert rows(schema_tree(True)) == ["*: anything"]
    assert schema_tree(None) == []


def test_small_schemas_that_mean_millions_of_fields_are_cut() -> None:
    names = [f"d{number}" for number in range(40)]
    defs: dict[str, Any] = {
        name: {
            "anyOf": [{"$ref": f"#/$defs/{after}"}, {"$ref": f"#/$defs/{after}", "description": "x"}],
            "items": {"$ref": f"#/$defs/{after}"},
            "properties": {"a": {"$ref": f"#/$defs/{after}"}, "b": {"$ref": f"#/$defs/{after}"}},
        }
        for name, after in zip(names, [*names[1:], "d39"], strict=True)
    }
    seconds, found = least_cpu_seconds(lambda: rows(schema_tree({"$defs": defs, "$ref": "#/$defs/d0"})))
    assert seconds < 2
    assert 10 < len(found) <= 500


def test_deep_and_odd_schemas_do_not_matter() -> None:
    deep: Any = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep}, "required": 5, "enum": None}
    assert len(rows(schema_tree(deep))) < 20
    odds: list[Any] = [{"properties": 5}, {"type": 7}, {"items": [1]}, {"anyOf": {}}, {"$ref": 5}, {"enum": {}}, [], 5]
    for odd in odds:
        schema_tree(odd)
        schema_tree({"type": "object", "properties": {"x": odd}})
