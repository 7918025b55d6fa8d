"""Finds the executor of a tool: the app's own first, then those that other packages registered."""

from __future__ import annotations

from collections.abc import Callable

from ferrule.contracts.executor import Executor
from ferrule.model.tool import Tool
from ferrule.runtime.executors.caching import ResultCache


class Executors:
    """The executors of one app, in the order in which they are asked."""

    def __init__(
        self, own: tuple[Executor, ...], load_installed: Callable[[], tuple[Executor, ...]], cache: ResultCache
    ) -> None:
        self._own = own
        self._load_installed = load_installed
        self._installed: tuple[Executor, ...] | None = None
        self._cache = cache

    def find(self, tool: Tool) -> Executor | None:
        """Returns the first executor that can run a tool."""
        found = next((executor for executor in self._own if executor.can_run(tool)), None)
        if found is not None:
            return found
        # Looking through the installed packages takes long, and most workspaces never need one of theirs.
        if self._installed is None:
            self._installed = self._load_installed()
        return next((executor for executor in self._installed if executor.can_run(tool)), None)

    def find_runner(self, tool: Tool) -> Executor | None:
        """Returns the executor of a tool, behind the cache where the results of the tool are cached."""
        executor = self.find(tool)
        return None if executor is None else self._cache.wrap(executor, tool)

    async def aclose(self) -> None:
        """Closes every executor that was loaded."""
        for executor in (*self._own, *(self._installed or ())):
            await executor.aclose()
