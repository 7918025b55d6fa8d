"""Recent activity of a ledger: the calls of the last hour, the health of systems, and the calls that wait for a
person.

It reads the ledger only on demand. The first report begins at the row from an hour ago; each further one reads new
rows, those of other processes too. Reading goes in small steps, so that calls are not delayed, and one pass serves
all concurrent reports. A system's health follows from its latest calls. No calls, no verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from statistics import median
from typing import Literal, NamedTuple

from ferrule.contracts.store import Store
from ferrule.errors import LedgerDamaged
from ferrule.ledger.history.activity import MINUTE, MINUTES, Activity, ActivityReport, CallScope, SystemCalls
from ferrule.ledger.history.histogram import merge_histograms
from ferrule.model.journal import OpenCall, StoredEntry

_STEP = 250
"""Rows at once: a few milliseconds of work."""


class RecentActivity:
    """The calls of the last hour, for one process."""

    def __init__(
        self, store: Store, now: Callable[[], int], system_of: Callable[[str], str | None] = lambda tool_id: None
    ) -> None:
        """Begins without reading. `now`: microseconds since 1970, never before the ledger's latest row. `system_of`:
        as in `Activity`."""
        self._store = store
        self._now = now
        self._activity = Activity(system_of)
        self._seq = 0
        """The last row that was read."""
        self._hash = b""
        """Its hash; empty while none was read."""
        self._at = 0
        self._reading: asyncio.Task[None] | None = None

    async def catch_up(self, within: float) -> bool:
        """Reads new rows, for at most this many seconds; reading goes on in the background. Returns True when nothing
        is left. Raises LedgerError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        if self._reading is not None and not self._reading.done():
            # It began before this request, so newer rows may be missing: they are read once more.
            await asyncio.wait({self._reading}, timeout=within)
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

    def report(self, scope: CallScope) -> ActivityReport:
        """Reports the calls of a scope, as far as rows were read."""
        return self._activity.report(scope, self._now())

    def report_systems(self) -> dict[str, list[tuple[int, SystemCalls]]]:
        """Reports the calls of each system, as far as rows were read."""
        return self._activity.report_systems(self._now())

    @property
    def read_until(self) -> int:
        """The time of the last row that was read: microseconds since 1970."""
        return self._at

    async def aclose(self) -> None:
        """Stops reading."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self) -> None:
        await self._store.flush()
        since = (self._now() // MINUTE - MINUTES + 1) * MINUTE
        if self._at < since:  # after a long pause, rows in between are too old to count
            self._begin(await self._store.seq_at(since) - 1)
        while rows := await self._read_next():
            for row in rows:
                if self._activity.needs_earlier_rows(row):
                    earlier = await self._store.rows_of(row.call)
                    self._activity.learn(one for one in earlier if one.seq < row.seq)
                self._activity.count_row(row)
            self._seq, self._hash, self._at = rows[-1].seq, rows[-1].hash, rows[-1].at
            # Lets calls run between two portions of rows.
            await asyncio.sleep(0)
        self._activity.trim(self._now())

    async def _read_next(self) -> list[StoredEntry]:
        """Reads the next rows. The last read row comes once more: when it differs now, the ledger was restored to an
        earlier state, and everything is read again."""
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
        """Goes on after a row; rows between it and the last one are not counted."""
        if seq != self._seq:
            self._activity.forget_open()
        self._seq, self._hash, self._at = seq, b"", 0


class Wait(NamedTuple):
    """A question to a person."""

    seq: int
    """The call's last row when it was read."""
    asked_at: int
    """Microseconds since 1970."""
    is_for_people: bool
    """False for what waits for a reply queue, or for the client that called."""


class Waits:
    """The waits of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Wait] = {}

    async def find_waits(self, opened: Sequence[OpenCall]) -> dict[str, Wait]:
        """Finds those of these open calls that wait for a person. They must be all open calls: others are forgotten."""
        new = [one for one in opened if one.call not in self._known or self._known[one.call].seq != one.seq]
        rows = await self._store.rows_of_calls([one.call for one in new]) if new else {}
        fresh = {one.call: read_wait(rows.get(one.call, ()), one.seq) for one in new}
        self._known = {one.call: fresh.get(one.call) or self._known[one.call] for one in opened}
        return {call: wait for call, wait in self._known.items() if wait.is_for_people}


def read_wait(rows: Sequence[StoredEntry], seq: int) -> Wait:
    """Reads from a call's rows what it waits for. An answered call waits for nobody."""
    asking = next((row for row in reversed(rows) if row.kind in ("parked", "unknown")), None)
    if asking is None:
        return Wait(seq, 0, False)
    try:
        segment = asking.segment()
    except LedgerDamaged:  # the inbox cannot show it either; an audit tells what is wrong
        return Wait(seq, asking.at, False)
    request = segment.request
    is_reply = request is not None and request.requirement.is_reply_only
    is_answered = request is not None and request.purpose == "input" and rows[-1].kind == "answered"
    is_for_people = not (is_reply or is_answered or "client_requests" in segment.notes)
    return Wait(seq, request.requested_at if request is not None else asking.at, is_for_people)


Health = Literal["healthy", "slow", "failing", "quiet"]
LATELY = 5 * MINUTE
_FAILING_SHARE = 0.2
_SLOWER = 2.0
_SLOWER_MICROSECONDS = 100_000
"""Slow means slower by both: this many microseconds, and this many times the usual."""

Minutes = Sequence[tuple[int, SystemCalls]]


class HealthVerdict(NamedTuple):
    """The health of a system."""

    health: Health
    calls: int
    """In the last hour."""
    unreached: int
    p95: float | None
    """The 95th percentile of its latest calls, in microseconds."""
    since: int | None
    """When it began to be slow or to fail: microseconds since 1970."""
    last_at: int | None
    """The last minute with calls."""


def judge_health(minutes: Minutes, now: int) -> HealthVerdict:
    """Judges a system by its minutes of the last hour that have calls, the oldest first."""
    if not minutes:
        return HealthVerdict("quiet", 0, 0, None, None, None)
    latest = [pair for pair in minutes if pair[0] > now - LATELY - MINUTE] or [minutes[-1]]
    p95 = merge_histograms(reached.latency for _, reached in latest).percentile(0.95)
    usual = median(reached.latency.percentile(0.95) or 0.0 for _, reached in minutes)
    health: Health = "healthy"
    since = None
    if _is_failing(latest):
        health, since = "failing", _find_since(minutes, [_is_failing([pair]) for pair in minutes])
    elif _is_slow(p95, usual):
        health = "slow"
        since = _find_since(minutes, [_is_slow(reached.latency.percentile(0.95), usual) for _, reached in minutes])
    return HealthVerdict(
        health,
        sum(reached.calls for _, reached in minutes),
        sum(reached.unreached for _, reached in minutes),
        p95,
        since,
        minutes[-1][0],
    )


def _is_failing(minutes: Minutes) -> bool:
    calls = sum(reached.calls for _, reached in minutes)
    return sum(reached.unreached for _, reached in minutes) >= max(1, calls * _FAILING_SHARE)


def _is_slow(p95: float | None, usual: float) -> bool:
    return p95 is not None and p95 >= max(usual * _SLOWER, usual + _SLOWER_MICROSECONDS)


def _find_since(minutes: Minutes, is_bad: list[bool]) -> int:
    """Finds the first minute of the last stretch that is bad throughout."""
    first = len(minutes) - 1
    while first > 0 and is_bad[first - 1]:
        first -= 1
    return minutes[first][0]
