"""Values come out of the types as they went in, and what the schema refuses does not get in."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.definitions.stubs.languages.go.random_tools import random_tools, values_of
from tests.definitions.stubs.languages.go.workbench import Workbench, unformatted
from tests.definitions.stubs.languages.nasty import CASES, Case
from tests.definitions.stubs.languages.toolchains import go


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_accepted_values_are_the_same_again(workbench: Workbench, case: Case) -> None:
    answers = workbench.trips([(case.name, value) for value in case.accepts])
    assert [answer.error for answer in answers] == [""] * len(answers)
    assert [answer.value for answer in answers] == list(case.accepts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused_values_are_refused(workbench: Workbench, case: Case) -> None:
    answers = workbench.trips([(case.name, value) for value in case.refuses])
    assert [value for value, answer in zip(case.refuses, answers, strict=True) if answer.is_fine] == []


def test_values_of_random_schemas_are_the_same_again(workbench: Workbench) -> None:
    pairs = [
        (tool.name, value) for tool in random_tools() for value in values_of(msgspec.json.decode(tool.input_schema))
    ]
    answers = workbench.trips(pairs)
    wrong = [
        (pair, answer)
        for pair, answer in zip(pairs, answers, strict=True)
        if not answer.is_fine or answer.value != pair[1]
    ]
    assert wrong == []


def test_all_of_it_is_formatted_and_vetted(workbench: Workbench) -> None:
    assert unformatted(workbench.folder) == ""
    go().run("vet", "./tools/", cwd=workbench.folder)


def test_tools_that_nobody_has_written_answer_what_their_schemas_allow(workbench: Workbench) -> None:
    """ADL-41"""
    answers = workbench.calls([(case.name, case.accepts[0]) for case in CASES])
    wrong = [(case.name, answer.error) for case, answer in zip(CASES, answers, strict=True) if not answer.is_fine]
    assert [each for each in wrong if not each[1].endswith("is not implemented yet")] == []
    assert len(wrong) < len(CASES) / 2


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("scalars", '{"flag":true,"count":9223372036854775808,"ratio":1,"text":""}', "does not fit into 64 bits"),
        ("scalars", '{"flag":true,"count":1,"ratio":1e400,"text":""}', "too large"),
        ("scalars", '{"FLAG":true,"count":1,"ratio":1,"text":""}', "/flag: is missing"),
        ("ranges", '{"unsigned":18446744073709551616}', "must be at most"),
        ("scalars", '{"flag":true,"count":1,"ratio":12345678901234567890123,"text":""}', "/ratio: the number"),
        (
            "untagged",
            '{"target":"","several":-9007199254740993}',
            "/several: the number -9007199254740993 has more digits",
        ),
        (
            "untagged",
            '{"target":9223372036854775808}',
            "/target: the number 9223372036854775808 does not fit into 64 bits",
        ),
        ("untagged", '{"target":"","lists":[1,9223372036854775808]}', "/lists/1: the number 9223372036854775808"),
    ],
)
def test_what_a_type_cannot_hold_is_an_error(workbench: Workbench, name: str, text: str, part: str) -> None:
    (answer,) = workbench.ask([{"name": name, "value": text}])
    assert not answer.is_fine
    assert part in answer.error


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ranges", '{"unsigned":18446744073709551615}'),
        ("untagged", '{"target":"","several":9007199254740992}'),
        ("untagged", '{"target":"","several":10000000000000000000000}'),
        ("untagged", '{"target":"","several":0.12345678901234567}'),
    ],
)
def test_large_integers_are_kept_exactly(workbench: Workbench, name: str, text: str) -> None:
    (answer,) = workbench.ask([{"name": name, "value": text}])
    assert answer.error == ""
    assert answer.value == json.loads(text)


@pytest.mark.parametrize("digits", ["-36893488147419103000", "-36893488147419103232"])
def test_what_others_write_of_a_float_is_that_float(workbench: Workbench, digits: str) -> None:
    (answer,) = workbench.ask([{"name": "untagged", "value": f'{{"target":"","several":{digits}}}'}])
    assert float(answer.value["several"]) == float(digits)


def test_a_tuple_alone_is_read_by_the_standard_library_too(workbench: Workbench) -> None:
    answers = workbench.ask([{"name": "a pair", "value": text} for text in ('["a",1]', '["a","b"]', '["a",1,2]', "{}")])
    assert answers[0].value == ["a", 1]
    assert [answer.error for answer in answers[1:]] == [
        "/1: must be number; it is string",
        "/2: is one too many",
        "must be array; it is object",
    ]
