"""The cache behind catalog pages: sorted once for each catalog, checked once for each state of the files.

Search, diagnostics and tool history stand above it. It holds one entry per app and knows no requests.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from ferrule.app.app import App
from ferrule.app.views.browsing import CatalogBrowser
from ferrule.definitions.compiler.release import FOLDER
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.workspace.check_cache import WorkspaceChecks
from ferrule.workspace.tool_history import ToolHistory, read_history

_HISTORIES_KEPT = 256


class CatalogCache:
    """The cached catalog views of one app."""

    def __init__(self, app: App) -> None:
        services = app.services
        self._root = app.root
        self.checks = WorkspaceChecks(app.root, self._redact, services.now, services.tick)
        self._redactor = services.redactor or ONLY_GIVEN
        self._shelf: CatalogBrowser | None = None
        self._making: tuple[str, asyncio.Task[CatalogBrowser]] | None = None
        self._histories: dict[tuple[str, str, int], ToolHistory] = {}

    def _redact(self, text: str) -> str:
        return str(self._redactor.value(text, ())[0])

    async def load_index(self, app: App) -> CatalogBrowser:
        """Returns the sorted and indexed catalog in force."""
        catalog = app.catalog
        if self._shelf is not None and self._shelf.digest == catalog.digest:
            return self._shelf
        if self._making is None or self._making[0] != catalog.digest:
            task = asyncio.create_task(asyncio.to_thread(CatalogBrowser, catalog), name="ferrule sorts the catalog")
            self._making = (catalog.digest, task)
        # Shielded: requests share this task, and one client that leaves must not cancel it for the others.
        self._shelf = await asyncio.shield(self._making[1])
        return self._shelf

    async def load_history(self, app: App, tool_id: str) -> ToolHistory:
        """Returns the history of a tool over the releases."""
        try:
            stamp = (self._root / FOLDER).stat().st_mtime_ns
        except OSError:
            stamp = 0
        key = (tool_id, app.catalog.digest, stamp)
        known = self._histories.get(key)
        if known is None:
            known = await asyncio.to_thread(read_history, self._root, app.catalog, tool_id)
            while len(self._histories) >= _HISTORIES_KEPT:
                del self._histories[next(iter(self._histories))]
            self._histories[key] = known
        return known


_CACHES: WeakKeyDictionary[App, CatalogCache] = WeakKeyDictionary()


def find_catalog_cache(app: App) -> CatalogCache:
    """Returns the cache of an app."""
    found = _CACHES.get(app)
    if found is None:
        found = _CACHES[app] = CatalogCache(app)
    return found
