"""Values come out of the types as they went in, and what the schema refuses does not get in."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.languages.go.random_tools import random_tools, values_of
from tests.languages.go.workbench import Workbench, unformatted
from tests.languages.nasty import CASES, Case
from tests.languages.toolchains import go


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
    ],
)
def test_what_a_type_cannot_hold_is_an_error(workbench: Workbench, name: str, text: str, part: str) -> None:
    (answer,) = workbench.ask([{"name": name, "value": text}])
    assert not answer.is_fine
    assert part in answer.error


def test_large_integers_are_kept_exactly(workbench: Workbench) -> None:
    text = '{"unsigned":18446744073709551615}'
    (answer,) = workbench.ask([{"name": "ranges", "value": text}])
    assert answer.value == json.loads(text)
