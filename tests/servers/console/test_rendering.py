"""How values become text: with units, cut, marked, and always escaped."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup, escape

from ferrule.servers.console.rendering import (
    ago,
    count,
    environment,
    initials,
    json_lines,
    line,
    normalize_json,
    part,
    pretty,
    query,
    took,
    when,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    "{{ 7 * 7 }}",
    "</script>",
    "&lt;",
)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(None, "–"), (0, "0 µs"), (49, "49 µs"), (50, "0.1 ms"), (9_949, "9.9 ms"), (142_000, "142 ms"), (999_499, "999 ms"),
     (999_500, "1.0 s"), (59_940_000, "59.9 s"), (59_950_000, "1 m 00 s"), (369_000_000, "6 m 09 s"),
     (11_520_000_000, "3 h 12 m"), (273_600_000_000, "3 d 4 h")],
)  # fmt: skip
def test_durations_have_their_unit(microseconds: float | None, text: str) -> None:
    assert took(microseconds) == text


@given(st.integers(min_value=0, max_value=10**16))
def test_any_duration_can_be_said(microseconds: int) -> None:
    assert re.fullmatch(r"\d+(\.\d)? (µs|ms|s)|\d+ [dhm] \d+ [hms]", took(microseconds))
    assert "60" not in took(microseconds).split(" ")[2:3]


def test_numbers_and_moments() -> None:
    assert (count(2604), count(0), count(1.5)) == ("2,604", "0", "1.5")
    assert (ago(None), ago(8_400_000), ago(360_000_000), ago(7_300_000_000)) == ("0 s", "8 s", "6 min", "2 h")
    assert when("2026-11-16T12:00:01Z") == (
        '<time datetime="2026-11-16T12:00:01Z" title="2026-11-16T12:00:01Z" data-local="time">12:00:01</time>'
    )
    assert when(None) == "–" and "2001-09-09 01:46:40 UTC" in when(1_000_000_000_000_000, "full")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_marked_json_is_the_same_json(value: Any) -> None:
    shown = pretty(value)
    bare = re.sub(r'</?span(?: class="[kns]")?>', "", shown)
    assert "<" not in bare and '"' not in bare
    assert unescape(bare) == json.dumps(value, indent=2, ensure_ascii=False)
    assert isinstance(shown, Markup) and len(json_lines(value)) == shown.count("\n") + 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    made = environment().from_string(
        '<b title="{{ t }}">{{ t }} {{ t | line }} {{ {t: t} | json }} {{ t | initials }}</b>'
    )
    shown = made.render(t=text)
    assert set(re.findall(r"<(/?\w+)", shown)) == {"b", "/b", "span", "/span"}
    assert re.findall(r"<b[^>]*>", shown) == [f'<b title="{escape(text)}">']
    assert "49" not in shown


def test_parts_of_addresses_are_quoted() -> None:
    assert part("a/b?c#d e") == "a%2Fb%3Fc%23d%20e"
    assert query(a="x&y", b="", c=None, d=7, e=False, f=["1", "2"]) == "?a=x%26y&d=7&f=1&f=2"
    assert query() == ""


def test_a_line_is_cut() -> None:
    assert line("x" * 200, 10) == "xxxxxxxxx…"
    assert line({"a": "é"}) == '{"a": "é"}'
    assert (initials("mara.k"), initials("ada"), initials(""), initials("<b> x")) == ("MK", "AD", "?", "<B")


def test_what_is_not_there_is_a_mistake() -> None:
    with pytest.raises(UndefinedError):
        environment().from_string("{{ nothing }}").render()


def test_written_json_is_read_in_one_way() -> None:
    assert normalize_json('{"a":1,"b":"bront\\u00eb"}') == '{"a": 1, "b": "brontë"}'
    assert normalize_json('{"cut": "of…') == '{"cut": "of…'


def test_a_query_says_nought_and_leaves_out_nothing() -> None:
    assert query(page=0, tool="", state=None, open=False, q="a b") == "?page=0&q=a+b"
