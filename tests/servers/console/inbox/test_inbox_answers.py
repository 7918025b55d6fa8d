"""Answers made from what was typed: the types of a schema, what is refused, and a form for any schema."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.servers.console.inbox.inbox_answers import InvalidAnswer, answer_form, read_answer

OBJECT = {
    "type": "object",
    "properties": {
        "shelf": {"enum": ["A", 2]},
        "copies": {"type": "integer"},
        "price": {"type": "number"},
        "is_new": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["shelf"],
}


def test_an_answer_has_the_types_of_its_schema() -> None:
    sent = {"shelf": "2", "copies": "3", "price": "1.5", "is_new": "no", "note": ""}
    form = {f"answer.{name}": [text] for name, text in sent.items()}
    assert read_answer(OBJECT, form) == {"shelf": 2, "copies": 3, "price": 1.5, "is_new": False}


@pytest.mark.parametrize("text", ["two", "1.5", "NaN", "Infinity", "1e999", "true", '"3"', "[" * 5000])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidAnswer, match="copies must be a whole number"):
        read_answer(OBJECT, {"answer.shelf": ["A"], "answer.copies": [text]})


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({}, "text"),
        ({"type": "string"}, "text"),
        ({"type": "string", "enum": ["a"]}, "single"),
        ({"type": "boolean"}, "single"),
        ({"type": "array"}, "json"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "json"),
        ({"type": "object", "properties": {"a": True}}, "json"),
        ({"type": "object", "properties": {"a": {"type": "string", "maxLength": "x"}}, "required": 7}, "fields"),
        ({"type": "object"}, "json"),
    ],
)
def test_any_schema_has_a_form(schema: dict[str, Any], kind: str) -> None:
    assert answer_form(schema)["kind"] == kind


def test_answers_without_fields_are_text_or_json() -> None:
    assert read_answer({}, {"answer": ["{}"]}) == "{}"
    assert read_answer({"type": "array"}, {"answer": ["[1]"]}) == [1]
    assert read_answer({"type": "boolean"}, {"answer.": ["yes"]}) is True
    with pytest.raises(InvalidAnswer, match="not JSON"):
        read_answer({"type": "array"}, {"answer": ["[1"]})
