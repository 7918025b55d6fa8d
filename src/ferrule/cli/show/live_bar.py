"""The live bar of one call on a terminal: how far it is at the bottom, what it said above."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console
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
from rich.table import Column
from rich.text import Text

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
