"""Patterns are matched in time that grows with the text, and with the same outcome."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.stubs.languages.python.support.machines import BeyondError, Machine, Reader
from ferrule.definitions.stubs.languages.python.support.patterns import Translation, matches


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("^(a+)+$", "a" * 5_000 + "!", False),
        ("^(a+)+$", "a" * 5_000, True),
        ("^(a|a)*$", "a" * 5_000 + "!", False),
        ("^(a|ab)*?c(?:d{2,}){2}$", "aab" * 500 + "cddddd", True),
        ("a?" * 40 + "a" * 40, "a" * 39, False),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5_000, False),
        (r"^\s*(.*)\s*(.*)\s*x$", " " * 5_000, False),
        ("a+b", "a" * 50_000, False),
        (r"^(\b\w+\b\s?)*$", "word " * 500 + "!", False),
        (r"^(?<word>[^\d\s]+\B.)+$", "wörter" * 200, True),
        ("^(a{0,200}){0,200}$", "not checked", True),
    ],
)
def test_no_pattern_takes_longer_than_its_text(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match


_ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", "^", "$", r"\b", r"\B", "(?:)", "[]"])


_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{0,}", "{2,}?"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        )
    ),
    max_leaves=7,
)


@given(_PATTERNS, st.lists(st.text("ab _\n", max_size=6), min_size=1, max_size=4))
def test_both_ways_to_match_a_pattern_agree(pattern: str, texts: list[str]) -> None:
    pieces = Translation(pattern).pieces()
    expression, machine = re.compile("".join(pieces)), Machine(Reader(pieces).whole())
    for text in texts:
        assert machine.finds(text) is (expression.search(text) is not None), (pattern, text)


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)a", "(?<!b)a", "(?i:a)", "(?<n>a)\\k<n>", "a*+"])
def test_patterns_that_need_more_stay_with_python(pattern: str) -> None:
    with pytest.raises(BeyondError):
        Reader(Translation(pattern).pieces()).whole()
    assert matches(pattern, "aaa")
