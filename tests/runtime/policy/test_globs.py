"""Globs over names and segments, against the plain way of matching them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.runtime.policy.globs import Segments, find_glob_defect, fits

parts = st.lists(st.sampled_from(["a", "b", "ab", "ba"]), max_size=6)
patterns = st.lists(st.sampled_from(["a", "b", "*", "a*", "**", "?"]), max_size=6)


def plainly(pattern: list[str], text: list[str], *, needs_more: bool) -> bool:
    if not pattern:
        return not text
    if pattern == ["**"]:
        return bool(text) or not needs_more
    if pattern[0] == "**":
        return any(plainly(pattern[1:], text[cut:], needs_more=needs_more) for cut in range(len(text) + 1))
    return bool(text) and fnmatchcase(text[0], pattern[0]) and plainly(pattern[1:], text[1:], needs_more=needs_more)


@given(patterns, parts, st.booleans())
def test_segments_fit_as_a_plain_search_says(pattern: list[str], text: list[str], needs_more: bool) -> None:
    assert Segments(pattern, needs_more=needs_more).fits(text) is plainly(pattern, text, needs_more=needs_more)


def test_many_stars_take_no_time() -> None:
    assert not Segments(["**", "a"] * 40 + ["x"]).fits(["a"] * 400)
    assert not fits(("*a" * 40 + "b",), "a" * 400)


@pytest.mark.parametrize("pattern", ["", " ", "[a", "x[", "[!", "a" * 2000])
def test_a_glob_that_means_nothing_is_told(pattern: str) -> None:
    assert find_glob_defect(pattern)


@pytest.mark.parametrize("pattern", ["a", "*", "[a]", "[]]", "[!]a]", "a[b]c[d]"])
def test_others_are_fine(pattern: str) -> None:
    assert find_glob_defect(pattern) is None
