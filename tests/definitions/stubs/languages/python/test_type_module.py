"""Values of the catalog of hard schemas, read and written again in every flavour; and what compilers say of the types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.runtime.functions import Arguments, Binding
from ferrule.runtime.functions.fitting import fit
from ferrule.runtime.functions.records import make_type_reader, to_plain
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.python.random_tools import hostile, plain
from tests.definitions.stubs.languages.python.stub_modules import (
    FLAVOURS,
    Given,
    Modules,
    checked_by_mypy,
    names,
    plan_of,
    ruff_objects,
    tool_of,
    write,
    written,
)
from tests.schema.fitting.schemas import arguments

_ARGUMENTS: Any = Arguments
_GIVEN = [Given(case.name, case.schema, case.schema) for case in CASES]
_CASES = {case.name: case for case in CASES}


def _camel(stem: str) -> str:
    return "".join(part.capitalize() for part in stem.split("_"))


@pytest.fixture(scope="module", params=FLAVOURS)
def modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modules]:
    flavour = request.param
    made = Modules(tmp_path_factory.mktemp(flavour), written(_GIVEN, flavour), f"catalog_{flavour}")
    yield made
    made.forget()


@pytest.mark.parametrize("name", names(_GIVEN))
def test_accepted_values_come_back_as_they_were(modules: Modules, name: str) -> None:
    for side in ("Input", "Output"):
        kind = getattr(modules[name], f"{_camel(name)}{side}")
        for value in _CASES[name].accepts:
            assert to_plain(make_type_reader(kind)(value)) == value


@pytest.mark.parametrize("name", names(_GIVEN))
def test_types_fit_the_definition_that_they_are_made_of(modules: Modules, name: str) -> None:
    kind = getattr(modules[name], f"{_camel(name)}Input")

    async def run(given: Any) -> None:
        pass

    run.__annotations__ = {"given": _ARGUMENTS[kind]}
    (tool,) = (tool_of(each) for each in _GIVEN if each.name == name)
    assert fit(Binding(run, binds=tool.tool_id), tool).whole == "given"


def test_the_catalog_is_typed_and_formatted(tmp_path: Path) -> None:
    for flavour in FLAVOURS:
        write(tmp_path, written(_GIVEN, flavour), f"catalog_{flavour}")
    assert ruff_objects(tmp_path) == ""
    assert checked_by_mypy(tmp_path, *(f"catalog_{flavour}" for flavour in FLAVOURS)) == (0, "")


def test_random_tools_are_typed_and_formatted(tmp_path: Path) -> None:
    for number in range(24):
        chance = Random(number)
        tool = hostile(chance, f"any{number}") if number % 3 else plain(chance, f"any{number}")
        write(tmp_path, written([tool], FLAVOURS[number % len(FLAVOURS)]), f"random_{number}")
    assert ruff_objects(tmp_path) == ""
    assert checked_by_mypy(tmp_path, *(f"random_{number}" for number in range(24))) == (0, "")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_any_schema_gives_types_that_read_what_it_takes(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = Random(seed)
    flavour = chance.choice(FLAVOURS)
    tool = hostile(chance, "any") if chance.random() < 0.6 else plain(chance, "any")
    made = Modules(tmp_path_factory.mktemp("random"), written([tool], flavour), f"random_{seed}")
    try:
        kind = made["any"].AnyInput
        _round_trips(kind, tool)

        async def run(given: Any) -> None:
            pass

        run.__annotations__ = {"given": _ARGUMENTS[kind]}
        fit(Binding(run, binds="bench.any"), tool_of(tool))  # types never misfit the definition that they are made of
    finally:
        made.forget()


def _round_trips(kind: Any, tool: Given) -> None:
    """What a schema takes is read, and written as something that it takes as well."""
    try:
        values = arguments(tool.schema, 4)
        validator = jsonschema_rs.validator_for(tool.schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return
    for value in values:
        try:
            read = make_type_reader(kind)(value)
        except msgspec.ValidationError as error:
            assert "Expected" in str(error), (tool, value)  # a schema without a type takes what its type does not
            continue
        written_again = json.loads(json.dumps(to_plain(read)))
        assert validator.is_valid(written_again), (tool, value, written_again)


def test_plans_give_the_same_text_twice() -> None:
    assert written(_GIVEN, "msgspec") == written(_GIVEN, "msgspec")
    assert plan_of(_GIVEN, "").flavour == "msgspec"
