"""How commands that answer tell what became of a call, and the exit code that goes with it."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.reporters.excerpt import cleaned
from ferrule.model.result import Pending, Result

SUCCEEDED, ENDED_WITH_ERROR, WAITS = 0, 1, 3
"""Exit codes: done; the call ended with an error; it waits, for a person or for a process that can run it."""


def told(result: Result | Pending | None) -> list[str]:
    """What became of a call that went on, in lines."""
    if result is None or (isinstance(result, Pending) and result.state == "approved"):
        return ["it cannot run in this process; it runs as soon as one that can looks"]
    if isinstance(result, Pending):
        return [f"it waits again: {cleaned(result.message)}"]
    if result.error is not None:
        return [f"the call ended as {result.status}: {cleaned(result.error.message)}"]
    text = result.text
    return [f"the call {result.status}"] + [f"  {cleaned(line)}" for line in text.split("\n") if text]


def code_of(result: Result | Pending | None) -> int:
    """The exit code for it."""
    if isinstance(result, Result):
        return ENDED_WITH_ERROR if result.is_error else SUCCEEDED
    return WAITS


def record_of(result: Result | Pending | None) -> Any:
    """The same as JSON."""
    return result.to_record() if isinstance(result, Result) else msgspec.to_builtins(result)
