"""Carets stand under the text they speak of, whatever the line is made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.reporters.excerpt import count_columns, cut_excerpt, sanitize


def test_a_plain_word_is_underlined_exactly() -> None:
    shown = cut_excerpt("name: wrong # why", 7, 12)
    assert (shown.text, shown.indent, shown.carets) == ("name: wrong # why", 6, 5)


def test_a_tab_takes_the_columns_it_is_shown_with() -> None:
    shown = cut_excerpt("\tname: x", 8, 9)
    assert shown.text == "    name: x"
    assert shown.indent == 10


def test_wide_characters_take_two_columns() -> None:
    assert cut_excerpt("名前: x", 5, 6).indent == 6
    assert cut_excerpt("名前: x", 1, 3).carets == 4


def test_combining_marks_take_none() -> None:
    assert cut_excerpt("e\u0301e\u0301 x", 6, 7).indent == 3


def test_a_place_without_extent_gets_one_caret() -> None:
    assert cut_excerpt("name", 1, 1).carets == 1
    assert cut_excerpt("", 1, 1).carets == 1
    assert cut_excerpt("name", 99, 120).carets == 1


def test_a_long_line_is_cut_around_the_place() -> None:
    shown = cut_excerpt("a" * 500 + "HERE" + "b" * 500, 501, 505, width=60)
    assert shown.text.startswith("…") and shown.text.endswith("…")
    assert shown.text[shown.indent : shown.indent + shown.carets] == "HERE"
    assert len(shown.text) <= 62


def test_a_stretch_longer_than_the_window_keeps_its_beginning_in_view() -> None:
    shown = cut_excerpt("x: " + "v" * 5000, 4, 5004, width=60)
    assert shown.indent < 60
    assert shown.indent + shown.carets <= 62


def test_terminal_controls_are_made_visible() -> None:
    assert "\x1b" not in cut_excerpt("a\x1b[31mb", 1, 2).text
    assert sanitize("two\nlines\x1b[0m\x07\x9b") == "two lines␛[0m␇\ufffd"


@given(
    st.text(alphabet=st.characters(exclude_characters="\n"), max_size=400), st.integers(-5, 500), st.integers(-5, 500)
)
def test_property_any_line_and_place_gives_a_printable_excerpt_with_its_carets_in_view(
    line: str, column: int, end: int
) -> None:
    shown = cut_excerpt(line, column, end, width=80)
    assert shown.text.isprintable()
    assert shown.carets >= 1
    assert shown.indent <= 82
    assert count_columns(shown.text) <= 84
