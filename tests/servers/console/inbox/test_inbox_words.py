"""What the inbox says: differences, countdowns, people; and answers made from what was typed."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.views.evidence import Thing, thing_of
from ferrule.servers.console.calls.call_words import known_as
from ferrule.servers.console.inbox.inbox_answers import Unreadable, answer_form, answer_of
from ferrule.servers.console.inbox.inbox_words import clock, decision, diff, left_out, listed, people, seconds_left


def test_only_lines_that_differ_are_marked() -> None:
    rows = diff({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    assert [(row["kind"], row["number"], row["text"].strip()) for row in rows] == [
        ("", 1, "{"),
        ("", 2, '"a": 1,'),
        ("rem", 3, '"b": 2'),
        ("add", 3, '"b": 3,'),
        ("add", 4, '"c": 4'),
        ("", 5, "}"),
    ]


def test_a_comma_alone_is_no_difference() -> None:
    assert [row["kind"] for row in diff({"a": 1}, {"a": 1, "b": 2})] == ["", "", "add", ""]


@pytest.mark.parametrize(
    ("tool_id", "called", "shown"),
    [
        ("Delivery.BookCourier", "Delivery_BookCourier", "Delivery.BookCourier"),
        ("Delivery.BookCourier", "Delivery.BookCourier", "Delivery.BookCourier"),
        ("shop.refund_order", "refund_order", "refund_order"),
        ("shop.refund_order", "give_back", "shop.refund_order"),
        ("unknown:nothing", "nothing", "nothing"),
        ("shop.add", "", "shop.add"),
    ],
)
def test_a_tool_has_one_name_on_every_page(tool_id: str, called: str, shown: str) -> None:
    assert known_as({"tool_id": tool_id, "tool_name": called}) == shown


def test_a_very_long_input_is_cut_and_says_so() -> None:
    value = list(range(5000))
    assert len(diff(None, value)) == 1500
    assert left_out(value) == 3502


def test_a_countdown_reads_like_the_one_of_the_script() -> None:
    assert [clock(left) for left in (None, 0, 9, 521, 3600, 11520)] == [
        "", "expired", "0:09", "8:41", "1 h 00 m", "3 h 12 m"]  # fmt: skip
    assert seconds_left("2026-01-01T00:00:10Z", 1767225600.0) == 10
    assert seconds_left("2026-01-01T00:00:10Z", 1767225690.0) == 0
    assert seconds_left(None, 0.0) is None


def test_people_are_named_as_a_person_would() -> None:
    assert listed(["amy", "ben", "me"], "me") == "amy, ben and you"
    assert people(["group:privacy", "ben"]) == "anyone in privacy or ben"
    assert people([]) == "anyone who may approve"
    assert decision("approved", ["me"], "me", is_edited=True) == "approved by you, edited"
    assert decision("expired", [], "me") == "expired, nobody answered"


@pytest.mark.parametrize(
    ("value", "thing"),
    [
        ({"reason": "late", "customer_id": "c-1", "email": "x"}, Thing("customer_id", "c-1")),
        ({"orderNumber": 7, "name": "x"}, Thing("orderNumber", "7")),
        ({"id": "[REDACTED]", "email": "a@b.c"}, Thing("email", "a@b.c")),
        ({"id": "a\u202eb", "note": "x"}, Thing("", "erase")),
        ({"id": "x" * 81}, Thing("", "erase")),
        ({"id": " x "}, Thing("", "erase")),
        ({"id": True, "path": {"id": "y"}}, Thing("", "erase")),
        ("text", Thing("", "erase")),
        (None, Thing("", "erase")),
    ],
)
def test_what_is_typed_names_the_thing_and_can_be_typed(value: Any, thing: Thing) -> None:
    assert thing_of(value, "erase") == thing


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
    assert answer_of(OBJECT, form) == {"shelf": 2, "copies": 3, "price": 1.5, "is_new": False}


@pytest.mark.parametrize("text", ["two", "1.5", "NaN", "Infinity", "1e999", "true", '"3"', "[" * 5000])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="copies must be a whole number"):
        answer_of(OBJECT, {"answer.shelf": ["A"], "answer.copies": [text]})


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
    assert answer_of({}, {"answer": ["{}"]}) == "{}"
    assert answer_of({"type": "array"}, {"answer": ["[1]"]}) == [1]
    assert answer_of({"type": "boolean"}, {"answer.": ["yes"]}) is True
    with pytest.raises(Unreadable, match="not JSON"):
        answer_of({"type": "array"}, {"answer": ["[1"]})
