"""Values of schemas go through generated types unchanged, and what a schema refuses does not get in."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from ferrule.schema.validation.validators import compiled_schema
from tests.definitions.stubs.languages.nasty import CASES, Case
from tests.definitions.stubs.languages.rust.conftest import RANDOM, Tried
from tests.definitions.stubs.languages.rust.crates import Given, planned
from tests.definitions.stubs.languages.rust.test_checker import changed
from tests.schema.fitting.schemas import arguments

_BEYOND = (2**63, 1e300)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_accepted_values_come_back_and_others_do_not_get_in(tried: Tried, case: Case) -> None:
    stem = tried.stem(case.name)
    answers = tried.answers({"tool": stem, "text": json.dumps(value)} for value in (*case.accepts, *case.refuses))
    for value, answer in zip(case.accepts, answers, strict=False):
        assert "text" in answer, (value, answer)
        assert _is_kept(value, json.loads(answer["text"])), (value, answer)
    for value, answer in zip(case.refuses, answers[len(case.accepts) :], strict=True):
        assert "error" in answer, value


def _is_kept(value: Any, found: Any) -> bool:
    """Whether nothing was changed; members that a schema says nothing of may be gone."""
    if isinstance(value, dict) and isinstance(found, dict):
        return found.keys() <= value.keys() and all(_is_kept(value[name], each) for name, each in found.items())
    if isinstance(value, list) and isinstance(found, list):
        return len(value) == len(found) and all(map(_is_kept, value, found))
    return (type(value) is type(found) and value == found) or (
        _is_number(value) and _is_number(found) and value == found
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_values_of_random_schemas_come_back(tried: Tried) -> None:
    lines: list[dict[str, str]] = []
    said: list[tuple[Any, bool]] = []
    for name, schema in RANDOM.items():
        chance = Random(name)
        validator = compiled_schema(msgspec.json.encode(schema))
        fitting = arguments(schema, 4)
        for value in [*fitting, *(changed(chance, chance.choice(fitting or [{}])) for _ in range(6))]:
            # A root that says nothing of its type is taken for an object: arguments are.
            is_meant = "type" in schema or isinstance(value, dict)
            if is_meant and not any(json.dumps(each) in json.dumps(value) for each in _BEYOND):
                lines.append({"tool": tried.stem(name), "text": json.dumps(value)})
                said.append((value, validator.is_valid(value)))
    for (value, fits), line, answer in zip(said, lines, tried.answers(lines), strict=True):
        assert fits is ("text" in answer), (RANDOM[line["tool"].replace("_", " ")], line, answer)
        assert not fits or _is_kept(value, json.loads(answer["text"])), (line, answer)
    assert sum(fits for _, fits in said) > 80


def test_integers_are_never_rounded(tried: Tried) -> None:
    stem = tried.stem("ranges")
    texts = [
        '{"unsigned": 18446744073709551615}',
        '{"byte": 1.2e1}',
        '{"even": 9223372036854775808}',
        '{"positive": 1e30}',
    ]
    answers = tried.answers({"tool": stem, "text": text} for text in texts)
    assert json.loads(answers[0]["text"]) == {"unsigned": 18446744073709551615}
    assert json.loads(answers[1]["text"]) == {"byte": 12}
    assert all("error" in answer for answer in answers[2:])


_SIGNED = f"must be an integer from {-(2**63)} to {2**63 - 1}"


@pytest.mark.parametrize(
    ("value", "place", "message"),
    [
        ({"list": [1, 2**63]}, "/list/1", _SIGNED),
        ({"list": [2**70]}, "/list/0", _SIGNED),
        ({"unsigned": 2**64}, "/unsigned", f"must be an integer from 0 to {2**64 - 1}"),
        ({"mixed": 2**64}, "/mixed", "64 bits do not hold this integer"),
        ({"either": 2**63}, "/either", _SIGNED),
        ({"either": [0, -(2**65)]}, "/either/1", _SIGNED),
        ({"pair": [1, 2**63]}, "/pair/1", _SIGNED),
        ({"deep": {"a~/": 2**63}}, "/deep/a~0~1", _SIGNED),
        ({"tagged": {"kind": "two", "n": 2**63}}, "/tagged/n", _SIGNED),
        ({"other": 2**63}, "/other", _SIGNED),
    ],
)
def test_integers_that_a_type_does_not_hold_are_refused_with_their_place(
    tried: Tried, value: Any, place: str, message: str
) -> None:
    [answer] = tried.answers([{"tool": tried.stem("integers"), "text": json.dumps(value)}])
    assert answer == {"place": place, "error": f"{place}: {message}"}


def test_integers_that_a_type_holds_come_back(tried: Tried) -> None:
    value = {"list": [-(2**63)], "unsigned": 2**64 - 1, "mixed": 2**63, "number": 1e300, "other": 2**63 - 1}
    [answer] = tried.answers([{"tool": tried.stem("integers"), "text": json.dumps(value)}])
    assert json.loads(answer["text"]) == value


def test_numbers_that_json_does_not_have_are_not_written(tried: Tried) -> None:
    fine, odd = tried.answers([{"numbers": [1, 2.5]}, {"numbers": [1, None]}])
    assert fine == [{"Ok": [1.0, 2.5]}, {"Ok": {"listed": [1.0, 2.5]}}]
    places = ["/1", "/listed/1"]
    assert odd == [{"Err": {"place": place, "error": f"{place}: NaN is no number that JSON has"}} for place in places]


def test_decimals_are_read_exactly(tried: Tried) -> None:
    numbers = [0.1, 1.7976931348623157e308, 5e-324, 123456789.12345679, 2.2250738585072011e-308, 9007199254740993.5]
    stem = tried.stem("scalars")
    text = ['{"flag": true, "count": 1, "text": "", "ratio": ' + repr(number) + "}" for number in numbers]
    answers = tried.answers({"tool": stem, "text": each} for each in text)
    assert [json.loads(answer["text"])["ratio"] for answer in answers] == numbers


def test_what_rust_cannot_say_is_told() -> None:
    huge = {"type": "integer", "minimum": -1, "maximum": 2**64}
    script = {"type": "string", "pattern": "^\\p{Script=Greek}$"}
    written = LANGUAGE.write(planned([Given("loud", {"type": "object", "properties": {"a": huge, "b": script}})]))
    assert ["64 bits" in each.note.message or "Script=Greek" in each.note.message for each in written.notes] == [
        True,
        True,
    ]
