"""Typed values of JSON and back, by a table of the types that were generated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError
from ferrule.definitions.stubs.languages.python.support.shapes import Codec, Types


def codec(shape: Any, schema: Any = True, **declared: Any) -> Codec[Any]:
    """What reads and writes a type of this shape."""
    table = {"Root": {"kind": "alias", "shape": shape}, **declared}
    return Codec(Types(json.dumps(schema), json.dumps(table)), "Root")


@pytest.mark.parametrize(
    ("shape", "value", "typed"),
    [
        ("int", 3.0, 3),
        ("int", 1e30, 10**30),
        ("num", 3.0, 3.0),
        ("any", {"a": [1]}, {"a": [1]}),
        (["nullable", "int"], None, None),
        (["list", "int"], [1.0, 2], [1, 2]),
        (["map", ["list", "int"]], {"a": [1.0]}, {"a": [1]}),
        (["const", "x"], "x", "x"),
        (["tuple", ["int", "str"], "int", True], [1.0, "a", 2.0], (1, "a", 2)),
        (["tuple", ["int", "str"], "int", False], [1.0, "a"], [1, "a"]),
    ],
)
def test_a_value_is_read_by_its_shape(shape: Any, value: Any, typed: Any) -> None:
    read = codec(shape).checked(value)
    assert read == typed
    assert repr(read) == repr(typed)


def test_a_value_that_the_schema_refuses_is_not_read() -> None:
    whole = codec("int", {"type": "integer"})
    with pytest.raises(DecodeError, match="must be integer"):
        whole.decode(b'"7"')
    assert whole.accepts(7) and not whole.accepts("7")
    assert json.loads(whole.schema) == {"type": "integer"}


@pytest.mark.parametrize(
    ("shape", "value", "words"), [(["list", "int"], {}, "a list"), (["map", "int"], [], "an object")]
)
def test_a_value_that_the_schema_takes_and_the_type_does_not_is_refused(shape: Any, value: Any, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        codec(shape).checked(value)


def test_an_enumeration_gives_the_value_as_it_was_declared() -> None:
    read = codec(["named", "E"], E={"kind": "enum", "values": [1, "a"]}).checked(1.0)
    assert (read, type(read)) == (1, int)


def test_a_variant_is_found_by_its_tag_or_by_its_schema() -> None:
    tagged = {"kind": "union", "tag": "t", "variants": [[["map", "int"], [1], [], ""], [["map", "str"], ["x"], [], ""]]}
    read = codec(["named", "U"], U=tagged)
    assert read.checked({"t": 1.0}) == {"t": 1}
    assert read.checked({"t": "x"}) == {"t": "x"}
    with pytest.raises(DecodeError, match="none of the types"):
        read.checked({"t": "other"})
    schema = {"anyOf": [{"type": "string"}, {"type": "number"}]}
    plain = {
        "kind": "union",
        "tag": None,
        "variants": [["str", [], ["string"], "#/anyOf/0"], ["int", [], ["number"], "#/anyOf/1"]],
    }
    assert codec(["named", "U"], schema, U=plain).checked(2.0) == 2


@dataclass(kw_only=True)
class Pet:
    """A record as stubs have it."""

    pet_name: str
    age: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Dog(Pet):
    """What a person makes of it."""


PET = {
    "kind": "record",
    "members": [["pet-name", "pet_name", "required", "str"], ["age", "age", "optional", "int"]],
    "extra": "extra",
    "extra_shape": "any",
    "tag": ["kind", "pet"],
}


def pets() -> Codec[Any]:
    return Codec(Types("true", json.dumps({"Pet": PET}), {"Pet": Pet}), "Pet")


def test_a_record_is_an_object_of_its_class_and_is_written_as_it_was() -> None:
    value = {"kind": "pet", "pet-name": "Rex", "size": [1]}
    read = pets().checked(value)
    assert read == Pet(pet_name="Rex", extra={"size": [1]})
    assert pets().json(read) == value
    assert pets().json(Dog(pet_name="Rex", age=3)) == {"kind": "pet", "pet-name": "Rex", "age": 3}


def test_an_object_of_a_class_that_nobody_generated_is_not_written() -> None:
    @dataclass
    class Other:
        name: str

    with pytest.raises(TypeError, match="Other is nothing that this tool knows"):
        pets().json(Other("x"))


def test_anything_else_is_written_as_what_it_is() -> None:
    assert codec("any").encode({"a": (1, None), "b": "é"}) == '{"a":[1,null],"b":"é"}'.encode()


def test_a_value_nested_too_deeply_is_refused() -> None:
    value: Any = []
    for _ in range(5_000):
        value = [value]
    deep = codec(["named", "Tree"], Tree={"kind": "alias", "shape": ["list", ["named", "Tree"]]})
    with pytest.raises(DecodeError, match="too deeply"):
        deep.typed(value)
