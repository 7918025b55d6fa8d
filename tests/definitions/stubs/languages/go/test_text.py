"""Literals, comments and align_columns of Go."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from ferrule.definitions.stubs.languages.go.project import write_module
from ferrule.definitions.stubs.languages.go.text import align_columns, quote, quote_json, write_comment
from tests.definitions.stubs.languages.toolchains import gofmt

_LINES = (
    "# x", "Heading", "- a", "  in", "1. b", "[l]: http://x.example/z", "``q''", "", "+build x", "}", "{", "text.", "func x() {",
    "\ttab", "'''", "A B c", "* s", "• u", "http://a.example/c", "[a]", "a\\", "é É", "Über", "X's", "X 's", "\u2028", "go:x",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain", '"plain"'),
        ('"\\', '"\\"\\\\"'),
        ("\n\t\r\x00\x7f", '"\\n\\t\\r\\u0000\\u007f"'),
        ("é\u202e\U0001f600\U000e0001", '"é\\u202e\U0001f600\\U000e0001"'),
        ("Grüße,\u00a0日本 \ufeff", '"Grüße,\\u00a0日本 \\ufeff"'),
        ("`${x}`", '"`${x}`"'),
    ],
)
def test_a_literal_can_be_read_and_ends_where_it_should(text: str, literal: str) -> None:
    assert quote(text) == literal


def test_json_is_a_raw_literal_without_backticks() -> None:
    raw = msgspec.Raw(msgspec.json.encode({"`": "é\U0001f600\u2028"}))
    assert quote_json(raw) == '`{"\\u0060":"é\U0001f600\\u2028"}`'
    assert msgspec.json.decode(quote_json(raw).strip("`")) == {"`": "é\U0001f600\u2028"}


def test_no_words_end_a_comment() -> None:
    lines = write_comment(["a\nb\r\nc\u2028d\x85e\x0bf\x00\u202e"])
    assert lines == ["// a", "// b", "// c", "// d", "// e", "// f\\u0000\\u202e"]


def test_random_comments_and_columns_are_left_alone_by_gofmt(tmp_path: Path) -> None:
    chance = Random(3)
    lines = ["package x", ""]
    for number in range(300):
        words = "\n".join(chance.choice(_LINES) for _ in range(chance.randint(1, 8)))
        lines += [*write_comment([f"T{number} is one.", words]), f"type T{number} struct {{"]
        cells = chance.choice([2, 3, 3])
        for run in range(chance.randint(1, 3)):
            rows = [
                [
                    f"F{run}{at}" + "x" * chance.randint(0, 9),
                    chance.choice(["int", "map[string]any", "*é"]),
                    '`json:"a"`',
                ]
                for at in range(chance.randint(1, 6))
            ]
            lines += [
                *write_comment([f"{run} {chance.choice(_LINES)}"] if run else [], "\t"),
                *align_columns([row[:cells] for row in rows]),
            ]
        lines += ["}", ""]
    (tmp_path / "x.go").write_text("\n".join(lines[:-1]) + "\n")
    assert gofmt().run("-d", ".", cwd=tmp_path) == ""


@pytest.mark.parametrize(
    ("said", "written"), [("1.24", "1.24"), ("1.24.3", "1.24.3"), ("1.18", "1.24"), ("", "1.24"), ("1.26\nx", "1.24")]
)
def test_the_module_is_of_the_version_that_the_agent_names_if_that_can_compile_it(said: str, written: str) -> None:
    assert write_module("shop.example/clerk", said).text == f"module shop.example/clerk\n\ngo {written}\n"
