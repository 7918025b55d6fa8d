"""Definitions are written in block style, and every YAML reader gets back what was written."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.compiler.compose import compose_all
from ferrule.definitions.compiler.read import split_front_matter
from ferrule.definitions.content.yaml_text import (
    Memo,
    append_cached_mapping,
    append_mapping,
    format_flow_item,
    format_line,
    format_text,
    format_yaml,
    join_front_matter,
)


def lines_of(value: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    append_mapping(value, 0, lines, {})
    return lines


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Lists pets", "Lists pets"),
        ("yes", '"yes"'),
        ("1.0", '"1.0"'),
        ("a: b", '"a: b"'),
        ('say "a: b"', "'say \"a: b\"'"),
        ("ends with a space ", '"ends with a space "'),
        ("\x07", '"\\u0007"'),
        ("\u2028", '"\\u2028"'),
        ("", '""'),
    ],
)
def test_a_text_is_quoted_only_where_it_must_be(text: str, written: str) -> None:
    assert format_line(text) == written
    assert yaml.safe_load(f"a: {written}") == {"a": text}


def test_a_text_of_several_lines_stays_as_it_is() -> None:
    assert format_text("one\n\n  two", 0) == "|-\n  one\n\n    two"
    assert format_text(" begins with a space\ntwo", 0).startswith('"')
    assert format_text("ends with a break\n", 0).startswith('"')


@pytest.mark.parametrize("item", ["a, b", "[x]", "true", "plain", "it's", 3, 0.5, None, True])
def test_a_value_in_a_list_on_one_line_is_read_as_it_was(item: Any) -> None:
    assert yaml.safe_load(f"[{format_flow_item(item)}]") == [item]


def test_a_mapping_of_everything_is_read_as_it_was() -> None:
    value = {
        "type": "object",
        "empty": {},
        "none": [],
        "on": "off",
        "words": ["x" * 100, "y" * 100],
        "items": [{"a": 1, "b": {"c": [1, 2]}}, {}, [1], "text", None],
        "say": "one\ntwo",
        "2": -1.5,
        "nested": {"type": "string", "description": "A: b."},
    }
    text = "\n".join(lines_of(value)) + "\n"
    assert yaml.safe_load(text) == value
    assert compose_all(text)[0].value == value


def test_a_mapping_that_many_files_share_is_written_once_for_each_depth() -> None:
    memo: Memo = {}
    shared = {"type": "string"}
    lines: list[str] = []
    append_cached_mapping(shared, 1, lines, memo)
    append_cached_mapping(shared, 1, lines, memo)
    append_cached_mapping(shared, 2, lines, memo)
    assert lines == ["  type: string", "  type: string", "    type: string"]
    assert len(memo) == 2


def test_the_body_stands_below_the_front_matter() -> None:
    assert split_front_matter(join_front_matter(["a: 1"], "# Notes\nHalf \ud800.\n")) == (
        "a: 1\n",
        "\n# Notes\nHalf \ufffd.\n",
    )
    assert join_front_matter(["a: 1"], " ") == "---\na: 1\n---\n"


TEXTS = st.text(max_size=8) | st.sampled_from(
    ["yes", "~", "1e3", "012", "- a", "a: b", "#", "", "\u2028", "\x7f", "k" * 200]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4).filter(bool))
def test_both_readers_get_back_what_was_written(value: dict[str, Any]) -> None:
    text = format_yaml(value)
    assert compose_all(text)[0].value == value
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"name": "x", "no": 1, "a b": True}, 'name: x\n"no": 1\n"a b": true\n'),
        ({"a": {"b": [1, {"c": None, "d": 2}]}}, "a:\n  b:\n    - 1\n    - c: null\n      d: 2\n"),
        ({"a": [[1, 2], [], {}]}, "a:\n  - - 1\n    - 2\n  - []\n  - {}\n"),
        ({"a": 1e30, "b": 1.5e-7, "c": [[1e30]]}, "a: 1.0e+30\nb: 1.5e-07\nc:\n  - - 1.0e+30\n"),
        ({"k" * 161: 1, "a": {"k" * 161: "x"}}, f'? "{"k" * 161}"\n: 1\na:\n  ? "{"k" * 161}"\n  : x\n'),
        ({"a": "\u2028\x7f"}, 'a: "\\u2028\\u007f"\n'),
        ({"a": "half \ud800"}, 'a: "half \\ud800"\n'),
    ],
)
def test_a_value_is_laid_out_so(value: dict[str, Any], text: str) -> None:
    assert format_yaml(value) == text
    assert yaml.safe_load(text) == value
