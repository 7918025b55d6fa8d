"""What is drawn at the end of a terminal: in its place, never wider than it, and gone in the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.cli.show.screen import Screen, StyledText, fit, pad
from ferrule.definitions.reporters.excerpt import count_columns


def rows_of(written: str) -> list[str]:
    """The rows of a terminal that was sent this."""
    rows, row, column, at = [""], 0, 0, 0
    while at < len(written):
        if written.startswith("\x1b[", at):
            end = next(place for place in range(at + 2, len(written)) if written[place].isalpha())
            if written[end] == "A":
                row -= int(written[at + 2 : end])
            elif written[end] == "J":
                rows[row:] = [rows[row][:column]]
            at = end + 1
            continue
        letter = written[at]
        at += 1
        if letter == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif letter == "\r":
            column = 0
        else:
            rows[row] = rows[row][:column].ljust(column) + letter + rows[row][column + 1 :]
            column += 1
    return rows


def test_what_is_said_stays_and_what_is_drawn_is_gone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    drawn = [["one"], ["two"], ["three"]]
    with Screen(lambda room: [[StyledText(text) for text in line] for line in drawn]) as screen:
        assert rows_of(capsys.readouterr().err) == ["one", "two", "three"]
        screen.say("first")
        drawn.pop()
        screen.say("second", "yellow")
        drawn[0] = ["a line that is longer than the terminal"]
        screen.say("\x1b[2Jthird")
    written = capsys.readouterr().err
    assert rows_of("one\ntwo\nthree" + written) == ["first", "second", "␛[2Jthird", ""]
    assert "a line that is lon…" in written and "longer" not in written
    assert written.endswith("\x1b[J\x1b[?25h"), "the cursor is back"


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Mn"])), st.integers(0, 30))
def test_a_text_is_made_to_fit(text: str, width: int) -> None:
    assert count_columns(fit(text, width)) <= width
    assert count_columns(pad(fit(text, width), width)) == width
    if count_columns(text) <= width:
        assert fit(text, width) == text
