"""The live view of a batch on a terminal: one line per call, in place."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ferrule.cli.show.batch_view import labels_of, told_of, word_of
from ferrule.cli.show.progress_text import STILL
from ferrule.model.progress import Progress

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
