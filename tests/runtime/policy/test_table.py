"""One table of a policy file: typed values, and each defect noted at its path."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.diagnostic import Finding
from ferrule.runtime.policy.table import MALFORMED, UNKNOWN_KEY, PolicyTable


def table(**value: Any) -> PolicyTable:
    return PolicyTable(value, ("rules", 2), [])


def list_messages(read: PolicyTable) -> list[tuple[str, tuple[str | int, ...]]]:
    """Code and path of each finding."""
    return [(finding.rule, finding.path) for finding in read.findings]


def test_right_values_are_given_and_nothing_is_noted() -> None:
    read = table(id="a", mode="open", tools=["x", "y"], one="z", on=True, people=3, inner={"a": 1}, rows=[{"b": 2}])
    assert read.read_text("id") == "a"
    assert read.read_word("mode", ("open", "closed")) == "open"
    assert read.read_texts("tools") == ("x", "y")
    assert read.read_texts("one") == ("z",)
    assert read.read_flag("on") is True
    assert read.read_count("people", 1) == 3
    inner = read.read_table("inner")
    assert inner is not None and (inner.value, inner.path) == ({"a": 1}, ("rules", 2, "inner"))
    assert [(each.value, each.path) for each in read.read_tables("rows")] == [({"b": 2}, ("rules", 2, "rows", 0))]
    assert not read.findings


def test_what_is_not_written_is_the_default_and_no_defect() -> None:
    read = table()
    assert (read.read_text("id", "usual"), read.read_word("mode", ("open",), "open"), read.read_texts("tools")) == (
        "usual",
        "open",
        (),
    )
    assert (read.read_flag("on"), read.read_count("people", 1), read.read_table("inner"), read.read_tables("rows")) == (
        False,
        1,
        None,
        [],
    )
    assert not read.findings


@pytest.mark.parametrize("value", ["", "  ", 7, None, ["a"]])
def test_a_text_that_is_empty_or_none_gives_the_default_and_a_finding(value: Any) -> None:
    read = table(id=value)
    assert read.read_text("id", "usual") == "usual"
    assert list_messages(read) == [(MALFORMED, ("rules", 2, "id"))]


@pytest.mark.parametrize("value", [0, 1001, -1, 1.0, True, "2"])
def test_a_count_is_a_whole_number_from_one_on(value: Any) -> None:
    read = table(people=value)
    assert read.read_count("people", 1) == 1
    assert list_messages(read) == [(MALFORMED, ("rules", 2, "people"))]


def test_only_true_and_false_are_flags() -> None:
    read = table(on=1)
    assert read.read_flag("on") is False
    assert list_messages(read) == [(MALFORMED, ("rules", 2, "on"))]


def test_each_wrong_member_of_a_list_is_noted_at_its_place_and_the_good_ones_stay() -> None:
    read = table(tools=["good", "", 7, "bad"])
    assert read.read_texts("tools", lambda text: "it is bad" if text == "bad" else None) == ("good",)
    assert list_messages(read) == [(MALFORMED, ("rules", 2, "tools", number)) for number in (1, 2, 3)]
    assert read.findings[-1].message == "'bad' cannot be used in `tools`: it is bad"


def test_a_word_nobody_knows_is_told_with_the_nearest() -> None:
    read = table(mode="opne", kinds=["function", "functoin"])
    assert read.read_word("mode", ("open", "closed"), "closed") == "closed"
    read.read_words("kinds", ("function", "file"))
    assert list_messages(read) == [(MALFORMED, ("rules", 2, "mode")), (MALFORMED, ("rules", 2, "kinds", 1))]
    assert [finding.hint for finding in read.findings] == ["did you mean 'open'?", "did you mean 'function'?"]


def test_an_unknown_key_is_noted_on_the_key_with_what_to_write() -> None:
    read = table(tool="x", tols="y", effect="z", other=1)
    read.refuse_unknown_keys(("tool", "decision"), {"effect": "write `decision`"})
    assert [finding.path[-1] for finding in read.findings] == ["tols", "effect", "other"]
    assert [finding.hint for finding in read.findings] == [
        "did you mean 'tool'?",
        "write `decision`",
        "known: decision, tool",
    ]
    assert all(finding.rule == UNKNOWN_KEY and finding.on_key for finding in read.findings)


def test_what_is_no_table_is_noted_and_left_out() -> None:
    read = table(inner=3, rows=[{"a": 1}, "b"], more={"a": 1})
    assert read.read_table("inner") is None
    assert [each.path[-1] for each in read.read_tables("rows")] == [0]
    assert read.read_tables("more") == []
    assert list_messages(read) == [(MALFORMED, ("rules", 2, *path)) for path in (("inner",), ("rows", 1), ("more",))]


def test_a_long_value_is_shown_in_part() -> None:
    findings: list[Finding] = []
    PolicyTable({"on": "x" * 500}, (), findings).read_flag("on")
    assert len(findings[0].message) < 120 and "…" in findings[0].message
