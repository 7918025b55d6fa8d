"""Views of a running call on standard error: a live bar on a terminal, else a line for each record, or JSON lines.

Standard output has the answer, and nothing else, as without a view.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

import msgspec

from ferrule.cli.show.progress_text import progress_line
from ferrule.model.progress import Progress
from ferrule.model.value import JsonObject


class View(Protocol):
    """A view of a running call. A context manager: its drawing is erased at the end."""

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, invocation_id: str, words: str) -> None:
        """Shows the call's id, and a sentence about it."""

    def show_progress(self, said: Progress) -> None:
        """Shows a progress record."""

    def note(self, words: str, facts: JsonObject) -> None:
        """Shows a note: in words for people, as JSON for programs."""


class PlainView:
    """Prints a line for each record."""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Erases nothing: nothing was drawn."""

    def begin(self, invocation_id: str, words: str) -> None:
        """Prints the call's id."""
        _write(words)

    def show_progress(self, said: Progress) -> None:
        """Prints the progress."""
        _write(progress_line(said))

    def note(self, words: str, facts: JsonObject) -> None:
        """Prints a note."""
        if words:
            _write(words)


class JsonView(PlainView):
    """Prints JSON lines: the id first, then the standard's `tool_progress` records, then notes."""

    def begin(self, invocation_id: str, words: str) -> None:
        """Prints the call's id."""
        self._json({"invocation_id": invocation_id})

    def show_progress(self, said: Progress) -> None:
        """Prints the record."""
        self._json(said.to_record())

    def note(self, words: str, facts: JsonObject) -> None:
        """Prints the note for programs."""
        self._json(facts)

    def _json(self, record: JsonObject) -> None:
        _write(msgspec.json.encode(record).decode())


def choose_view(as_json: bool) -> View:
    """Returns the view for a person or a program."""
    if as_json:
        return JsonView()
    if not is_watched():
        return PlainView()
    from ferrule.cli.show.live import LiveBar

    return LiveBar()


def is_watched() -> bool:
    """True when standard error is a terminal that can draw."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def show_waiting(words: str, is_quiet: bool) -> AbstractContextManager[Any]:
    """Shows a spinner during a wait, on a terminal."""
    if is_quiet or not is_watched():
        return PlainView()
    from ferrule.cli.show.live import show_spinner

    return show_spinner(words)


async def show_all(progress: AsyncIterator[Progress], view: View) -> None:
    """Shows every record as it comes."""
    async for said in progress:
        view.show_progress(said)


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
