"""The app without `await`, for scripts and notebooks: runs it on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from ferrule.app.app import App
from ferrule.app.batch_requests import CallSpec
from ferrule.app.batches import Batch, Update
from ferrule.app.call_records import CallRecords
from ferrule.app.opening import open_app
from ferrule.app.progress import Cancellation
from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import hear_failure
from ferrule.ledger.history.details import Level
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SearchResult, SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.render import Rendering

T = TypeVar("T")
_END: Any = object()
_STOPS_WITHIN = 5.0
"""Seconds that a coroutine gets to stop in, after Ctrl-C."""


def open_sync(path: str | Path = ".", **options: Any) -> SyncApp:
    """Opens a workspace without `await`, for scripts: `with ferrule.open_sync("./workspace") as app:`. Takes the options of
    `open_app`."""
    return SyncApp(open_app(path, **options))


class SyncApp:
    """An app without `await`. Use it as a context manager: `with ferrule.open_sync("./workspace") as app:`."""

    def __init__(self, opening: Any) -> None:
        self._opening = opening
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ferrule", daemon=True)
        self._app: App | None = None

    def __enter__(self) -> SyncApp:
        self._thread.start()
        try:
            self._app = self._wait(self._opening.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._wait(self._opening.__aexit__(kind, error, trace))
        finally:
            self._stop()

    @property
    def app(self) -> App:
        """The app itself; use it on its own loop only, through `run`."""
        if self._app is None:
            raise RuntimeError("the app is not open; use it inside 'with'")
        return self._app

    def run(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the app's loop (`app.run(app.app.result(id))`) and waits for it."""
        return self._wait(waiting)

    def surface(self, **context: Any) -> SyncSurface:
        """Returns a surface for one caller; see `App.surface`."""

        async def make_surface() -> SurfaceHandle:
            return self.app.surface(**context)

        return SyncSurface(self, self._wait(make_surface()))

    def result(self, invocation_id: str, *, wait: float | None = None) -> Result | Pending | None:
        """Returns how a call ended, or what it waits for."""
        return self._wait(self.app.result(invocation_id, wait=wait))

    def records(self, invocation_id: str, *, level: Level = "standard") -> CallRecords | None:
        """Returns the standard's records of a call; see `App.records`."""
        return self._wait(self.app.records(invocation_id, level=level))

    def cancel(self, invocation_id: str, *, by: str, reason: str = "", within: float = 1.0) -> Cancellation | None:
        """Asks a call to stop, in any process; see `App.cancel`."""
        return self._wait(self.app.cancel(invocation_id, by=by, reason=reason, within=within))

    def follow(self, invocation_id: str, after: int = 0) -> Iterator[Progress]:
        """Yields the progress of any call, in order, until it has ended; see `App.follow`."""
        return self.iterate(lambda: self.app.follow(invocation_id, after))

    def payload(self, uri: str, **options: Any) -> bytes:
        """Returns the bytes of a stored result, or a range of them; see `App.payload`. Raises PayloadGone."""
        return self._wait(self.app.payload(uri, **options))

    def iterate(self, begin: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """Yields from an async iterator of the app, and closes it when the caller stops early."""
        told = self._wait(_run_inside(begin))
        try:
            while (one := self._wait(_next(told))) is not _END:
                yield one
        finally:
            self._close(told)

    def _close(self, told: AsyncIterator[Any]) -> None:
        if threading.current_thread() is self._thread:
            # The garbage collector found a dropped iterator on this thread, which must not wait for itself.
            self._loop.create_task(_close_iterator(told))
        elif self._thread.is_alive():
            self._wait(_close_iterator(told))

    def _wait(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the app's loop. Ctrl-C cancels it there, and is raised once it has stopped."""
        is_inside = threading.current_thread() is self._thread
        if is_inside or not self._thread.is_alive():
            # Python would report a coroutine that nobody awaits.
            waiting.close()
            why = "its own loop would wait for itself; use `await`" if is_inside else "use it inside 'with'"
            raise RuntimeError(f"the app cannot be used here: {why}")
        work = _LoopTask(self._loop, waiting)
        try:
            return work.result()
        except KeyboardInterrupt:
            work.cancel(_STOPS_WITHIN)
            raise

    def _stop(self) -> None:
        # A loop may only be stopped from its own thread.
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _LoopTask(Generic[T]):
    """One coroutine that runs on the loop of another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, waiting: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._waiting = waiting
        self._task: asyncio.Task[T] | None = None
        self._is_done = threading.Event()
        loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._waiting)
        self._task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[T]) -> None:
        hear_failure(task)  # after an interrupt nobody reads the result
        self._is_done.set()

    def result(self) -> T:
        """Waits for the coroutine and returns its result."""
        self._is_done.wait()
        assert self._task is not None
        if self._task.cancelled():
            raise concurrent.futures.CancelledError
        return self._task.result()

    def cancel(self, within: float) -> None:
        """Cancels the coroutine, and waits a while until it has stopped."""
        self._loop.call_soon_threadsafe(lambda: self._task is not None and self._task.cancel())
        with suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait
            self._is_done.wait(within)


async def _run_inside(begin: Callable[[], T]) -> T:
    return begin()


async def _next(told: AsyncIterator[T]) -> T | Any:
    return await anext(told, _END)


async def _close_iterator(told: AsyncIterator[Any]) -> None:
    if isinstance(told, AsyncGenerator):
        with suppress(RuntimeError):  # it is still running, and stops by itself
            await told.aclose()


class SyncSurface:
    """A surface without `await`."""

    def __init__(self, app: SyncApp, handle: SurfaceHandle) -> None:
        self._app = app
        self._handle = handle

    @property
    def handle(self) -> SurfaceHandle:
        """The surface itself; use it on the app's own loop only."""
        return self._handle

    @property
    def request(self) -> SurfaceRequest:
        """The caller, and the context of its calls."""
        return self._handle.request

    def tools(self) -> Rendering:
        """Returns the tools as a model sees them."""
        return self._handle.tools()

    def call(self, name: str, arguments: JsonObject | bytes | None = None, **options: Any) -> Result | Pending:
        """Calls a tool; see `SurfaceHandle.call`."""
        return self._app.run(self._handle.call(name, arguments, **options))

    def call_many(self, calls: Iterable[CallSpec], *, wait: float | None = None, **policy: Any) -> Batch:
        """Makes many calls, and returns their results in call order. See `SurfaceHandle.call_many`. Raises BatchError."""
        return self._app.run(self._handle.call_many(calls, wait=wait, **policy))

    def stream_many(self, calls: Iterable[CallSpec], *, wait: float | None = None, **policy: Any) -> Iterator[Update]:
        """Makes many calls, and yields updates. To stop iterating (`break`, Ctrl-C, an error) cancels calls that run."""
        return self._app.iterate(lambda: self._handle.stream_many(calls, wait=wait, **policy))

    def follow(self, invocation_id: str, after: int = 0) -> Iterator[Progress]:
        """Yields the progress of a call of this principal, in order, until it has ended; see `SurfaceHandle.follow`."""
        return self._app.iterate(lambda: self._handle.follow(invocation_id, after))

    def cancel(self, invocation_id: str, reason: str = "", *, within: float = 1.0) -> Cancellation | None:
        """Asks a call to stop; see `SurfaceHandle.cancel`. Use it from another thread than the one that waits for the call."""
        return self._app.run(self._handle.cancel(invocation_id, reason, within=within))

    def interrupt(self, reason: str = "") -> list[str]:
        """Interrupts for the user, and returns the ids of the calls told to stop. See `SurfaceHandle.interrupt`."""
        return self._app.run(_run_inside(lambda: self._handle.interrupt(reason)))

    def discard(self, invocation_ids: Iterable[str], reason: str = "") -> None:
        """Discards the calls of a turn that was replaced; see `SurfaceHandle.discard`."""
        ids = tuple(invocation_ids)
        self._app.run(_run_inside(lambda: self._handle.discard(ids, reason)))

    def result(self, invocation_id: str, wait: float | None = None) -> Result | Pending | None:
        """Returns how a call of this principal ended, or what it waits for."""
        return self._app.run(self._handle.result(invocation_id, wait))

    def payload(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Returns the bytes of a stored result, or a range of them. Raises PayloadGone."""
        return self._app.run(self._handle.payload(uri, offset, limit))

    @property
    def context(self) -> JsonObject:
        """The context that earlier tools of this run left for later ones. A copy."""
        return self._handle.context

    def search(self, query: str, limit: int | None = None) -> SearchResult:
        """Searches for tools."""
        return self._app.run(self._handle.search(query, limit))
