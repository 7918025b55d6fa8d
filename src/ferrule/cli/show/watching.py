"""How a call is watched on standard error: a live bar on a terminal, else a line for each record, or JSON lines.

Standard output stays what it is without watching: the answer, and nothing else.
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


class View(Protocol):
    """Somebody who watches a call. A context manager: whatever it draws is gone when it ends."""

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def begin(self, invocation_id: str, words: str) -> None:
        """The call's id, and a sentence about it."""

    def show_progress(self, said: Progress) -> None:
        """A record of its progress."""

    def note(self, words: str, facts: dict[str, Any]) -> None:
        """Something else to know: in words, if people have to be told, and for programs."""


class PlainView:
    """A line for each record."""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was drawn."""

    def begin(self, invocation_id: str, words: str) -> None:
        """Say which call it is."""
        _write(words)

    def show_progress(self, said: Progress) -> None:
        """Say how far it is."""
        _write(progress_line(said))

    def note(self, words: str, facts: dict[str, Any]) -> None:
        """Say it."""
        if words:
            _write(words)


class JsonView(PlainView):
    """JSON lines: the id first, then the standard's `tool_progress` records, then whatever else there is to know."""

    def begin(self, invocation_id: str, words: str) -> None:
        """Say which call it is."""
        self._json({"invocation_id": invocation_id})

    def show_progress(self, said: Progress) -> None:
        """Give the record."""
        self._json(said.to_record())

    def note(self, words: str, facts: dict[str, Any]) -> None:
        """Give what programs want to know."""
        self._json(facts)

    def _json(self, record: dict[str, Any]) -> None:
        _write(msgspec.json.encode(record).decode())


def choose_view(as_json: bool) -> View:
    """The view that fits whoever watches."""
    if as_json:
        return JsonView()
    if not is_watched():
        return PlainView()
    from ferrule.cli.show.live import LiveBar

    return LiveBar()


def is_watched() -> bool:
    """True when a person looks at standard error, on a terminal that can draw."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def show_waiting(words: str, is_quiet: bool) -> AbstractContextManager[Any]:
    """Shows that something is waited for, if a person looks."""
    if is_quiet or not is_watched():
        return PlainView()
    from ferrule.cli.show.live import show_spinner

    return show_spinner(words)


async def show_all(progress: AsyncIterator[Progress], view: View) -> None:
    """Show every record as it comes."""
    async for said in progress:
        view.show_progress(said)


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
