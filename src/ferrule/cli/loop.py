"""Runs the coroutine of a command to its end: tasks that ignore cancellation end with the process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ferrule.infra.tasks import give_up

T = TypeVar("T")
_TERMINATED = 143
"""The exit code of whoever was told to end, as shells give it."""
_PATIENCE_SECONDS = 0.5
"""For what is still running when the command is done; the app has told it to stop and waited before."""


def run_command(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine like `asyncio.run`, but does not wait for ever for tasks that ignore their cancellation. SIGTERM
    cancels it, as Ctrl-C does, so that it can clean up; a second one ends the process at once."""
    runner = asyncio.Runner()
    told = asyncio.Event()
    try:
        return runner.run(_cancel_on_sigterm(main, told))
    except asyncio.CancelledError:
        if told.is_set():
            raise SystemExit(_TERMINATED) from None
        raise
    finally:
        _close(runner)


async def _cancel_on_sigterm(main: Coroutine[Any, Any, T], told: asyncio.Event) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        told.set()
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, or no such signals here
        loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await main
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGTERM)


def _close(runner: asyncio.Runner) -> None:
    loop = runner.get_loop()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _, left = loop.run_until_complete(asyncio.wait(left, timeout=_PATIENCE_SECONDS))
    # close() waits for every task, so it would never return while one ignores its cancellation.
    if not left:
        runner.close()
    for task in left:
        give_up(task)  # what became of its call is told already
