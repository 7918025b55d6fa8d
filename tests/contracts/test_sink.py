"""What every sink promises: order, each fact once, whole rows; whatever fails, and whoever dies, in between."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from ferrule.app.follower import BATCH_ROWS, Follower
from ferrule.contracts.sink import Sink
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.sinks.builtin import SINKS
from ferrule.ledger.sinks.callback import CallbackSink
from ferrule.ledger.sinks.jsonl import JsonlSink
from ferrule.ledger.sinks.log import LogSink
from ferrule.model.event import TERMINAL_EVENT_TYPES, Event
from tests.ledger.history.rows import SCENARIOS
from tests.ledger.sinks.ledgers import FollowedLedger


class Bench(Protocol):
    """One kind of sink with a way to see what it got."""

    lasts: bool
    """True when what it got outlives the process, so that it goes on where it stopped."""

    def open(self) -> Sink:
        """A sink as a new process makes it."""

    def got(self) -> list[str]:
        """Ids of the events it got."""

    def wanted(self, events: list[Event]) -> list[str]:
        """Ids of those it should have."""


class JsonlBench:
    lasts = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"

    def open(self) -> Sink:
        return JsonlSink(self.path)

    def got(self) -> list[str]:
        return [json.loads(line)["event_id"] for line in self.path.read_text().splitlines()]

    def wanted(self, events: list[Event]) -> list[str]:
        return [event.event_id for event in events]


class CallbackBench:
    lasts = False

    def __init__(self) -> None:
        self.events: list[Event] = []

    def open(self) -> Sink:
        return CallbackSink(self.events.append, after=0)

    def got(self) -> list[str]:
        return [event.event_id for event in self.events]

    def wanted(self, events: list[Event]) -> list[str]:
        return [event.event_id for event in events]


class AsyncCallbackBench(CallbackBench):
    def open(self) -> Sink:
        async def take(event: Event) -> None:
            await asyncio.sleep(0)
            self.events.append(event)

        return CallbackSink(take, after=0)


class LogBench(logging.Handler):
    lasts = False

    def __init__(self) -> None:
        super().__init__()
        self.records: list[str] = []
        self.logger = logging.Logger("calls")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record.__dict__["ferrule_event"]["event_id"])

    def open(self) -> Sink:
        return _FromStart(LogSink(self.logger))

    def got(self) -> list[str]:
        return self.records

    def wanted(self, events: list[Event]) -> list[str]:
        return [event.event_id for event in events if event.event_type in TERMINAL_EVENT_TYPES]


class _FromStart:
    """A sink that begins with the first row, where it would begin with the next."""

    def __init__(self, sink: Sink) -> None:
        self.name, self.write, self.aclose = sink.name, sink.write, sink.aclose
        self._sink = sink

    async def cursor(self) -> int | None:
        return await self._sink.cursor() or 0


class Failing:
    """A sink that fails as told: before the write, or after it was done."""

    def __init__(self, sink: Sink, plan: str) -> None:
        self.name, self.cursor, self.aclose = sink.name, sink.cursor, sink.aclose
        self._sink, self._plan = sink, list(plan)

    async def write(self, events: Sequence[Event]) -> None:
        step = self._plan.pop(0) if self._plan else "ok"
        if step == "b":
            raise OSError("the disk is full")
        await self._sink.write(events)
        if step == "a":
            raise ConnectionError("nobody knows whether it arrived")


@pytest.fixture(params=["jsonl", "callback", "async callback", "log"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made: dict[str, Callable[[], Bench]] = {
        "jsonl": lambda: JsonlBench(tmp_path),
        "callback": CallbackBench,
        "async callback": AsyncCallbackBench,
        "log": LogBench,
    }
    yield made[request.param]()


def all_events(ledger: FollowedLedger) -> list[Event]:
    return [event for row in ledger.rows for event in expand_row(row, source="shop")]


def follower(ledger: FollowedLedger, sink: Sink, **options: object) -> Follower:
    made = Follower(ledger.as_store(), sink, source="shop", first_delay=0.001, longest_delay=0.004, **options)  # type: ignore[arg-type]
    made.start()
    return made


async def until(condition: Callable[[], bool]) -> None:
    """Bounded: a test that waits for what never comes fails."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def test_every_kind_is_on_the_bench() -> None:
    assert set(SINKS) == {"jsonl", "callback", "log"}


def test_events_arrive_once_and_in_order(bench: Bench) -> None:
    """AT-268: what was there before, and what comes while it follows."""

    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add(*SCENARIOS)
        following = follower(ledger, bench.open())
        await until(lambda: following.cursor == ledger.rows[-1].seq)
        ledger.add(*reversed(SCENARIOS))
        await until(lambda: following.cursor == ledger.rows[-1].seq)
        await following.aclose()
        assert bench.got() == bench.wanted(all_events(ledger))

    asyncio.run(main())


@pytest.mark.parametrize("plan", ["b", "a", "bbabab", "ok a b a".replace(" ", "").replace("ok", "-")])
def test_failures_lose_and_repeat_nothing(bench: Bench, plan: str) -> None:
    """A batch that was not taken comes again; one that was, but did not seem so, is not taken twice."""

    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add(*SCENARIOS, *SCENARIOS)
        following = follower(ledger, Failing(bench.open(), plan))
        await until(lambda: following.cursor == ledger.rows[-1].seq)
        assert following.problem is None
        await following.aclose()
        assert bench.got() == bench.wanted(all_events(ledger))

    asyncio.run(main())


def test_closing_delivers_what_is_there(bench: Bench) -> None:
    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("success")
        following = follower(ledger, bench.open())
        await until(lambda: following.cursor is not None)
        ledger.add(*SCENARIOS, *SCENARIOS, *SCENARIOS)
        assert len(ledger.rows) > BATCH_ROWS
        await following.aclose()
        assert bench.got() == bench.wanted(all_events(ledger))

    asyncio.run(main())


def test_a_restart_goes_on_where_it_stopped(bench: Bench) -> None:
    async def main() -> None:
        ledger = FollowedLedger()
        for _ in range(3):
            ledger.add(*SCENARIOS)
            following = follower(ledger, bench.open())
            await until(lambda: following.cursor == ledger.rows[-1].seq)  # noqa: B023  awaited in the same round
            await following.aclose()
            if not bench.lasts:
                break
        assert bench.got() == bench.wanted(all_events(ledger))

    asyncio.run(main())


def test_only_a_bounded_batch_is_held(bench: Bench) -> None:
    """However far behind a sink is, no more than a batch of rows is in memory."""

    async def main() -> None:
        ledger = FollowedLedger()
        for _ in range(12):
            ledger.add(*SCENARIOS)
        following = follower(ledger, Failing(bench.open(), "bbb"))
        await until(lambda: following.cursor == ledger.rows[-1].seq)
        await following.aclose()
        assert len(ledger.rows) > 5 * BATCH_ROWS
        assert ledger.largest <= BATCH_ROWS

    asyncio.run(main())
