"""A body on its way into a file: opened, written and put in place in threads, and let go of whenever the call ends."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.runtime.builtins.confine import Roots
from ferrule.runtime.builtins.mishap import mishaps
from ferrule.runtime.builtins.place import Place
from ferrule.runtime.builtins.replace import Replacement, replacing


class Saving:
    """One file in the making. A call that is given up closes it; what a thread still writes then waits, and is dropped."""

    def __init__(self, roots: Roots, path: str, place: Place, context: Context) -> None:
        self._roots = roots
        self._path = path
        self._threads = place.threads
        self._context = context
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._file: Replacement | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Find its place, and make the folders on the way. Raises ExecutionFailed."""
        await self._do(self._open)

    async def write(self, data: bytes) -> None:
        """Add bytes. Raises ExecutionFailed."""
        await self._do(lambda: self._made.write(data))

    async def commit(self) -> int:
        """Put it in place; gives its size. Raises ExecutionFailed."""
        await self._do(lambda: self._made.commit(self._context.raise_if_aborted))
        return self._made.bytes_written

    async def close(self) -> None:
        """Let go; without a commit nothing is left behind."""
        await self._threads.run(self._close)

    @property
    def _made(self) -> Replacement:
        assert self._file is not None  # opened first
        return self._file

    async def _do(self, work: Any) -> None:
        def locked() -> None:
            with self._lock, mishaps(self._path):
                if not self._is_closed:
                    work()

        await self._threads.run(locked)

    def _open(self) -> None:
        spot = self._stack.enter_context(self._roots.find(self._path, makes_folders=True))
        self._file = self._stack.enter_context(replacing(spot))

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._stack.close()
