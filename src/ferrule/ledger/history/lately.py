"""Follows the ledger for whoever wants to know what calls did lately, and only while somebody does.

The first look begins at the row from an hour ago; each further one reads what is new, rows of other processes too. Reading goes
in small steps, so that calls are not kept waiting, and one reading serves all who ask meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from ferrule.contracts.store import Store
from ferrule.ledger.history.activity import MINUTE, MINUTES, Activity, Reached, Scope, Seen
from ferrule.model.journal import StoredEntry

_STEP = 250
"""Rows at once: a few milliseconds of work."""


class Lately:
    """What calls did in the last hour, for one process."""

    def __init__(
        self, store: Store, now: Callable[[], int], system_of: Callable[[str], str | None] = lambda tool_id: None
    ) -> None:
        """`now`: microseconds since 1970, never before the ledger's latest row. `system_of`: as in `Activity`."""
        self._store = store
        self._now = now
        self._activity = Activity(system_of)
        self._seq = 0
        """The last row that was read."""
        self._hash = b""
        """Its hash; empty while none was read."""
        self._at = 0
        self._reading: asyncio.Task[None] | None = None

    async def caught_up(self, within: float) -> bool:
        """Read what is new, for so many seconds at most; the rest is read behind. True when nothing is left. Raises
        LedgerError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        if self._reading is not None and not self._reading.done():
            await asyncio.wait({self._reading}, timeout=within)  # it began before whoever asks now: look once more
            if not self._reading.done():
                return False
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="ferrule counts what calls did")
        reading = self._reading
        await asyncio.wait({reading}, timeout=max(0.0, until - loop.time()))
        if not reading.done():
            return False
        reading.result()
        return True

    def seen(self, scope: Scope) -> Seen:
        """What calls of a scope did, as far as it was read."""
        return self._activity.seen(scope, self._now())

    def systems(self) -> dict[str, list[tuple[int, Reached]]]:
        """What calls of each system did, as far as it was read."""
        return self._activity.systems(self._now())

    @property
    def read_until(self) -> int:
        """The time of the last row that was read: microseconds since 1970."""
        return self._at

    async def aclose(self) -> None:
        """Stop reading."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self) -> None:
        await self._store.flush()
        since = (self._now() // MINUTE - MINUTES + 1) * MINUTE
        if self._at < since:  # nobody asked for long: what is between is too old to count
            self._begin(await self._store.seq_at(since) - 1)
        while rows := await self._next():
            for row in rows:
                if self._activity.lacks(row):
                    earlier = await self._store.rows_of(row.call)
                    self._activity.learn(one for one in earlier if one.seq < row.seq)
                self._activity.take(row)
            self._seq, self._hash, self._at = rows[-1].seq, rows[-1].hash, rows[-1].at
            await asyncio.sleep(0)
        self._activity.trim(self._now())

    async def _next(self) -> list[StoredEntry]:
        """The next rows. The last one that was read comes once more: when it is another now, the ledger was put back to an
        earlier state meanwhile, and everything is read again."""
        if not self._hash:
            return await self._store.rows_after(self._seq, _STEP)
        rows = await self._store.rows_after(self._seq - 1, _STEP + 1)
        if rows and (rows[0].seq, rows[0].hash) == (self._seq, self._hash):
            return rows[1:]
        self._activity.forget()
        since = (self._now() // MINUTE - MINUTES + 1) * MINUTE
        self._begin(await self._store.seq_at(since) - 1)
        return await self._store.rows_after(self._seq, _STEP)

    def _begin(self, seq: int) -> None:
        """Go on after a row; what is between it and the last one is not counted."""
        if seq != self._seq:
            self._activity.forget_open()
        self._seq, self._hash, self._at = seq, b"", 0
