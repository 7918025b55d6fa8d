"""Views of a running batch: one line per call that changes in place on a terminal, else a line for each change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from ferrule.cli.show.progress_text import facts_of, message_of, parts_of
from ferrule.definitions.reporters.excerpt import sanitize
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result

_WORDS = {
    "planned": "queued",
    "selected": "queued",
    "arguments_ready": "queued",
    "queued": "queued",
    "awaiting_approval": "waiting for approval",
    "needs_input": "waiting for a person",
    "approved": "approved",
    "running": "running",
    "partial_result": "running",
    "yielded": "running",
    "synthetic_error": "stopped",
}


class BatchView(Protocol):
    """A view of a running batch. A context manager: its drawing is erased at the end."""

    def __enter__(self) -> BatchView: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show_states(self, states: Sequence[str]) -> None:
        """Shows the state of each call."""

    def show_progress(self, number: int, said: Progress) -> None:
        """Shows a call's progress."""

    def note(self, words: str) -> None:
        """Shows a note."""


class PlainBatch:
    """Prints a line for each change."""

    def __init__(self, names: Sequence[str]) -> None:
        self._labels = make_labels(names)
        self._seen = [""] * len(names)

    def __enter__(self) -> PlainBatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Erases nothing: nothing was drawn."""

    def show_states(self, states: Sequence[str]) -> None:
        """Prints the changes of state."""
        for number, state in enumerate(states):
            word = describe_state(state)
            if word != self._seen[number]:
                self._seen[number] = word
                self._write(number, word)

    def show_progress(self, number: int, said: Progress) -> None:
        """Prints the progress."""
        self._seen[number] = "running"
        self._write(number, describe_record(said))

    def note(self, words: str) -> None:
        """Prints a note."""
        _write(words)

    def _write(self, number: int, words: str) -> None:
        _write(f"{self._labels[number]}  {words}")


class QuietBatch(PlainBatch):
    """Prints nothing: programs read the results."""

    def _write(self, number: int, words: str) -> None:
        """Writes nothing."""


def describe_state(state: str) -> str:
    """Describes a state for a person who waits; an ended call's state by its own word."""
    return _WORDS.get(state, state.replace("_", " "))


def describe_record(said: Progress) -> str:
    """Describes a record on one line."""
    told = [text for text in (message_of(said), *parts_of(said)) if text]
    facts = ", ".join([said.status.replace("_", " "), *facts_of(said)])
    return f"{facts}: {'; '.join(told)}" if told else facts


def make_labels(names: Sequence[str]) -> list[str]:
    """Makes aligned labels of numbers and names."""
    shown = [sanitize(name[:40]) for name in names]
    width = max(map(len, shown), default=0)
    digits = len(str(max(len(names) - 1, 0)))
    return [f"{number:>{digits}}  {name:<{width}}" for number, name in enumerate(shown)]


def make_table(names: Sequence[str], outcomes: Sequence[Result | Pending], width: int) -> list[str]:
    """Yields the results in call order, a line each."""
    states = [describe_state(outcome.state if isinstance(outcome, Pending) else outcome.status) for outcome in outcomes]
    room = max(map(len, states), default=0)
    return [
        _fit_text(f"{label}  {state:<{room}}  {_describe_progress(outcome)}".rstrip(), width)
        for label, state, outcome in zip(make_labels(names), states, outcomes, strict=True)
    ]


def _describe_progress(outcome: Result | Pending) -> str:
    if isinstance(outcome, Pending):
        return f"{outcome.invocation_id}: {sanitize(outcome.message)}"
    text = outcome.error.message if outcome.error is not None else outcome.text
    return sanitize(" ".join(text[:2_000].split()))


def _fit_text(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
