"""What a model is told about arguments that do not fit: which field, what about it, what to change."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.runtime.pipeline.arguments.contracts import ADD, explain_refusal, fields


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b'{"a": 1}', "'b' is missing; add it"),
        (b'{"a": 1, "b": "x"}', "'b' must be a whole number; it is 'x'"),
        (b'{"a": 1, "b": 2, "B": 3}', "'B' is not a field of this tool; did you mean 'b'?"),
        (b'{"a": 1, "b": 2, "zebra": 3}', "the fields are 'a', 'b'"),
        (b"[1]", "one object with the fields of the schema"),
        (b'{"a": 1,', "not valid JSON"),
        (b'{"a": NaN, "b": 1}', "not valid JSON"),
        (b'{"a": 1e999, "b": 1}', "not valid JSON"),
        (b'{"a": "\\ud800", "b": 1}', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"a": 1, "b": "\xff"}', "not valid JSON"),
    ],
)
def test_refusals_say_which_field_and_what_to_change(raw: bytes, told: str) -> None:
    """AT-245: a message a model can act on."""
    assert told in explain_refusal(ADD, raw)


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"enum": ["red", "green"]}, "blue", "must be one of 'red', 'green'; it is 'blue'"),
        ({"const": 7}, 8, "must be 7"),
        ({"type": "integer", "minimum": 3}, 1, "must be 3 or more; it is 1"),
        ({"type": "string", "minLength": 3}, "a", "must have at least 3 characters"),
        ({"type": "string", "pattern": "^A"}, "b", "must match the pattern ^A"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "must not have the same member twice"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "must be a whole number or null; it is 'x'"),
        ({"type": "number", "multipleOf": 0.5}, 0.3, "must be a multiple of 0.5"),
        ({"not": {"type": "string"}}, "x", "has a form that is not allowed"),
        (False, 1, "is not allowed; leave it out"),
    ],
)
def test_each_kind_of_problem_has_its_words(schema: Any, value: Any, told: str) -> None:
    assert told in explain_refusal(fields("x", x=schema), msgspec.json.encode({"x": value}))


def test_a_problem_inside_an_alternative_is_told_for_the_form_it_is_nearest_to() -> None:
    card = fields("kind", "number", kind={"const": "card"}, number={"type": "string"})
    cash = fields("kind", kind={"const": "cash"})
    told = explain_refusal(fields("pay", pay={"oneOf": [cash, card]}), b'{"pay": {"kind": "card"}}')
    assert "'pay.number' is missing; add it" in told


def test_only_five_problems_are_told_and_the_rest_counted() -> None:
    schema = fields(*(f"field_{n}" for n in range(9)))
    told = explain_refusal(schema, b"{}")
    assert told.count("is missing") == 5
    assert "and 4 more" in told


def test_long_values_are_cut() -> None:
    told = explain_refusal(fields("x", x={"type": "string", "maxLength": 3}), msgspec.json.encode({"x": "y" * 10_000}))
    assert len(told) < 400


@pytest.mark.parametrize("mark", [{"sensitive": True}, {"writeOnly": True}, {"format": "password"}])
def test_a_sensitive_value_is_never_repeated(mark: dict[str, Any]) -> None:
    """AT-84: not where it belongs, and not where it strayed to."""
    schema = fields("card", "amount", card={"type": "string", "maxLength": 3, **mark}, amount={"type": "integer"})
    told = explain_refusal(schema, b'{"card": "4111-1111", "amount": "4111-1111"}')
    assert "4111" not in told
    assert "'card' must have at most 3 characters" in told


def test_options_of_a_sensitive_field_are_not_told() -> None:
    schema = fields("pin", pin={"enum": ["hunter2"], "sensitive": True})
    assert "hunter2" not in explain_refusal(schema, b'{"pin": "guess"}')


def test_a_few_wrong_members_of_a_choice_are_all_told() -> None:
    schema = fields("x", x={"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    assert explain_refusal(schema, b'{"x": ["a", 1, 2]}').count("must be text") == 2
