"""A ledger for followers: rows in memory, in the words of the store contract."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from ferrule.contracts.store import Store
from ferrule.model.journal import StoredEntry
from tests.ledger.history.rows import SCENARIOS, Ledger


class FollowedLedger:
    """What a follower needs of a store. `largest` is the most rows it was asked for at once."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.largest = 0
        self._news = asyncio.Event()

    @property
    def rows(self) -> list[StoredEntry]:
        return self.ledger.rows

    def as_store(self) -> Store:
        return cast(Store, self)

    def add(self, *scenarios: str) -> None:
        """Add the rows of calls."""
        for name in scenarios:
            call = f"inv_{len(self.rows)}_{name}"
            scenario: Callable[..., object] = SCENARIOS[name]
            scenario(self.ledger, call)
        self._news.set()

    async def rows_after(self, seq: int, limit: int = 500) -> list[StoredEntry]:
        found = [row for row in self.rows if row.seq > seq][:limit]
        self.largest = max(self.largest, len(found))
        return found

    async def rows_before(self, seq: int | None, limit: int = 50, **filters: object) -> list[StoredEntry]:
        return [row for row in reversed(self.rows) if seq is None or row.seq < seq][:limit]

    async def wait_after(self, seq: int, timeout: float) -> bool:
        self._news.clear()
        if self.rows and self.rows[-1].seq > seq:
            return True
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            return False
        return True
