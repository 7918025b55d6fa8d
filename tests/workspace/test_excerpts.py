"""Lines of definitions for people: marked, cut, made visible, and without secrets."""

from __future__ import annotations

import pytest

from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.workspace.excerpts import MASK, build_excerpt, mask_lines

SECRET = "sk-live-abcdefgh12345678"


def at(line: int, column: int = 1, end_column: int = 1, rule: str = "AML-1", end_line: int = 0) -> Diagnostic:
    return Diagnostic(rule, Severity.ERROR, "", "f", line, column, end_line or line, end_column, "wrong")


def shown(text: str, found: Diagnostic, *secret: Diagnostic) -> dict[int, str]:
    return {line.number: line.text for line in build_excerpt(mask_lines(text, secret), found)}


def test_the_line_is_marked_with_a_few_around_it() -> None:
    text = "\n".join(f"key{number}: value" for number in range(1, 20))
    lines = build_excerpt(mask_lines(text, ()), at(10, 1, 6))
    assert [line.number for line in lines] == [7, 8, 9, 10, 11, 12]
    (marked,) = [line for line in lines if line.start is not None]
    assert (marked.number, marked.text[marked.start : marked.end]) == (10, "key10")
    assert build_excerpt(mask_lines(text, ()), at(99)) == []


def test_long_lines_are_cut_around_the_mark() -> None:
    text = "a" * 1000 + "WRONG" + "b" * 1000
    (line,) = build_excerpt(mask_lines(text, ()), at(1, 1001, 1006))
    assert len(line.text) < 220
    assert line.text[line.start : line.end] == "WRONG"


def test_tricks_of_writing_become_visible() -> None:
    assert shown("a\u202eb\x1b[31m\tc", at(1))[1] == "a\ufffdb\u241b[31m    c"
    (line,) = build_excerpt(mask_lines("\tkey: x", ()), at(1, 2, 5))
    assert line.text[line.start : line.end] == "key"


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: {SECRET}",
        f'  "password": "{SECRET}",',
        f'{{"a": 1, "clientSecret": "{SECRET}", "b": 2}}',
        f"url: https://user:{SECRET}@host.example/x",
        f"note: use {SECRET} for now",
        f"- token: '{SECRET}'",
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    (line,) = shown(text, at(1)).values()
    assert SECRET not in line
    assert MASK in line


def test_what_only_names_a_secret_is_kept() -> None:
    for text in (
        "token: ${TOKEN}",
        "max_tokens: 5",
        "api_key:",
        "secret_arn: arn:aws:x",
        "description: a password is needed",
    ):
        assert shown(text, at(1))[1] == text


def test_where_a_rule_found_a_secret_all_of_it_goes() -> None:
    text = "auth:\n  value: |\n    first of it\n    second of it\n  next: kept\nlast: kept"
    found = at(2, 3, 8, "AML-71")
    lines = shown(text, found, found)
    assert lines == {1: "auth:", 2: f"  value: {MASK}", 3: f"    {MASK}", 4: f"    {MASK}"}
    assert shown(text, at(5), found)[5] == "  next: kept"
