"""Services in the making: each is made once, when it is first needed, kept, and let go of when the app ends.

A factory runs in a task of its own, so that a call which is given up does not take it along. One that failed is tried
again by the next call.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AsyncContextDecorator, ContextDecorator, asynccontextmanager, contextmanager, suppress
from typing import Any

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.functions.factories import Factory
from ferrule.runtime.functions.raised import told, where
from ferrule.runtime.functions.threads import Threads

MAKING_SECONDS = 60.0
CLOSING_SECONDS = 10.0
_RAISED = (Exception, SystemExit)
_log = logging.getLogger("ferrule.services")


class Maker:
    """Makes services, and ends them in the opposite order."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._tasks: dict[Hashable, asyncio.Task[Any]] = {}
        self._closing: list[tuple[str, Callable[[], Any]]] = []

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Any]]) -> Any:
        """What is kept under a key, made now if need be. Raises ExecutionFailed."""
        task = self._tasks.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._tasks[key] = asyncio.ensure_future(_awaited(make))
            task.add_done_callback(_looked_at)
        return await asyncio.shield(task)

    async def make(self, service: str, factory: Factory, given: dict[str, Any]) -> Any:
        """A service from its factory. Raises ExecutionFailed (`setup_required`) with the factory's name, not its words."""
        try:
            async with asyncio.timeout(MAKING_SECONDS):
                made = await self._called(service, factory, given)
        except ExecutionFailed:
            raise
        except _RAISED as error:
            kind = type(error).__qualname__
            _log.error("the service %r could not be made: %s\n%s", service, told(error), where(error))
            _log.debug("the service %r could not be made", service, exc_info=error)
            message = f"the service {service!r} could not be made: its factory {factory.label} failed ({kind})"
            raise ExecutionFailed("setup_required", message) from error
        if made is None:
            message = f"the service {service!r} could not be made: its factory {factory.label} gave nothing"
            raise ExecutionFailed("setup_required", message)
        return made

    async def aclose(self) -> None:
        """Let go of every service, the newest first. One that cannot be closed does not keep the others."""
        unfinished = [task for task in self._tasks.values() if not task.done()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        while self._closing:
            service, close = self._closing.pop()
            try:
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self._anywhere(close)
            except _RAISED as error:
                _log.warning("the service %r could not be closed (%s)", service, type(error).__qualname__)
        self._tasks.clear()

    async def _called(self, service: str, factory: Factory, given: dict[str, Any]) -> Any:
        function: Callable[..., Any] = factory.function
        if inspect.isasyncgenfunction(function):
            function = asynccontextmanager(function)
        elif inspect.isgeneratorfunction(function):
            function = contextmanager(function)
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(factory.function)
        made = function(**given) if is_async else await self._threads.run(lambda: function(**given))
        if inspect.isawaitable(made):
            made = await made
        return await self._entered(service, made)

    async def _entered(self, service: str, made: Any) -> Any:
        """The service itself; what closes it is kept."""
        if isinstance(made, AsyncContextDecorator):
            entered = await made.__aenter__()  # type: ignore[attr-defined]  # of asynccontextmanager
            self._closing.append((service, lambda: made.__aexit__(None, None, None)))  # type: ignore[attr-defined]
            return entered
        if isinstance(made, ContextDecorator):
            entered = await self._threads.run(made.__enter__)  # type: ignore[attr-defined]  # of contextmanager
            self._closing.append((service, lambda: made.__exit__(None, None, None)))  # type: ignore[attr-defined]
            return entered
        close = None if isinstance(made, type) else getattr(made, "aclose", None) or getattr(made, "close", None)
        if callable(close):
            self._closing.append((service, close))
        return made

    async def _anywhere(self, function: Callable[[], Any]) -> None:
        """A closing of either kind; plain ones may wait, so they get a thread."""
        waiting = inspect.iscoroutinefunction(function)
        value = function() if waiting else await self._threads.run(function)
        if inspect.isawaitable(value):
            await value


async def _awaited(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()


def _looked_at(task: asyncio.Task[Any]) -> None:
    """Whoever waited was told; if nobody did any more, that is no news for the event loop."""
    with suppress(asyncio.CancelledError):
        task.exception()
