"""Values of the catalog of hard schemas, read and written again in every flavour."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from ferrule.definitions.stubs.languages.python.support.checking import Schema
from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.python.random_tools import hostile, plain
from tests.definitions.stubs.languages.python.workbench import (
    FLAVOURS,
    Given,
    Modules,
    names,
    plan_of,
    text_of,
    written,
)
from tests.schema.fitting.schemas import arguments

_GIVEN = [Given(case.name, case.schema, case.schema) for case in CASES]
_CASES = {case.name: case for case in CASES}


@pytest.fixture(scope="module", params=FLAVOURS)
def modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modules]:
    flavour = request.param
    made = Modules(tmp_path_factory.mktemp(flavour), written(_GIVEN, flavour), f"catalog_{flavour}")
    yield made
    made.forget()


@pytest.fixture(scope="module", params=FLAVOURS)
def own(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Modules]]:
    flavour = request.param
    made = Modules(tmp_path_factory.mktemp(f"own_{flavour}"), written(_OWN, flavour), f"own_{flavour}")
    yield flavour, made
    made.forget()


@pytest.mark.parametrize("name", names(_GIVEN))
def test_accepted_values_come_back_as_they_were(modules: Modules, name: str) -> None:
    module = modules[name]
    for value in _CASES[name].accepts:
        for side in ("input", "output"):
            read = getattr(module, f"decode_{side}")(text_of(value).encode())
            assert json.loads(getattr(module, f"encode_{side}")(read)) == value


@pytest.mark.parametrize("name", names(_GIVEN))
def test_other_values_are_refused(modules: Modules, name: str) -> None:
    module = modules[name]
    for value in _CASES[name].refuses:
        with pytest.raises(ValueError, match=r"."):
            module.decode_input(text_of(value))


_OWN = [
    Given(
        "open_ended",
        {
            "type": "object",
            "properties": {
                "user-id": {"type": "string"},
                "left": {"type": "integer"},
                "huge": {"const": 1e30, "maximum": 1e30},
                "null": {"type": ["integer", "null"]},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
                "pet": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
                            "required": ["kind"],
                        },
                        {
                            "type": "object",
                            "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}},
                            "required": ["kind"],
                        },
                    ]
                },
            },
            "required": ["user-id"],
            "additionalProperties": {"type": "array", "items": {"$ref": "#"}},
        },
    )
]


def _attribute(value: Any, name: str) -> Any:
    return value[{"user_id": "user-id"}.get(name, name)] if isinstance(value, dict) else getattr(value, name)


def test_members_have_names_of_python_and_keep_what_is_extra(own: tuple[str, Modules]) -> None:
    _, modules = own
    module = modules["open_ended"]
    text = {"user-id": "a", "left": 2.0, "pet": {"kind": "dog", "name": "Rex"}, "more": [{"user-id": "b"}]}
    read = module.decode_input(text_of(text))
    assert _attribute(read, "user_id") == "a"
    assert type(_attribute(read, "left")) is int
    assert _attribute(_attribute(read, "pet"), "name") == "Rex"
    assert json.loads(module.encode_input(read)) == text


def test_large_numbers_keep_their_digits(own: tuple[str, Modules]) -> None:
    _, modules = own
    module = modules["open_ended"]
    read = module.decode_input('{"user-id": "a", "huge": 1e30, "more": []}')
    assert _attribute(read, "huge") == 10**30
    assert f'"huge":{10**30}'.encode() in module.encode_input(read)
    assert module.decode_input(module.encode_input(read)) == read
    assert module.INPUT.accepts({"user-id": "a", "huge": 1e30})
    assert module.INPUT.accepts({"user-id": "a", "huge": 10**30})
    assert not module.INPUT.accepts({"user-id": "a", "huge": 10**30 + 1})


def test_left_out_and_null_are_two_things(own: tuple[str, Modules]) -> None:
    flavour, modules = own
    module = modules["open_ended"]
    for text in ({"user-id": "a"}, {"user-id": "a", "null": None}, {"user-id": "a", "null": 0}):
        assert json.loads(module.encode_input(module.decode_input(text_of(text)))) == text
    if flavour != "typeddict":
        made = module.OpenEndedInput
        assert json.loads(module.encode_input(made(user_id="a"))) == {"user-id": "a"}
        assert json.loads(module.encode_input(made(user_id="a", left=None))) == {"user-id": "a"}
        assert json.loads(module.encode_input(made(user_id="a", null=None))) == {"user-id": "a", "null": None}


def test_a_class_made_of_a_generated_one_is_written_like_it(own: tuple[str, Modules]) -> None:
    flavour, modules = own
    module = modules["open_ended"]
    if flavour == "typeddict":
        return
    more: Any = type("More", (module.OpenEndedInput,), {})
    assert json.loads(module.encode_input(more(user_id="a"))) == {"user-id": "a"}
    with pytest.raises(TypeError, match="nothing that this tool knows"):
        module.INPUT.json([_ODD[flavour]()])


class _Struct(msgspec.Struct):
    """Nothing that a stub knows."""


class _Model(BaseModel):
    """The same."""


@dataclass
class _Data:
    """The same."""


_ODD: dict[str, Any] = {"msgspec": _Struct, "pydantic": _Model, "dataclass": _Data}


def test_msgspec_reads_its_own_classes_too(own: tuple[str, Modules]) -> None:
    flavour, modules = own
    if flavour == "msgspec":
        module = modules["open_ended"]
        read = msgspec.json.decode(b'{"user-id": "a", "pet": {"kind": "cat", "lives": 9}}', type=module.OpenEndedInput)
        assert read.pet.lives == 9
        assert msgspec.json.encode(read.pet) == b'{"kind":"cat","lives":9}'


def test_pydantic_reads_its_own_classes_too(own: tuple[str, Modules]) -> None:
    flavour, modules = own
    if flavour == "pydantic":
        module = modules["open_ended"]
        read = module.OpenEndedInput.model_validate_json('{"user-id": "a", "pet": {"kind": "cat", "lives": 9}}')
        assert (read.user_id, read.pet.lives) == ("a", 9)
        assert read.model_dump(by_alias=True, exclude_unset=True)["user-id"] == "a"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_any_schema_gives_code_that_can_be_imported(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = Random(seed)
    flavour = chance.choice(FLAVOURS)
    tool = hostile(chance, "any") if chance.random() < 0.6 else plain(chance, "any")
    made = Modules(_folder(tmp_path_factory), written([tool], flavour), f"random_{seed}")
    try:
        _round_trips(made["any"], tool)
    finally:
        made.forget()


def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


def _round_trips(module: Any, tool: Given) -> None:
    """What a schema takes is read, and written as something that it takes as well."""
    try:
        values = arguments(tool.schema, 4)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return
    schema = Schema(json.dumps(tool.schema))
    for value in values:
        try:
            read = module.decode_input(text_of(value))
        except DecodeError as error:
            assert "must be a" in str(error), (tool, value)  # a schema without a type takes what its type does not
            continue
        schema.check(json.loads(module.encode_input(read)))


def test_plans_give_the_same_text_twice() -> None:
    assert written(_GIVEN, "msgspec") == written(_GIVEN, "msgspec")
    assert plan_of(_GIVEN, "").flavour == "msgspec"
