"""Signals while calls run. Ctrl-C asks calls to stop, then leaves, then ends the process; SIGTERM gives them a moment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ferrule.app.app import App
from ferrule.runtime.pipeline.live import Cancel

LEFT = 130
"""The exit code of whoever left, as shells give it."""


class Left(Exception):
    """Whoever watched did not wait for the end."""


class Interrupts:
    """Listens for Ctrl-C, in the running loop, while it is entered."""

    def __init__(self, ask_to_stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._ask_to_stop = ask_to_stop
        self._count = 0
        self._asking: asyncio.Task[None] | None = None

    def __enter__(self) -> Interrupts:
        self._loop = asyncio.get_running_loop()
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_signal_handler(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        if self._count < 2:  # whoever leaves and asks once more does not want to wait for anything
            self._loop.remove_signal_handler(signal.SIGINT)

    async def ended(self, work: asyncio.Task[Any]) -> Any:
        """What the work gives. Raises Left when nobody wants to wait for it any more."""
        await asyncio.wait({work, self._left}, return_when=asyncio.FIRST_COMPLETED)
        asking = {self._asking} if self._asking is not None else set()
        if not work.done():
            for task in (work, *asking):
                task.cancel()
            await asyncio.wait({work, *asking})
            raise Left
        await asyncio.gather(*asking)
        return work.result()

    def _interrupted(self) -> None:
        self._count += 1
        if self._count == 1:
            self._asking = self._loop.create_task(self._ask_to_stop())
        elif self._count == 2:
            if not self._left.done():
                self._left.set_result(None)
        else:
            os._exit(LEFT)


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
