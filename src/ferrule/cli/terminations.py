"""SIGTERM while calls run: they are told to stop and get a moment for it; what became of them is on record either way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ferrule.app.app import App
from ferrule.runtime.pipeline.live import Cancel

TERMINATED = 143
"""The exit code of whoever was told to end while a tool did not stop, as shells give it."""
_PATIENCE_SECONDS = 2.0


@contextmanager
def stopping_on_sigterm(app: App) -> Iterator[None]:
    """While it is entered, SIGTERM ends the calls of this process, and cancels the running task if one of them goes on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def told() -> None:
        live = app.services.live
        live.is_closing = True
        for each in list(live.calls.values()):
            each.ask_to_stop(Cancel("runtime_shutdown", "the process was told to end"))
        loop.call_later(_PATIENCE_SECONDS if live.calls else 0, task.cancel)

    with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, or no such signals here
        loop.add_signal_handler(signal.SIGTERM, told)
    try:
        yield
    finally:
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGTERM)
