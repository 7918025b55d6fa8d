"""Patterns mean what they mean in ECMAScript."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.languages.python.support.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("a$", "a\n", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\u2003", True),
        (r"^[^\S]$", "\ufeff", True),
        (r"(?<a-b>", "x", True),
        (r"(?<$a>x)\k<$a>", "xx", True),
        (r"(x)\1", "xx", True),
        (r"\cJ", "\n", True),
        (r"\0", "\x00", True),
        (r"[\b]", "\x08", True),
        (r"\ud83d\ude00", "\U0001f600", True),
        (r"\a\e\q", "aeq", True),
        (r"[[a]", "[", True),
        (r"[a&&b]", "&", True),
        (r"[]", "a", False),
        (r"a{", "a{", True),
        (r"x{2}", "xx", True),
        (r"[\d-x]", "-", True),
        (r"[+--]", ",", True),
        (r"\p{Script=Greek}", "not checked", True),
        (r"(?<=a+)b", "not checked", True),
        (r"^\p{Lu}$", "a", False),
        (r"^\B$", "", True),
        (r"^\p{General_Category=Decimal_Number}$", "٣", True),
    ],
)
def test_patterns_are_those_of_ecmascript(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match
