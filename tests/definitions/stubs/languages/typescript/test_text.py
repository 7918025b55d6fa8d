"""Texts stay inside their quotes and comments in TypeScript."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.languages.typescript.text import comment, member_name, number, said, string


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("", '""'),
        ('say "hi"', "'say \"hi\"'"),
        ("it's", '"it\'s"'),
        ("'\"", '"\'\\""'),
        ("a\\b\n\u2028\x00\u202e", '"a\\\\b\\n\\u2028\\u0000\\u202e"'),
        ("\U0001f600 水 größe 20 °C → ½", '"\U0001f600 水 größe 20 °C → ½"'),
        ("\U0001f1e9\U0001f1ea", '"\\ud83c\\udde9\\ud83c\\uddea"'),
        ("\ud800", '"\\ud800"'),
        ("`${x}` */", '"`${x}` */"'),
    ],
)
def test_literals(text: str, literal: str) -> None:
    assert string(text) == literal


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a", "a"),
        ("user-id", '"user-id"'),
        ("2fa", '"2fa"'),
        ("größe", "größe"),
        ("", '""'),
        ("a\u200db", '"a\\u200db"'),
        ("\U0001f600", '"\U0001f600"'),
        ("größe in m²", '"größe in m²"'),
    ],
)
def test_names_of_members(name: str, written: str) -> None:
    assert member_name(name) == written


def test_numbers_are_written_as_they_are_held() -> None:
    assert [number(each) for each in (1, 1.0, -2.5, 1e-7, 1e300)] == ["1", "1", "-2.5", "1e-7", "1e300"]
    assert number(2**53) is None


def test_a_comment_ends_where_we_end_it() -> None:
    text = comment(said("*/ alert() /* @ts-ignore\n@ts-expect-error\n{@link x} a@b.c \u202e"))
    assert text.count("*/") == 1
    assert text.endswith("*/\n")
    assert " @ts-ignore" not in text
    assert "a@b.c" in text
    assert "\\u202e" in text


def test_long_descriptions_are_wrapped_and_long_words_are_not_cut() -> None:
    lines = comment(said("word " * 60 + "x" * 120)).splitlines()
    assert all(len(line) <= 80 for line in lines[:-2])
    assert lines[-2] == f" * {'x' * 120}"
