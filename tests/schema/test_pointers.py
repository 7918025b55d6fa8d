"""JSON Pointers: written, read, and followed into values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.schema.pointers import (
    escape_in_reference,
    escape_step,
    find_at,
    follow_steps,
    list_position,
    read_fragment,
    read_pointer,
    unescape_step,
    write_fragment,
    write_pointer,
)

VALUE: dict[str, Any] = {"a/b": [{"m~n": 1}, 2], "": {"0": "zero"}, "100%": True}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", VALUE),
        ("/a~1b/0/m~0n", 1),
        ("/a~1b/1", 2),
        ("//0", "zero"),
        ("/100%", True),
    ],
)
def test_a_pointer_leads_to_a_value(pointer: str, found: Any) -> None:
    end = find_at(VALUE, read_pointer(pointer))
    assert end is not None and end[0] == found


@pytest.mark.parametrize(
    "pointer", ["/a~1b/2", "/a~1b/00", "/a~1b/01", "/a~1b/-1", "/a~1b/+1", "/a~1b/²", "/x", "/a~1b/0/m~0n/a"]
)
def test_a_pointer_that_leads_nowhere_is_told_apart_from_null(pointer: str) -> None:
    assert find_at(VALUE, read_pointer(pointer)) is None


def test_a_path_says_positions_as_numbers_and_names_as_text() -> None:
    assert follow_steps(VALUE, ("a/b", "0", "m~n")) == (1, ("a/b", 0, "m~n"))
    assert follow_steps(VALUE, ("", "0")) == ("zero", ("", "0"))


def test_steps_are_followed_as_far_as_they_lead() -> None:
    assert follow_steps(VALUE, ("a/b", "0", "absent", "more")) == ({"m~n": 1}, ("a/b", 0))


@pytest.mark.parametrize(("step", "position"), [("0", 0), ("10", 10), ("1234567890", 1234567890)])
def test_a_position_is_read_with_all_of_its_digits(step: str, position: int) -> None:
    assert list_position(step) == position


@pytest.mark.parametrize("step", ["", "00", "07", "-1", "+1", " 1", "1 ", "١", "1_0", "9" * 5000])
def test_what_is_no_position_is_a_name(step: str) -> None:
    assert list_position(step) is None


@given(st.lists(st.one_of(st.text(), st.integers(0, 10**6))))
def test_a_path_comes_back_from_its_pointer_and_from_its_reference(path: list[str | int]) -> None:
    assert read_pointer(write_pointer(path)) == tuple(map(str, path))
    if all(sign < "\ud800" or sign > "\udfff" for step in path for sign in str(step)):
        assert read_fragment(write_fragment(path)[1:]) == tuple(map(str, path))


@given(st.text())
def test_a_step_comes_back(step: str) -> None:
    assert unescape_step(escape_step(step)) == step and "/" not in escape_step(step)


def test_percent_signs_of_a_step_are_escaped_in_a_reference() -> None:
    assert escape_in_reference("/a~b%20") == "~1a~0b%2520"
