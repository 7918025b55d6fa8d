"""The sync face, for scripts and notebooks: the same app, run on an event loop of its own in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from ferrule.app import App
from ferrule.model.result import Pending, Result
from ferrule.model.surface import SearchResult, SurfaceRequest
from ferrule.surface.render import Rendering
from ferrule.surface_handle import SurfaceHandle

T = TypeVar("T")


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
        """The app behind; use it on its own loop only, through `run`."""
        if self._app is None:
            raise RuntimeError("the app is not open; use it inside 'with'")
        return self._app

    def run(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Run something of the app's (`app.run(app.app.result(id))`) and wait for it."""
        return self._wait(waiting)

    def surface(self, **context: Any) -> SyncSurface:
        """A surface for one caller; see `App.surface`."""

        async def made() -> SurfaceHandle:
            return self.app.surface(**context)

        return SyncSurface(self, self._wait(made()))

    def result(self, invocation_id: str, *, wait: float | None = None) -> Result | Pending | None:
        """How a call ended, or what it waits for."""
        return self._wait(self.app.result(invocation_id, wait=wait))

    def _wait(self, waiting: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(waiting, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncSurface:
    """A surface without `await`."""

    def __init__(self, app: SyncApp, handle: SurfaceHandle) -> None:
        self._app = app
        self._handle = handle

    @property
    def request(self) -> SurfaceRequest:
        """Who calls, and in what context."""
        return self._handle.request

    def tools(self) -> Rendering:
        """The tools as a model is shown them."""
        return self._handle.tools()

    def call(self, name: str, arguments: dict[str, Any] | bytes | None = None, **options: Any) -> Result | Pending:
        """Use a tool; see `SurfaceHandle.call`."""
        return self._app.run(self._handle.call(name, arguments, **options))

    def search(self, query: str, limit: int | None = None) -> SearchResult:
        """Find tools."""
        return self._app.run(self._handle.search(query, limit))
