"""Runs what a command does, to its end and no further: what does not let itself be stopped ends with the process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_PATIENCE_SECONDS = 0.5
"""For what is still running when the command is done; the app has told it to stop and waited before."""


def run_command(main: Coroutine[Any, Any, T]) -> T:
    """What `main` gives, as `asyncio.run` has it, but without waiting for ever for tasks that catch their cancellation."""
    runner = asyncio.Runner()
    try:
        return runner.run(main)
    finally:
        _close(runner)


def _close(runner: asyncio.Runner) -> None:
    loop = runner.get_loop()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _, left = loop.run_until_complete(asyncio.wait(left, timeout=_PATIENCE_SECONDS))
    if not left:
        runner.close()
    for task in left:
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # what became of its call is told already
