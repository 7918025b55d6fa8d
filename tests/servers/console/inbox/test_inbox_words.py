"""What the inbox says: differences, countdowns, people."""

from __future__ import annotations

from ferrule.servers.console.inbox.inbox_words import (
    clock,
    count_hidden_lines,
    describe_decision,
    diff,
    join_names,
    people,
    seconds_left,
)


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


def test_a_very_long_input_is_cut_and_says_so() -> None:
    value = list(range(5000))
    assert len(diff(None, value)) == 1500
    assert count_hidden_lines(value) == 3502


def test_a_countdown_reads_like_the_one_of_the_script() -> None:
    assert [clock(left) for left in (None, 0, 9, 521, 3600, 11520)] == [
        "", "expired", "0:09", "8:41", "1 h 00 m", "3 h 12 m"]  # fmt: skip
    assert seconds_left("2026-01-01T00:00:10Z", 1767225600.0) == 10
    assert seconds_left("2026-01-01T00:00:10Z", 1767225690.0) == 0
    assert seconds_left(None, 0.0) is None


def test_people_are_named_as_a_person_would() -> None:
    assert join_names(["amy", "ben", "me"], "me") == "amy, ben and you"
    assert people(["group:privacy", "ben"]) == "anyone in privacy or ben"
    assert people([]) == "anyone who may approve"
    assert describe_decision("approved", ["me"], "me", is_edited=True) == "approved by you, edited"
    assert describe_decision("expired", [], "me") == "expired without an answer"
