"""Programs generated from the catalog take what its schemas take, and write it again as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.typescript.compiled_program import Workshop
from tests.definitions.stubs.languages.typescript.hostile import hostile_tools
from tests.definitions.stubs.languages.typescript.typing_programs import PROGRAMS
from tests.schema.fitting.schemas import arguments


def accepted(workshop: Workshop) -> Iterator[tuple[str, Any]]:
    """Values that schemas of the catalog and random ones take, by tool."""
    for case in CASES:
        yield from ((case.name, value) for value in case.accepts)
    for tool in hostile_tools():
        if tool.name in workshop.stems:
            yield from ((tool.name, value) for value in arguments(json.loads(bytes(tool.input_schema)), 4))


def changed(workshop: Workshop) -> list[tuple[str, Any, str]]:
    """Values that are refused or come back as something else, among those that JavaScript can hold."""
    pairs = [(name, value) for name, value in accepted(workshop) if is_held(value)]
    assert len(pairs) > 200
    answers = workshop.trips(pairs)
    return [
        (name, value, answer.error or answer.value)
        for (name, value), answer in zip(pairs, answers, strict=True)
        if not answer.is_fine or json.loads(answer.value) != value
    ]


def test_ajv_gives_accepted_values_back_as_they_were(ajv: Workshop) -> None:
    assert changed(ajv) == []


def test_zod_gives_accepted_values_back_as_they_were(zod: Workshop) -> None:
    assert changed(zod) == []


def test_ajv_refuses_what_the_schema_refuses(ajv: Workshop) -> None:
    pairs = [(case.name, value) for case in CASES for value in case.refuses if is_held(value)]
    assert [pair for pair, answer in zip(pairs, ajv.trips(pairs), strict=True) if answer.is_fine] == []


def test_zod_refuses_what_is_of_another_type(zod: Workshop) -> None:
    """Lengths, patterns and conditions are the schema's alone."""
    wrong = [
        ("presence", {"needed": "a"}),
        ("presence", {"needed": None, "needed_or_null": None}),
        ("enums", {"unit": "cold"}),
        ("tagged", {"shape": {"kind": "circle", "side": 1}}),
        ("lists", {"pair": [1, "a"]}),
        ("maps", {"labels": {"name": 1}}),
        ("ranges", {"byte": 256}),
        ("scalars", []),
    ]
    assert [pair for pair, answer in zip(wrong, zod.trips(wrong), strict=True) if answer.is_fine] == []


def test_an_error_names_the_place(ajv: Workshop) -> None:
    (answer,) = ajv.trips([("ranges", {"byte": 256})])
    assert "input/byte must be <= 255" in answer.error


def test_programs_over_the_types_compile_as_they_should(ajv: Workshop) -> None:
    for path in PROGRAMS:
        assert (ajv.folder / "dist" / path).with_suffix(".js").exists()


def is_held(value: Any) -> bool:
    """Whether JavaScript and its checkers can hold a value: no integer beyond 2^53, and nothing called `__proto__`."""
    if isinstance(value, dict):
        return "__proto__" not in value and all(map(is_held, value.values()))
    if isinstance(value, list):
        return all(map(is_held, value))
    return not isinstance(value, int) or abs(value) < 2**53
