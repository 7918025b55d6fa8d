"""The follower: problems that can be seen, patience that grows, and an end that comes in time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.app.follower import Follower, make_sink_followers
from ferrule.contracts.sink import Sink
from ferrule.errors import SettingsError
from ferrule.ledger.sinks.callback import CallbackSink
from ferrule.ledger.sinks.jsonl import JsonlSink
from ferrule.ledger.sinks.log import LogSink
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.event import Event
from ferrule.model.journal import StoredEntry
from ferrule.settings import Settings, SinkSettings, load_settings
from tests.contracts.test_sink import Failing, all_events, follower, until
from tests.ledger.history.rows import Ledger
from tests.ledger.sinks.ledgers import FollowedLedger

RECEIVED: list[Event] = []


def receive(event: Event) -> None:
    """For settings that name a function."""
    RECEIVED.append(event)


class Hanging:
    name = "hanging"

    async def cursor(self) -> int | None:
        return 0

    async def write(self, events: Sequence[Event]) -> None:
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        await asyncio.Event().wait()


def test_a_problem_can_be_seen_and_goes_away(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("success")
        problems: list[str | None] = []

        def take(event: Event) -> None:
            problems.append(following.problem)
            if len(problems) < 4:
                raise OSError("no route to host")

        following = follower(ledger, CallbackSink(take, after=0))
        await until(lambda: following.cursor == 1)
        await following.aclose()
        assert problems[0] is None
        assert "'callback'" in str(problems[3]) and "no route to host" in str(problems[3])
        assert "tried 3 times" in str(problems[3]) and "after row 0" in str(problems[3])
        assert following.problem is None

    with caplog.at_level(logging.WARNING, "ferrule.follow"):
        asyncio.run(main())
    assert [record.message for record in caplog.records if "does not take" in record.message][1:] == []
    assert "takes events again" in caplog.text


def test_patience_grows_to_a_bound_with_chance_in_it() -> None:
    store = FollowedLedger().as_store()
    following = Follower(store, Hanging(), source="shop", first_delay=0.1, longest_delay=30, chance=lambda: 1.0)
    delays = [following._note_failure(OSError()) for _ in range(12)]
    assert delays == [pytest.approx(min(30, 0.1 * 2**number)) for number in range(12)]
    impatient = Follower(store, Hanging(), source="shop", first_delay=0.1, chance=lambda: 0.0)
    assert impatient._note_failure(OSError()) == pytest.approx(0.05)


@pytest.mark.parametrize("sink", [Hanging(), Failing(CallbackSink(lambda event: None, after=0), "b" * 10_000)])
def test_closing_ends_in_time_whatever_the_sink_does(sink: Sink) -> None:
    async def main() -> float:
        ledger = FollowedLedger()
        ledger.add("success")
        following = Follower(ledger.as_store(), sink, source="shop", first_delay=60, longest_delay=60)
        following.start()
        await asyncio.sleep(0)
        began = time.monotonic()
        await following.aclose(within=0.2)
        return time.monotonic() - began

    assert asyncio.run(main()) < 1.0


def test_a_broken_sink_slows_nobody_else() -> None:
    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("success", "action")
        got: list[Event] = []
        stuck = follower(ledger, Hanging())
        free = follower(ledger, CallbackSink(got.append, after=0))
        await until(lambda: free.cursor == ledger.rows[-1].seq)
        assert got == all_events(ledger)
        await free.aclose()
        await stuck.aclose(within=0.05)

    asyncio.run(main())


def test_without_a_cursor_it_begins_with_what_comes() -> None:
    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("success")
        got: list[Event] = []
        following = follower(ledger, CallbackSink(got.append))
        await until(lambda: following.cursor is not None)
        ledger.add("denied")
        await until(lambda: following.cursor == 2)
        await following.aclose()
        assert {event.seq for event in got} == {2}

    asyncio.run(main())


def test_news_reaches_sinks_like_any_row(tmp_path: Path) -> None:
    """AT-206, AT-265: progress, requests to cancel and late results, in the order of the ledger."""

    async def main() -> None:
        store = SqliteStore(tmp_path / "ledger.db", Ed25519PrivateKey.generate(), behind_seconds=0.01)
        await store.open()
        got: list[Event] = []
        following = Follower(store, CallbackSink(got.append), source="shop")
        following.start()
        await until(lambda: following.cursor is not None)
        ledger = Ledger()
        ledger.news("inv_1", "progress", {"sequence": 1}, {"sequence": 2})
        ledger.news("inv_1", "cancel_requested", {"by": "ada"})
        ledger.news("inv_1", "late_result", {"status": "succeeded"})
        for entry in ledger.entries:
            store.record(entry)
        await until(lambda: len(got) == 4)
        await following.aclose()
        await store.aclose()
        words = [event.event_type.removeprefix("tool.invocation.") for event in got]
        assert words == ["progress", "progress", "cancel_requested", "late_result"]
        assert [event.event_id for event in got] == ["evt_2_0", "evt_2_1", "evt_3_0", "evt_4_0"]

    asyncio.run(main())


def test_a_ledger_that_cannot_be_read_is_a_problem_not_an_end() -> None:
    class Flaky(FollowedLedger):
        failures = 3

        async def wait_after(self, seq: int, timeout: float) -> bool:
            if self.failures:
                self.failures -= 1
                raise OSError("disk error")
            return await super().wait_after(seq, timeout)

        async def rows_after(self, seq: int, limit: int = 500) -> list[StoredEntry]:
            if self.failures == 2:
                self.failures -= 1
                raise OSError("disk error")
            return await super().rows_after(seq, limit)

    async def main() -> None:
        ledger = Flaky()
        ledger.add("success")
        got: list[Event] = []
        following = follower(ledger, CallbackSink(got.append, after=0))
        await until(lambda: ledger.failures == 0 and following.problem is None)
        ledger.add("denied")
        await until(lambda: following.cursor == 2)
        await following.aclose()
        assert got == all_events(ledger)

    asyncio.run(main())


def test_two_processes_share_one_file(tmp_path: Path) -> None:
    """The second one waits for its turn, and goes on where the first one stopped."""

    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("success")
        path = tmp_path / "events.jsonl"
        first, second = follower(ledger, JsonlSink(path)), follower(ledger, JsonlSink(path))
        await until(lambda: first.cursor == 1 or second.cursor == 1)
        holder, waiting = (first, second) if first.cursor == 1 else (second, first)
        await until(lambda: waiting.problem is not None)
        assert "another process writes" in str(waiting.problem)
        await holder.aclose()
        ledger.add("denied")
        await until(lambda: waiting.cursor == 2)
        await waiting.aclose()
        assert len(path.read_text().splitlines()) == len(all_events(ledger))

    asyncio.run(main())


def test_sinks_from_settings(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text(
        '[[sinks]]\nkind = "jsonl"\npath = "var/events.jsonl"\nlevel = "full"\nfsync = true\n'
        '[[sinks]]\nkind = "log"\n'
        f'[[sinks]]\nkind = "callback"\nfunction = "{__name__}:receive"\n'
    )

    async def main() -> None:
        ledger = FollowedLedger()
        ledger.add("action")
        settings = load_settings(tmp_path)
        following = make_sink_followers(settings.sinks, ledger.as_store(), source="shop", folder=tmp_path)
        assert [type(each.sink) for each in following] == [JsonlSink, LogSink, CallbackSink]
        following[0].start()
        await until(lambda: following[0].cursor == 2)
        await following[0].aclose()
        assert '"arguments":{"order":"o-17"' in (tmp_path / "var" / "events.jsonl").read_text()

    asyncio.run(main())
    assert Settings().sinks == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (SinkSettings(kind="jsonnl"), "jsonl"),
        (SinkSettings(kind="jsonl"), "path"),
        (SinkSettings(kind="log", path="x"), "path"),
        (SinkSettings(kind="callback", function="nowhere:f"), "nowhere:f"),
        (SinkSettings(kind="jsonl", path="x", keep=0), "keep"),
    ],
)
def test_settings_that_cannot_be_used(settings: SinkSettings, words: str, tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(SettingsError, match=words):
            make_sink_followers([settings], FollowedLedger().as_store(), source="shop", folder=tmp_path)

    asyncio.run(main())
