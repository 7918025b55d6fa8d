"""Values come out of the types as they went in, and `Validate` says of what it covers what the validator of calls says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from ferrule.definitions.stubs.languages.go.checks import is_common
from ferrule.schema.validation.validators import compile_schema
from tests.definitions.stubs.languages.go.bounds import BOUNDED, values_for
from tests.definitions.stubs.languages.go.compiled_program import Workbench, unformatted
from tests.definitions.stubs.languages.go.random_tools import random_tools, values_of
from tests.definitions.stubs.languages.nasty import CASES, Case
from tests.definitions.stubs.languages.toolchains import go


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_accepted_values_are_the_same_again(workbench: Workbench, case: Case) -> None:
    answers = workbench.trips([(case.name, value) for value in case.accepts])
    assert [answer.error or answer.invalid for answer in answers] == [""] * len(answers)
    assert [answer.value for answer in answers] == list(case.accepts)


def test_values_of_random_schemas_are_the_same_again(workbench: Workbench) -> None:
    pairs = [
        (tool.name, value) for tool in random_tools() for value in values_of(msgspec.json.decode(tool.input_schema))
    ]
    answers = workbench.trips(pairs)
    wrong = [
        (pair, answer)
        for pair, answer in zip(pairs, answers, strict=True)
        if not answer.is_fine or answer.invalid or answer.value != pair[1]
    ]
    assert wrong == []


def test_validate_agrees_with_the_validator_on_what_it_covers(workbench: Workbench) -> None:
    pairs = [(tool.name, value) for tool in BOUNDED for value in values_for(tool, Random(tool.name))]
    judges = {tool.name: compile_schema(bytes(tool.input_schema)) for tool in BOUNDED}
    answers = workbench.trips(pairs)
    wrong = [
        (name, value, answer)
        for (name, value), answer in zip(pairs, answers, strict=True)
        if (answer.is_fine and not answer.invalid) != judges[name].is_valid(value)
    ]
    assert wrong == []
    assert 200 < sum(bool(answer.invalid) for answer in answers) < len(answers) - 200


def test_validate_refuses_nothing_that_the_validator_takes(workbench: Workbench) -> None:
    """Of random schemas with every keyword, Validate covers some: it is never narrower."""
    judged = [(case, value) for case in CASES for value in case.refuses if isinstance(value, dict)]
    answers = workbench.trips([(case.name, value) for case, value in judged])
    told = [(case.name, answer.invalid) for (case, _), answer in zip(judged, answers, strict=True) if answer.invalid]
    for expected in (
        ("ranges", "byte: it must be at least 0"),
        ("ranges", "byte: it must be at most 255"),
        ("ranges", "even: it must be a multiple of 2"),
        ("ranges", "below_one: it must be less than 1"),
        ("texts", "code: it must match ^[A-Z]{2}-[0-9]+$"),
        ("texts", "short: its length must be at most 3"),
        ("lists", "distinct: its length must be at least 1"),
        ("maps", "sized: its number of members must be at most 2"),
    ):
        assert expected in told


@pytest.mark.parametrize(
    ("pattern", "is_same"),
    [
        ("^[A-Z]{2}-[0-9]+$", True),
        (r"^\d{3}-\w+(?:a|b)*?$", True),
        (r"^[a-z0-9._%+-]+@[a-z]+\.com$", True),
        ("^(?!x)a$", False),
        (r"(a)\1", False),
        ("^.$", False),
        (r"\s", False),
        (r"\bcat\b", False),
        ("[a-c&&b]", False),
        ("(?i)a", False),
        (r"\p{L}", False),
        ("[z-a]", False),
        ("a{3,2}", False),
        ("(a{99}){99}", False),
        ("a**", False),
        ("(a", False),
        ("a)", False),
        ("]", False),
        ("{", False),
        ("*a", False),
    ],
)
def test_only_patterns_that_mean_the_same_in_go_are_checked(pattern: str, is_same: bool) -> None:
    assert is_common(pattern) is is_same


def test_all_of_it_is_formatted_and_vetted(workbench: Workbench) -> None:
    assert unformatted(workbench.folder) == ""
    go().run("vet", "./tools/", cwd=workbench.folder)


def test_unwritten_tools_fail_whatever_they_give(workbench: Workbench) -> None:
    """ADL-41"""
    answers = workbench.calls([(case.name, case.accepts[0]) for case in CASES])
    assert {answer.error for answer in answers} == {"this tool is not implemented yet"}


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("scalars", '{"flag":true,"count":9223372036854775808,"ratio":1,"text":""}', "number 9223372036854775808"),
        ("scalars", '{"flag":true,"count":1.5,"ratio":1,"text":""}', "cannot unmarshal number 1.5"),
        ("scalars", '{"flag":true,"count":1,"ratio":1e400,"text":""}', "cannot unmarshal number 1e400"),
        ("ranges", '{"unsigned":18446744073709551616}', "cannot unmarshal number 18446744073709551616"),
        ("untagged", '{"target":{}}', "UntaggedTarget: the value fits none of its fields"),
        ("tagged", '{"shape":{"kind":"hexagon"}}', "TaggedShape: the value fits none of its fields"),
    ],
)  # fmt: skip
def test_what_a_type_cannot_hold_is_an_error(workbench: Workbench, name: str, text: str, part: str) -> None:
    (answer,) = workbench.ask([{"name": name, "value": text}])
    assert not answer.is_fine
    assert part in answer.error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ranges", '{"unsigned":18446744073709551615}'),
        ("loose", '{"any":123456789012345678901234567890}'),
        ("maps", '{"labels":{},"free":{"n":[123456789012345678901234567890,-0.5]}}'),
        ("scalars", '{"flag":true,"count":9223372036854775807,"ratio":0.1,"text":""}'),
    ],
)
def test_large_numbers_are_kept_exactly(workbench: Workbench, name: str, text: str) -> None:
    (answer,) = workbench.ask([{"name": name, "value": text}])
    assert (answer.error, answer.value) == ("", json.loads(text))


def test_every_kind_of_presence_is_kept(workbench: Workbench) -> None:
    values: list[Any] = [
        {"any": 1, "yes": None},
        {"any": 1},
        {"any": None, "nothing": None},
        {"any": {}, "free_list": []},
    ]
    assert [answer.value for answer in workbench.trips([("loose", value) for value in values])] == values
