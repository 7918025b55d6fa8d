"""Calls for programs that know no asyncio."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar, Unpack

from .calls import Caller, CallOptions
from .shapes import Codec

T = TypeVar("T")


class Blocking:
    """Runs what the asynchronous client does, and waits for it. Threads take turns."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._turn = threading.Lock()
        self._ending = weakref.finalize(self, _closed, self._runner)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work. Ctrl-C cancels it, at the server too."""
        if _is_within_loop():
            work.close()
            raise RuntimeError(
                "a SyncClient would stop the event loop that runs here: use"
                " `await Client(…)` with the same methods, or call it in a thread with"
                " `await asyncio.to_thread(…)`"
            )
        with self._turn:
            if not self._ending.alive:
                work.close()
                raise RuntimeError("this client is closed")
            return self._runner.run(work)

    def close(self) -> None:
        """Let go of the event loop."""
        self._ending()


def _closed(runner: asyncio.Runner) -> None:
    if _is_within_loop():  # nothing can run to its end here
        runner.get_loop().close()
    else:
        runner.close()


def _is_within_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class SyncCaller:
    """Calls tools of one server: see `Caller`."""

    def __init__(self, calls: Caller, blocking: Blocking) -> None:
        self._calls = calls
        self._blocking = blocking

    def call(self, tool: str, arguments: Any, **options: Unpack[CallOptions]) -> Any:
        """The JSON value of a tool's result; a text stays a text. Raises CallError."""
        return self._blocking.run(self._calls.call(tool, arguments, **options))

    def typed(
        self,
        tool: str,
        arguments: Any,
        output: Codec[T],
        **options: Unpack[CallOptions],
    ) -> T:
        """The same, read by the tool's output. Raises CallError."""
        return self._blocking.run(self._calls.typed(tool, arguments, output, **options))

    def result(self, invocation_id: str, *, wait_seconds: float = 0.0) -> Any:
        """The result of an earlier call. Raises PendingError if it has not ended after
        that time, and any other CallError that the call has ended with."""
        work = self._calls.result(invocation_id, wait_seconds=wait_seconds)
        return self._blocking.run(work)

    def typed_result(
        self, invocation_id: str, output: Codec[T], *, wait_seconds: float = 0.0
    ) -> T:
        """The same, read by the tool's output: `get_weather.OUTPUT`, of the module that
        has the tool's types."""
        work = self._calls.typed_result(
            invocation_id, output, wait_seconds=wait_seconds
        )
        return self._blocking.run(work)

    def cancel(self, invocation_id: str, reason: str = "") -> bool:
        """Cancel a call; whether it took notice. Raises CallError."""
        return self._blocking.run(self._calls.cancel(invocation_id, reason))
