"""Redraws a few lines at the end of a terminal in place, with messages above them.

It draws on standard error, and sanitizes every text.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from shutil import get_terminal_size
from types import TracebackType
from typing import NamedTuple

from ferrule.cli.show.output import has_colour
from ferrule.definitions.reporters.excerpt import ELLIPSIS, count_columns, sanitize

_EVERY = 0.1
"""Seconds from one drawing to the next."""
_HIDE_CURSOR, _SHOW_CURSOR, _CLEAR, _PLAIN = "\x1b[?25l", "\x1b[?25h", "\x1b[J", "\x1b[0m"
_STYLES = {"dim": "\x1b[2m", "red": "\x1b[31m", "green": "\x1b[32m", "yellow": "\x1b[33m", "cyan": "\x1b[36m"}
_TURNS = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")


class StyledText(NamedTuple):
    """A part of a line, in a style or in none."""

    text: str
    style: str = ""


class DrawingSpace(NamedTuple):
    """The space of one drawing."""

    width: int
    height: int
    spinner: str
    """The character that turns."""


Draw = Callable[[DrawingSpace], Sequence[Sequence[StyledText]]]


class Screen:
    """The last lines of a terminal. A context manager: its drawing is erased at the end."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._is_coloured = has_colour(sys.stderr)
        self._turns = _TURNS[not can_write(_TURNS[0])]
        self._turn = count()
        self._drawn = 0
        """Lines that stand there now."""
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ferrule-screen", daemon=True)

    def __enter__(self) -> Screen:
        with self._lock:
            self._write(_HIDE_CURSOR + self._redraw())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        with self._lock:
            self._write(self._erase() + _SHOW_CURSOR)

    def say(self, words: str, style: str = "") -> None:
        """Writes a line above what is drawn; it stays."""
        with self._lock:
            self._write(f"{self._erase()}{self._style(StyledText(sanitize(words), style))}\n{self._redraw()}")

    def _run(self) -> None:
        while not self._is_over.wait(_EVERY):
            with self._lock:
                self._write(self._erase() + self._redraw())

    def _redraw(self) -> str:
        width, height = terminal_size()
        # One column less: a line that the terminal wraps is two, and `_erase` would go up too few.
        room = DrawingSpace(width - 1, height, self._turns[next(self._turn) % len(self._turns)])
        lines = [self._line(pieces, room.width) for pieces in self._draw(room)]
        self._drawn = len(lines)
        return "\n".join(lines)

    def _erase(self) -> str:
        up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
        self._drawn = 0
        return f"\r{up}{_CLEAR}"

    def _line(self, pieces: Sequence[StyledText], width: int) -> str:
        shown = []
        for text, style in pieces:
            fitted = fit(text, width)
            width -= count_columns(fitted)
            shown.append(self._style(StyledText(fitted, style)))
        return "".join(shown)

    def _style(self, piece: StyledText) -> str:
        style = _STYLES.get(piece.style, "") if self._is_coloured else ""
        return f"{style}{piece.text}{_PLAIN}" if style else piece.text

    def _write(self, text: str) -> None:
        with suppress(OSError):  # nobody looks any more
            sys.stderr.write(text)
            sys.stderr.flush()


def fit(text: str, width: int) -> str:
    """Returns a text that takes at most so many columns, with an ellipsis in place of the rest."""
    if count_columns(text) <= width:
        return text
    while text and count_columns(text) >= width:
        text = text[:-1]
    return text + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Returns a text that takes at least so many columns."""
    return text + " " * (width - count_columns(text))


def terminal_size() -> os.terminal_size:
    """Returns the size of the terminal behind standard error, unless COLUMNS and LINES say another."""
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    said = get_terminal_size((80, 24))  # this asks standard output, which may be a file
    width = said.columns if "COLUMNS" in os.environ else size.columns
    height = said.lines if "LINES" in os.environ else size.lines
    return os.terminal_size((width or 80, height or 24))  # a terminal that knows no size says 0


def can_write(characters: str) -> bool:
    """True when standard error can show these characters."""
    try:
        characters.encode(sys.stderr.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
