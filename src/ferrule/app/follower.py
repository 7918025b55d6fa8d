"""Follows the ledger for one sink: rows in, events out, in order, each exactly once as far as the sink can tell.

It reads behind the calls, a bounded batch at a time, and holds only that batch: a slow or broken sink delays no call and
fills no memory. Events that it has not accepted stay in the ledger until it does.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ferrule.contracts.registry import Registry
from ferrule.contracts.sink import Sink, SinkBusy, SinkMaker
from ferrule.contracts.store import Store
from ferrule.ledger.history.details import LEVELS, Level
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.sinks.builtin import SINKS
from ferrule.model.event import Event
from ferrule.model.journal import audit_level_of
from ferrule.settings import SinkSettings

BATCH_ROWS = 32
"""Rows read at once, and the most that is held for a sink."""
_ROWS_AT_ONCE = 8
"""Rows expanded before other tasks get their turn: about a millisecond."""
_LOOK_SECONDS = 5.0
_TURN_SECONDS = 1.0
_sinks: Registry[SinkMaker] = Registry("kind of sink", SINKS, "ferrule.sinks")
_log = logging.getLogger("ferrule.follow")


def make_sink_followers(sinks: Iterable[SinkSettings], store: Store, *, source: str, folder: Path) -> list[Follower]:
    """Makes a follower for each of a workspace's sinks, not started yet. Raises SettingsError."""
    return [
        Follower(store, _sinks.get(said.kind)(said.to_options(), folder), source=source, level=said.level)
        for said in sinks
    ]


def _lower_level(of_sink: Level, of_agent: str) -> Level:
    """Returns the level that both the sink and the agent's file allow; an unknown word counts as the strictest."""
    if not of_agent:
        return of_sink
    return min(of_sink, msgspec.convert(of_agent if of_agent in LEVELS else "none", Level), key=LEVELS.index)


class Follower:
    """Brings the ledger's events to one sink, from where the sink got to last time."""

    def __init__(
        self,
        store: Store,
        sink: Sink,
        *,
        source: str,
        level: Level = "standard",
        first_delay: float = 0.1,
        longest_delay: float = 30.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.sink = sink
        self.problem: str | None = None
        """Why events are not delivered now; None when they are."""
        self.cursor: int | None = None
        """The last row that was delivered; None until the sink has told its cursor."""
        self.delivered = 0
        """How many events the sink has accepted."""
        self._store = store
        self._source = source
        self._level: Level = level
        self._delays = (first_delay, longest_delay)
        self._chance = chance
        self._failures = 0
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts to follow, in a task of its own."""
        self._task = asyncio.create_task(self._follow(), name=f"follower of {self.sink.name}")

    async def aclose(self, within: float = 1.0) -> None:
        """Tries once more to deliver the ledger's events, then closes the sink. Takes at most about `within` seconds."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=within)
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.1)
        with suppress(Exception):
            async with asyncio.timeout(0.1):
                await self.sink.aclose()

    async def _follow(self) -> None:
        while True:
            # Before delivering: rows that are written meanwhile get one more round.
            is_last, is_behind = self._closing.is_set(), False
            try:
                is_behind = await self._deliver()
                self._note_success()
                if not (is_behind or is_last):
                    await self._wait_for_rows()
            except SinkBusy as busy:
                self.problem = str(busy)
                await self._pause(_TURN_SECONDS)
            except Exception as error:
                await self._pause(self._note_failure(error))
            if is_last and not is_behind:
                return

    async def _deliver(self) -> bool:
        """Delivers one batch; True when there may be more."""
        cursor = await self._find_start() if self.cursor is None else self.cursor
        rows = await self._store.rows_after(cursor, BATCH_ROWS)
        events: list[Event] = []
        for number, row in enumerate(rows, start=1):
            events += expand_row(row, source=self._source, level=_lower_level(self._level, audit_level_of(row)))
            if number % _ROWS_AT_ONCE == 0:
                await asyncio.sleep(0)  # calls have priority over sinks
        if events:
            await self.sink.write(events)
        if rows:
            self.cursor = rows[-1].seq
            self.delivered += len(events)
        return len(rows) == BATCH_ROWS

    async def _find_start(self) -> int:
        cursor = await self.sink.cursor()
        # A sink without a cursor is new: it gets events from now on, and not the whole history.
        if cursor is None:
            newest = await self._store.rows_before(None, 1)
            cursor = newest[0].seq if newest else 0
        self.cursor = cursor
        return cursor

    def _note_failure(self, error: Exception) -> float:
        """Notes the problem, and returns how long to wait before the next try: longer each time, with jitter."""
        self._failures += 1
        first, longest = self._delays
        delay = min(longest, first * 2.0 ** min(self._failures - 1, 30)) * (0.5 + self._chance() / 2)
        after = "" if self.cursor is None else f" after row {self.cursor}"
        self.problem = (
            f"the sink {self.sink.name!r} does not take the events{after} ({type(error).__name__}: {error}); "
            f"tried {self._failures} times, again in {delay:.1f} s"
        )
        if self._failures == 1:
            _log.warning("%s; nothing is lost, they stay in the ledger", self.problem)
        return delay

    def _note_success(self) -> None:
        if self._failures:
            _log.warning("the sink %r takes events again", self.sink.name)
        self._failures = 0
        self.problem = None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    async def _wait_for_rows(self) -> None:
        """Waits until there are new rows, or the follower closes."""
        news = asyncio.ensure_future(self._store.wait_after(self.cursor or 0, _LOOK_SECONDS))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({news, closing}, return_when=asyncio.FIRST_COMPLETED)
            if news.done():
                news.result()
        finally:
            for waiting in (news, closing):
                waiting.cancel()
            await asyncio.gather(news, closing, return_exceptions=True)
