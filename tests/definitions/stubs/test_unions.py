"""Unions: what can be told apart by its kind, by a tag, or by the schemas alone."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import Union
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import shown


def test_variants_say_where_their_schemas_stand_and_what_kinds_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "object"]},
            "b/%": {"anyOf": [{"type": "array"}, {"$ref": "#/$defs/B"}]},
        },
        "$defs": {"B": {"oneOf": [{"type": "boolean"}, {"type": "number"}]}},
    }
    first, second = [each for each in make_type_tree(schema, "GoInput").declarations if isinstance(each, Union)]
    assert [(each.pointer, each.kinds) for each in first.variants] == [
        ("#/properties/a", ("string",)),
        ("#/properties/a", ("object",)),
    ]
    assert [(each.pointer, each.kinds) for each in second.variants] == [
        ("#/properties/b~1%25/anyOf/0", ("array",)),
        ("#/$defs/B/oneOf/0", ("boolean",)),
        ("#/$defs/B/oneOf/1", ("number",)),
    ]


def pet(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": kind, **more}, "required": ["kind"]}


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ([pet({"const": "cat"}), pet({"enum": ["dog", "wolf"]})], 'by kind = "cat": GoACat | "dog"/"wolf": GoADog'),
        ([pet({"const": 1}, a={}), pet({"const": "1"}, b={})], "by kind = 1: "),
        ([pet({"const": "cat"}), pet({"type": "string"})], "= "),
        ([{"type": "string"}, {"type": "array"}], "= string | [anything]"),
    ],
)
def test_variants_are_told_apart_by_a_tag_where_they_have_one(branches: list[Any], expected: str) -> None:
    tree = make_type_tree({"type": "object", "properties": {"a": {"oneOf": branches}}}, "GoInput", prefix="Go")
    (line,) = [each for each in shown(tree) if each.startswith(("GoA =", "GoA by"))]
    assert line.startswith(f"GoA {expected}")


def test_scalars_of_one_kind_are_one_variant() -> None:
    schema = {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "x"}, {"type": "integer"}]}
    tree = make_type_tree({"type": "object", "properties": {"a": schema}}, "GoInput", prefix="Go")
    assert shown(tree)[1:] == ["GoA = integer | string"]


def test_a_variant_that_may_be_anything_makes_the_union_anything() -> None:
    tree = make_type_tree({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/any"}]}},
                      "$defs": {"any": {"format": "x"}}}, "GoInput")  # fmt: skip
    assert shown(tree) == ["GoInput {a?: anything}"]
