"""Types of a tree as annotations of Python, and how values of them are read."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import Record, Type, TypeTree
from ferrule.definitions.stubs.languages.python.annotations import Annotations, joined, members_of, names_in
from tests.definitions.stubs.languages.plans import member_tree, tree_of

PAIR = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}


def member_type(schema: Any, flavour: str = "dataclass") -> tuple[Annotations, Type]:
    tree = member_tree(schema)
    root = tree.declarations[0]
    assert isinstance(root, Record)
    return Annotations(tree, flavour), root.members[0].type


@pytest.mark.parametrize(
    ("schema", "annotation", "shape"),
    [
        ({}, "Any", "any"),
        ({"type": "integer"}, "int", "int"),
        ({"type": "number"}, "float", "num"),
        ({"type": ["string", "null"]}, "str | None", ["nullable", "str"]),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]", ["list", "bool"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str]", ["map", "str"]),
        ({"const": "x"}, "Literal['x']", ["const", "x"]),
        ({"const": 1.5}, "float", ["const", 1.5]),
        ({"enum": ["a", "b"]}, "GetWeatherA", ["named", "GetWeatherA"]),
    ],
)
def test_each_type_has_an_annotation_and_a_shape(schema: Any, annotation: str, shape: Any) -> None:
    annotations, made = member_type(schema)
    assert annotations.of(made).replace('"', "'") == annotation
    assert annotations.shape(made) == shape
    assert ("Any" in annotations.uses) is (annotation == "Any")


@pytest.mark.parametrize(
    ("said", "flavour", "annotation"),
    [
        ({"minItems": 2, "items": False}, "msgspec", "tuple[str, int]"),
        ({"minItems": 1, "items": False}, "msgspec", "list[str | int]"),
        ({"minItems": 1, "items": False}, "pydantic", "tuple[str] | tuple[str, int]"),
        ({"minItems": 2, "items": {"type": "boolean"}}, "dataclass", "tuple[str, int, *tuple[bool, ...]]"),
        ({"minItems": 2, "items": {"type": "boolean"}}, "pydantic", "list[str | int | bool]"),
    ],
)
def test_a_tuple_is_one_where_the_flavour_knows_it(said: Any, flavour: str, annotation: str) -> None:
    annotations, made = member_type({**PAIR, **said}, flavour)
    assert annotations.of(made) == annotation


@pytest.mark.parametrize(
    ("schema", "required", "presence"),
    [
        ({"type": "string"}, ["a"], "required"),
        ({"type": "string"}, [], "optional"),
        ({"type": ["string", "null"]}, [], "three"),
        ({}, [], "three"),
        ({"$ref": "#/$defs/n"}, [], "three"),
    ],
)
def test_a_member_that_may_be_null_and_left_out_has_three_states(
    schema: Any, required: list[str], presence: str
) -> None:
    definitions = {"n": {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "null"}]}}
    tree = tree_of({"type": "object", "properties": {"a": schema}, "required": required, "$defs": definitions})
    root = tree.declarations[0]
    assert isinstance(root, Record)
    assert Annotations(tree, "dataclass").presence(root.members[0]) == presence


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["str", "None", "int"], "str | int | None"),
        (["int", "float"], "float"),
        (["str", "Any"], "Any"),
        (['Literal["a"]', "int", 'Literal["b | c"]'], 'Literal["a", "b | c"] | int'),
        (["str | None", "str"], "str | None"),
        (["list[str | None]", "None"], "list[str | None] | None"),
    ],
)
def test_a_union_has_each_part_once(parts: list[str], expected: str) -> None:
    assert joined(parts) == expected
    assert " | ".join(members_of(parts)) == expected


def test_the_names_that_a_type_is_made_of_are_found() -> None:
    tree: TypeTree = member_tree({"type": "array", "items": {"type": ["object", "null"], "properties": {"x": {}}}})
    root = tree.declarations[0]
    assert isinstance(root, Record)
    assert list(names_in(root.members[0].type)) == [tree.declarations[1].name]
