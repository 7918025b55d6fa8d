"""Live views on a terminal: the bar of one call, and a batch with one line per call, in place.

`watching` and `batch_view` have the plain views for everything that is no terminal; `screen` draws.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from ferrule.cli.show.batch_view import describe_record, describe_state, make_labels
from ferrule.cli.show.progress_text import STILL, facts_of, message_of, parts_of
from ferrule.cli.show.screen import DrawingSpace, Screen, StyledText, can_write, fit, pad
from ferrule.definitions.reporters.excerpt import count_columns
from ferrule.model.progress import Progress
from ferrule.model.value import JsonObject

_EVERY = 0.1
"""Seconds between messages above the bar; of those in between the bar shows the last."""
_BAR = 24
_NARROW = 20
"""Columns that words keep beside the bar; on a narrower terminal the bar goes."""


class LiveBar:
    """The view of a call on a terminal."""

    def __init__(self) -> None:
        self._screen = Screen(self._draw)
        self._began = time.monotonic()
        self._words = ""
        self._percent: float | None = None
        self._facts = ""
        self._said = ""
        self._next = 0.0
        self._full, self._empty = ("━", "─") if can_write("━─") else ("#", "-")

    def __enter__(self) -> LiveBar:
        self._screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._screen.__exit__(kind, error, trace)

    def begin(self, invocation_id: str, words: str) -> None:
        """Shows the call's id."""
        self._screen.say(words, "dim")
        self._words = invocation_id

    def show_progress(self, said: Progress) -> None:
        """Shows the progress; new messages go above the bar."""
        message = message_of(said)
        if message and message not in (self._said, STILL):
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _EVERY
                self._screen.say(message)
            self._said = message
        for part in parts_of(said):
            self._screen.say(part, "cyan")
        if said.percent is not None:
            self._percent = said.percent
        self._facts = ", ".join(facts_of(said)) or self._facts
        self._words = self._said or said.status.replace("_", " ")

    def note(self, words: str, facts: JsonObject) -> None:
        """Show it above."""
        if words:
            self._screen.say(words, "yellow")

    def _draw(self, room: DrawingSpace) -> list[list[StyledText]]:
        seconds = int(time.monotonic() - self._began)
        end = f" {self._facts} {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        left = room.width - 2 - count_columns(end)
        is_wide = left >= _NARROW + _BAR
        words = max(left - _BAR - 1 if is_wide else left, _NARROW)
        line = [StyledText(f"{room.spinner} ", "green"), StyledText(pad(fit(self._words, words), words))]
        if is_wide:
            full = round(_BAR * min(max(self._percent or 0.0, 0.0), 100.0) / 100)
            line += [StyledText(f" {self._full * full}", "cyan"), StyledText(self._empty * (_BAR - full), "dim")]
        return [[*line, StyledText(end)]]


@contextmanager
def show_spinner(words: str) -> Iterator[None]:
    """Draws a spinner during a wait."""
    with Screen(lambda room: [[StyledText(f"{room.spinner} ", "green"), StyledText(words)]]):
        yield


_STYLES = {"succeeded": "green", "running": "cyan", "queued": "dim", "waiting for approval": "yellow"}
_BUSY = ("running", "approved")
_FEW = 2
"""Lines that stay free on the terminal."""


class LiveBatch:
    """The view of a batch on a terminal. Running calls come first; those that do not fit are counted."""

    def __init__(self, names: Sequence[str]) -> None:
        self._labels = make_labels(names)
        self._states = ["planned"] * len(names)
        self._told = [""] * len(names)
        self._screen = Screen(self._draw)

    def __enter__(self) -> LiveBatch:
        self._screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._screen.__exit__(kind, error, trace)

    def show_states(self, states: Sequence[str]) -> None:
        """Shows the state of each call."""
        self._states = list(states)

    def show_progress(self, number: int, said: Progress) -> None:
        """Shows a call's progress."""
        if said.message != STILL or not self._told[number]:
            self._told[number] = describe_record(said).removeprefix("running: ").removeprefix("running, ")

    def note(self, words: str) -> None:
        """Show it above."""
        self._screen.say(words, "yellow")

    def _draw(self, room: DrawingSpace) -> list[list[StyledText]]:
        words = [describe_state(state) for state in self._states]
        shown = self._choose_calls(words, max(room.height - _FEW, 1))
        width = max((count_columns(words[number]) for number in shown), default=0)
        lines = [self._line(number, words[number], width, room.spinner) for number in shown]
        hidden = len(words) - len(shown)
        return [*lines, [StyledText(f"and {hidden} more", "dim")]] if hidden else lines

    def _line(self, number: int, word: str, width: int, turning: str) -> list[StyledText]:
        is_busy = word in _BUSY
        return [
            StyledText(f"{turning if is_busy else ' '} {self._labels[number]} "),
            StyledText(pad(word, width), _STYLES.get(word, "red")),
            StyledText(f" {self._told[number]}" if is_busy else "", "dim"),
        ]

    def _choose_calls(self, words: Sequence[str], room: int) -> list[int]:
        """Returns the calls to show, in call order: running ones have priority over waiting ones, those over ended ones."""
        if len(words) <= room:
            return list(range(len(words)))
        weight = {"queued": 1, **dict.fromkeys(_BUSY, 0), "waiting for approval": 0, "waiting for a person": 0}
        first = sorted(range(len(words)), key=lambda number: (weight.get(words[number], 2), number))
        return sorted(first[: max(room - 1, 1)])
