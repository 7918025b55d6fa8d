"""Live views on a terminal: the bar of one call, and a batch with one line per call, in place.

Loaded late, because it brings rich. `watching` and `batch_view` have the plain views for everything that is no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as Bars,
)
from rich.spinner import Spinner
from rich.table import Column, Table
from rich.text import Text

from ferrule.cli.show.batch_view import labels_of, told_of, word_of
from ferrule.cli.show.progress_text import STILL, facts_of, message_of, parts_of
from ferrule.model.progress import Progress

_EVERY = 0.1
"""Seconds between messages above the bar; of those in between the bar shows the last."""


class _Facts(ProgressColumn):
    """Percent, steps, bytes and lines, as far as the tool tells."""

    def render(self, task: Task) -> Text:
        """The latest."""
        return Text(task.fields["facts"], no_wrap=True)


class LiveBar:
    """Somebody at a terminal watches a call."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Bars(
            SpinnerColumn(),
            TextColumn(
                "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
            ),
            BarColumn(24),
            _Facts(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            expand=True,
        )
        self._task = self._bars.add_task("", total=None, facts="")
        self._said = ""
        self._next = 0.0

    def __enter__(self) -> LiveBar:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, invocation_id: str, words: str) -> None:
        """Show which call it is."""
        self._print(words, "dim")
        self._bars.update(self._task, description=invocation_id)

    def said(self, said: Progress) -> None:
        """Show how far it is; what is new in words goes above."""
        message = message_of(said)
        if message and message not in (self._said, STILL):
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _EVERY
                self._print(message)
            self._said = message
        for part in parts_of(said):
            self._print(part, "cyan")
        shown: dict[str, Any] = {}
        if said.percent is not None:
            shown |= {"total": 100.0, "completed": said.percent}
        if facts := ", ".join(facts_of(said)):
            shown["facts"] = facts
        self._bars.update(self._task, description=self._said or said.status.replace("_", " "), **shown)

    def note(self, words: str, facts: dict[str, Any]) -> None:
        """Show it above."""
        if words:
            self._print(words, "yellow")

    def _print(self, words: str, style: str = "") -> None:
        self._console.print(Text(words, style=style), soft_wrap=True)


@contextmanager
def spinner(words: str) -> Iterator[None]:
    """Turns while something is waited for."""
    with Console(stderr=True, highlight=False).status(Text(words)):
        yield


_STYLES = {"succeeded": "green", "running": "cyan", "queued": "dim", "waiting for approval": "yellow"}
_BUSY = ("running", "approved")
_FEW = 2
"""Lines that stay free on the terminal."""


class LiveBatch:
    """Somebody at a terminal watches a batch. What does not fit on the screen is counted; what goes on is shown first."""

    def __init__(self, names: Sequence[str]) -> None:
        self._labels = labels_of(names)
        self._states = ["planned"] * len(names)
        self._told = [""] * len(names)
        self._console = Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._drawn, console=self._console, transient=True, refresh_per_second=8)

    def __enter__(self) -> LiveBatch:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def states(self, states: Sequence[str]) -> None:
        """Show where each call stands."""
        self._states = list(states)

    def said(self, number: int, said: Progress) -> None:
        """Show how far it is."""
        if said.message != STILL or not self._told[number]:
            self._told[number] = told_of(said).removeprefix("running: ").removeprefix("running, ")

    def note(self, words: str) -> None:
        """Show it above."""
        self._console.print(Text(words, style="yellow"), soft_wrap=True)

    def _drawn(self) -> RenderableType:
        words = [word_of(state) for state in self._states]
        room = max(self._console.height - _FEW, 1)
        shown = self._chosen(words, room)
        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for number in shown:
            word, told = words[number], self._told[number]
            style = _STYLES.get(word, "red")
            is_busy = word in _BUSY
            table.add_row(
                self._spinner if is_busy else "",
                Text(self._labels[number]),
                Text(word, style=style),
                Text(told if is_busy else "", style="dim"),
            )
        hidden = len(words) - len(shown)
        return Group(table, Text(f"and {hidden} more", style="dim")) if hidden else table

    def _chosen(self, words: Sequence[str], room: int) -> list[int]:
        """The calls to show, in call order: those that go on before those that wait, those before what has ended."""
        if len(words) <= room:
            return list(range(len(words)))
        weight = {"queued": 1, **dict.fromkeys(_BUSY, 0), "waiting for approval": 0, "waiting for a person": 0}
        first = sorted(range(len(words)), key=lambda number: (weight.get(words[number], 2), number))
        return sorted(first[: max(room - 1, 1)])
