"""Regular expressions that ECMA-262 takes, and those it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.schema.validation.ecma import pattern_defect


@pytest.mark.parametrize(
    "pattern",
    ["a++", "(?i)a", "(?>a)", "*a", "[z-a]", "a{2,1}", "[\\--+]", "(", "a)", "\\", "(?<a>x)\\k<b>", "^*", "{1}", "[a"],
)
def test_what_is_no_ecma_pattern(pattern: str) -> None:
    assert pattern_defect(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "[]",
        "[^]",
        "[[]",
        "a{",
        "{a}",
        "a{,3}",
        "(?=a)*",
        "[\\w-.]",
        "[b\\-a]",
        "[b\\-\\-a]",
        "]",
        "}",
        "[😀-😎]",
        "(?<!a)b",
        "\\k",
    ],
)
def test_what_is_an_odd_ecma_pattern(pattern: str) -> None:
    assert pattern_defect(pattern) is None


@given(st.text(alphabet="ab()[]{}*+?|^$\\-,<>!=:kp0129", max_size=20))
def test_any_text_is_scanned_without_a_crash(pattern: str) -> None:
    pattern_defect(pattern)
