"""Programs generated from the catalog take what its schemas take, write it again as it was, and refuse the rest."""

from __future__ import annotations

import json

from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.typescript.hostile import hostile_tools
from tests.definitions.stubs.languages.typescript.workshop import Workshop
from tests.schema.fitting.schemas import arguments


def test_accepted_values_come_back_equal(workshop: Workshop) -> None:
    pairs = [(case.name, value) for case in CASES for value in case.accepts]
    answers = workshop.trips([(name, json.dumps(value)) for name, value in pairs])
    for (name, value), answer in zip(pairs, answers, strict=True):
        if _is_held(value):
            assert answer.is_fine, (name, value, answer.error)
            assert json.loads(answer.value) == value, name
        else:
            assert "too large to hold" in answer.error, (name, value)


def test_refused_values_are_refused(workshop: Workshop) -> None:
    pairs = [(case.name, value) for case in CASES for value in case.refuses]
    answers = workshop.trips([(name, json.dumps(value)) for name, value in pairs])
    assert [pair for pair, answer in zip(pairs, answers, strict=True) if answer.is_fine] == []


def test_arguments_of_random_schemas_come_back_equal(workshop: Workshop) -> None:
    known = {each.name: each for each in hostile_tools()}
    pairs = [
        (tool.name, value)
        for tool in known.values()
        if sum(each.name == tool.name for each in hostile_tools()) == 1
        for value in arguments(json.loads(bytes(tool.input_schema)), 4)
        if _is_held(value)
    ]
    assert len(pairs) > 50
    for (name, value), answer in zip(pairs, workshop.trips([(n, json.dumps(v)) for n, v in pairs]), strict=True):
        assert answer.is_fine, (name, value, answer.error)
        assert json.loads(answer.value) == value, name


def test_what_is_no_json_is_refused(workshop: Workshop) -> None:
    texts = ["", "{", '{"a":1}}', "nul", "{'a':1}", "\ufeff{}", "NaN", "[1,]"]
    assert [each.is_fine for each in workshop.trips([("loose", text) for text in texts])] == [False] * len(texts)


def _is_held(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_held, value.values()))
    if isinstance(value, list):
        return all(map(_is_held, value))
    return not (type(value) is int and abs(value) > 2**53 - 1)
