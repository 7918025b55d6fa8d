"""Types of generated stubs, read from JSON and written again; and functions that take all of their arguments as one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, UnsetType
from pydantic import BaseModel, ConfigDict, Field

import ferrule
from ferrule.runtime.functions.binding import Binding
from ferrule.runtime.functions.records import make_type_reader, to_plain
from tests.driven import driven


class Struct(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    a_b: int = msgspec.field(name="a-b")
    left: str | None = None
    three: int | UnsetType | None = UNSET


@dataclasses.dataclass(kw_only=True)
class Data:
    a_b: int = dataclasses.field(metadata={"name": "a-b"})
    left: str | None = None
    three: int | UnsetType | None = UNSET
    rest: dict[str, int] = dataclasses.field(default_factory=dict, metadata={"rest": True})


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", populate_by_name=True)

    a_b: int = Field(validation_alias="a-b", serialization_alias="a-b")
    left: str | None = None
    three: int | None = Field(default=None, json_schema_extra={"nullable": True})


class Odd(msgspec.Struct, kw_only=True):
    rest: Annotated[dict[str, Any], msgspec.Meta(extra={"rest": True})] = msgspec.field(default_factory=dict)


EVERY = pytest.mark.parametrize("kind", [Struct, Data, Model])


@EVERY
@pytest.mark.parametrize("value", [{"a-b": 1}, {"a-b": 1, "left": "x"}, {"a-b": 1, "three": None}, {"a-b": 2.0}])
def test_a_record_is_read_and_written(kind: Any, value: dict[str, Any]) -> None:
    read = make_type_reader(kind)(value)
    assert type(read) is kind and type(read.a_b) is int
    assert to_plain(read) == value


@EVERY
def test_none_stands_for_left_out_where_null_is_no_value(kind: Any) -> None:
    assert to_plain(kind(a_b=1, left=None)) == {"a-b": 1}
    assert to_plain(kind(a_b=1, three=None)) == {"a-b": 1, "three": None}


@pytest.mark.parametrize("kind", [Data, Model])
def test_other_members_are_kept(kind: Any) -> None:
    assert to_plain(make_type_reader(kind)({"a-b": 1, "more": 2, "a_b": 3})) == {"a-b": 1, "more": 2, "a_b": 3}


def test_what_msgspec_cannot_name_is_among_the_others() -> None:
    assert to_plain(make_type_reader(Odd)({'a"b': 1})) == {'a"b': 1}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Struct, {}, "missing required field `a-b`"),
        (Struct, {"a-b": 1, "c": 2}, "unknown field `c`"),
        (Struct, {"a-b": "1"}, r"Expected `int`, got `str` - at `\$.a-b`"),
        (list[Data], [{"a-b": True}], r"got `bool` - at `\$.a-b`"),
        (Literal["a", 1], True, "one of the values"),
        (tuple[int, str], [1], "length 2"),
        (Struct | list[int], "x", "Expected `object`"),
    ],
)
def test_what_is_no_value_of_a_type_is_told(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        make_type_reader(kind)(value)


class Cat(msgspec.Struct, kw_only=True):
    name: str


class Dog(msgspec.Struct, kw_only=True):
    name: str
    tail: int | None = None


def test_a_value_of_a_union_is_what_loses_least_of_it() -> None:
    read = make_type_reader(Cat | Dog | str | None)
    assert [type(read(value)) for value in ({"name": "a"}, {"name": "a", "tail": 1}, "x", None)] == [
        Cat,
        Dog,
        str,
        type(None),
    ]


ARGUMENTS: Any = ferrule.Arguments
DEFINITION = {
    "schema_version": "0.2.0",
    "tool_id": "shop.double",
    "namespace": "shop",
    "name": "double",
    "description": "Doubles a number.",
    "lifecycle": "available",
    "tool_kind": "function",
    "input_contract": {
        "model_input_schema": {
            "type": "object",
            "properties": {
                "a-b": {"type": "integer"},
                "left": {"type": "string"},
                "three": {"type": ["integer", "null"]},
            },
            "required": ["a-b"],
            "additionalProperties": False,
        }
    },
    "output_contract": {
        "structured_schema": {"type": "object", "properties": {"a-b": {"type": "integer"}}, "required": ["a-b"]}
    },
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ferrule.toml").write_text('[policy]\nmode = "trusted"\n')
    (tmp_path / "double.json").write_text(json.dumps(DEFINITION))
    return tmp_path


@EVERY
@driven
async def test_a_function_may_take_all_arguments_as_one(workspace: Path, kind: Any) -> None:
    async def double(given: Any) -> Any:
        return kind(a_b=given.a_b * 2)

    double.__annotations__ = {"given": ARGUMENTS[kind], "return": kind}
    async with ferrule.open(workspace, tools=[ferrule.tool("shop.double")(double)]) as app:
        result = await app.surface(principal="ann").call("double", {"a-b": 2.0})
        assert isinstance(result, ferrule.Result) and result.structured_content == {"a-b": 4}


class Older(msgspec.Struct, kw_only=True):
    a_b: str = msgspec.field(name="a-b")
    left: str | None = None
    three: int | None = None


class Lacking(msgspec.Struct, kw_only=True):
    a_b: int = msgspec.field(name="a-b")


class Needing(msgspec.Struct, kw_only=True):
    a_b: int = msgspec.field(name="a-b")
    left: str
    three: int | None = None


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Older, "the field 'a-b' is integer and not <class 'str'>; run 'ferrule gen' again"),
        (Lacking, "Lacking has no member 'left'; run 'ferrule gen' again"),
        (Needing, "Needing needs 'left', which may be left out"),
    ],
)
@driven
async def test_types_that_fit_the_definition_no_more_are_refused(workspace: Path, kind: Any, message: str) -> None:
    async def double(given: Any) -> Any:
        return None

    double.__annotations__ = {"given": ARGUMENTS[kind]}
    with pytest.raises(ferrule.BindingError, match=message):
        async with ferrule.open(workspace, tools=[ferrule.tool("shop.double")(double)]):
            pass


def test_arguments_as_one_are_for_definitions_and_come_alone() -> None:
    def both(given: ferrule.Arguments[Struct], other: int) -> None:
        """Takes too much."""

    def own(given: ferrule.Arguments[Struct]) -> None:
        """Has no definition."""

    with pytest.raises(ferrule.BindingError, match="arguments beside 'given'"):
        _ = Binding(both, binds="x").signature
    with pytest.raises(ferrule.BindingError, match="only a function of a definition can"):
        _ = Binding(own).tool
