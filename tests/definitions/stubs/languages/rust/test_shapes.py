"""Types of a tree as Rust writes them, and what has to be declared beside them."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import Alias, Integer, Record
from ferrule.definitions.stubs.languages.rust.layout import flat
from ferrule.definitions.stubs.languages.rust.shapes import Shapes, value_literal
from tests.definitions.stubs.languages.plans import member_tree, tree_of

PAIR = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "items": False}


def type_of(schema: Any) -> tuple[str, Shapes]:
    """The type of the one member of a record."""
    tree = member_tree(schema)
    shapes = Shapes((tree,))
    root = tree.declarations[0]
    assert isinstance(root, Record)
    return flat(shapes.of(root.members[0].type, root.name, "GetWeatherA")), shapes


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "Value"),
        ({"type": "boolean"}, "bool"),
        ({"type": "integer"}, "i64"),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, "u64"),
        ({"type": "number"}, "f64"),
        ({"type": ["string", "null"]}, "Option<String>"),
        ({"type": "array", "items": {"type": "string"}}, "Vec<String>"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "BTreeMap<String, f64>"),
        (PAIR, "(String, f64)"),
        ({"const": "x"}, "constants::X"),
    ],
)
def test_each_type_has_one_of_rust(schema: Any, expected: str) -> None:
    assert type_of(schema)[0] == expected


def test_integers_that_no_type_holds_are_told() -> None:
    kind, shapes = type_of({"type": "integer", "minimum": -1, "maximum": 2**64})
    assert kind == "wire::Integer"
    assert [note.message for note in shapes.notes] == ["integers that 64 bits do not hold are refused"]


def test_a_list_by_place_whose_end_is_open_is_declared() -> None:
    kind, shapes = type_of({"type": "array", "prefixItems": [{"type": "string"}]})
    assert kind == "GetWeatherAArray"
    assert [name for name, _ in shapes.arrays.values()] == ["GetWeatherAArray"]


def test_a_type_that_has_itself_inside_is_boxed() -> None:
    tree = tree_of(
        {"type": "object", "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}}
    )
    shapes = Shapes((tree,))
    root = tree.declarations[0]
    assert isinstance(root, Record)
    kinds = {each.name: flat(shapes.of(each.type, root.name, "X")) for each in root.members}
    assert kinds == {"next": "Box<GetWeatherInput>", "all": "Vec<GetWeatherInput>"}


def test_an_alias_of_itself_has_to_be_a_type_of_its_own() -> None:
    tree = tree_of({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}})
    shapes = Shapes((tree,))
    wrapped = {each.name: shapes.is_wrapped(each) for each in tree.declarations if isinstance(each, Alias)}
    assert wrapped == {"GetWeatherInput": False, "GetWeatherT": True}


def test_null_is_found_behind_names() -> None:
    tree = tree_of({"$ref": "#/$defs/t", "$defs": {"t": {"type": ["string", "null"]}}})
    assert Shapes((tree,)).may_be_null(tree.root)
    assert not Shapes((tree,)).may_be_null(Integer())


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (True, "true"),
        ("a\n", '"a\\n"'),
        (1.0, "1"),
        (1.5, "1.5_f64"),
        (2**40, f"{2**40}_i64"),
        (2**63, f"{2**63}_u64"),
        (-(2**70), "-1.1805916207174113e+21_f64"),
    ],
)
def test_a_constant_is_a_literal_that_rust_reads_exactly(value: Any, literal: str) -> None:
    assert value_literal(value) == literal
