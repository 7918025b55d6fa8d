"""What every ledger promises. Another kind of store joins by one more class in `LEDGERS`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import CallsWanted, CommitCondition, Committed, EndingCount, Store
from ferrule.errors import LedgerUnavailable
from ferrule.ledger.chain import START
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import Mark
from tests.ledger.stores.entries import AT, make_ended, make_entry, make_news, make_parked, make_running, make_switch

WAIT = 20.0
FREE = CommitCondition(states=frozenset())
"""The call must not be open."""


class Ledger(Protocol):
    """One ledger that several stores, as of several processes, may open."""

    def store(self) -> Store:
        """Another store over it."""

    def crash(self, store: Store) -> None:
        """End a store as death would, once everything recorded is written."""


class MemoryLedgers:
    """Stores in memory that share."""

    def __init__(self, folder: Path) -> None:
        self._first = MemoryStore()

    def store(self) -> Store:
        return self._first.sibling()

    def crash(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        store.crash()


class SqliteLedgers:
    """Stores on one file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger.db"
        self._key = Ed25519PrivateKey.generate()

    def store(self) -> Store:
        return SqliteStore(self._path, self._key, behind_seconds=0.05)

    def crash(self, store: Store) -> None:
        assert isinstance(store, SqliteStore)
        store._place.release()  # what the system does with a dead process's locks


LEDGERS: tuple[type[MemoryLedgers] | type[SqliteLedgers], ...] = (MemoryLedgers, SqliteLedgers)
Story = Callable[[Store], Awaitable[None]]


@pytest.fixture(params=LEDGERS, ids=lambda kind: kind.__name__.removesuffix("Ledgers").lower())
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger of each kind."""
    yield request.param(tmp_path)


def tell(ledger: Ledger, story: Story) -> None:
    """Run a story with one open store."""

    async def main() -> None:
        store = ledger.store()
        await store.open()
        try:
            await story(store)
        finally:
            await store.aclose()

    asyncio.run(asyncio.wait_for(main(), WAIT))


def tell_of_two(ledger: Ledger, story: Callable[[Store, Store], Awaitable[None]]) -> None:
    """Run a story with two open stores."""

    async def main(store: Store) -> None:
        other = ledger.store()
        await other.open()
        try:
            await story(store, other)
        finally:
            await other.aclose()

    tell(ledger, main)


def test_a_new_ledger_begins_with_a_row_that_names_it(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        (first,) = await store.rows_after(0)
        assert (first.seq, first.kind, first.call) == (1, "opened", "")
        assert first.facts()["ledger"].startswith("ldg_")
        assert first.hash != START

    tell(ledger, story)


def test_rows_are_numbered_in_the_order_they_came(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        store.record(make_entry("a"))
        written = await store.commit(make_entry("b"))
        store.record(make_entry("c"))
        await store.flush()
        rows = await store.rows_after(1)
        assert [(row.seq, row.call) for row in rows] == [(2, "a"), (3, "b"), (4, "c")]
        assert written == Committed("written", 3)
        assert await store.rows_after(2, limit=1) == rows[1:2]
        assert await store.rows_after(4) == []

    tell(ledger, story)


def test_what_was_recorded_is_written_within_a_second(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        store.record(make_entry("a"))
        assert await store.wait_after(1, timeout=1.0)
        assert [row.call for row in await store.rows_after(1)] == ["a"]

    tell(ledger, story)


def test_a_call_gives_back_its_rows_with_what_was_just_recorded(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_running("a", store.instance))
        store.record(make_entry("b"))
        store.record(make_ended("a"))
        rows = await store.rows_of("a")
        assert [row.kind for row in rows] == ["started", "ended"]
        payload = rows[0].inputs()
        assert payload is not None and payload.model_input == b'{"a": 1}'
        assert not rows[0].is_erased
        assert await store.rows_of("nobody") == []
        assert await store.rows_of("") == []

    tell(ledger, story)


def test_news_of_a_call_stands_beside_its_rows(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        store.record(make_news("a", "progress", sequence=1, percent=10))
        await store.commit(make_running("a", store.instance))
        store.record(make_news("b", "progress", sequence=1))
        await store.commit(make_news("a", "cancel_requested", reason="too slow"))
        await store.commit(make_ended("a"))
        store.record(make_news("a", "late_result"))
        assert [row.kind for row in await store.rows_of("a")] == ["started", "ended"]
        assert await store.rows_of("b") == []
        for each in (store, other):
            found = await each.news_of("a")
            assert [row.outcome for row in found] == ["progress", "cancel_requested", "late_result"]
            assert [row.outcome for row in await each.news_of("a", found[0].seq)] == ["cancel_requested", "late_result"]
            assert await each.news_of("a", found[-1].seq) == []
            assert await each.news_of("a", 0, 1) == found[:1]
        assert found[0].news().sequence == 1
        assert found[1].news().happened[0]["data"] == {"reason": "too slow"}
        assert await store.news_of("nobody") == await store.news_of("") == []
        assert [row.kind for row in await store.rows_after(1)] == [
            "news", "started", "news", "news", "ended", "news",
        ]  # fmt: skip
        assert [row.call for row in await store.rows_before(None, kinds=("news",), outcome="progress")] == ["b", "a"]

    tell_of_two(ledger, story)


def test_news_moves_no_call(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        started = await store.commit(make_running("a", store.instance))
        opened, generation = await store.find_open("a"), store.generation()
        await store.commit(make_news("a", "cancel_requested"))
        store.record(make_news("a", "progress"))
        await store.flush()
        assert await store.find_open("a") == opened
        assert store.generation() == generation
        assert (await store.commit(make_ended("a"), CommitCondition(seq=started.seq))).outcome == "written"
        still = CommitCondition(states=frozenset({"running"}))
        assert await store.commit(make_news("a", "cancel_requested"), still) == Committed("state_changed", state="")
        assert await store.open_calls() == []

    tell(ledger, story)


def test_everybody_hears_of_requests_to_cancel(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        assert await other.cancel_requests(0) == []
        await store.commit(make_running("a", other.instance))
        store.record(make_news("a", "progress"))
        first = await store.commit(make_news("a", "cancel_requested", by="ada"))
        await store.commit(make_news("a", "cancel_acknowledged"))
        store.record(make_entry("cancel_requested", outcome="cancel_requested"))
        second = await store.commit(make_news("b", "cancel_requested", by="bob"))
        found = await other.cancel_requests(0)
        assert [(row.seq, row.call, row.news().happened[0]["data"]) for row in found] == [
            (first.seq, "a", {"by": "ada"}), (second.seq, "b", {"by": "bob"}),
        ]  # fmt: skip
        assert [row.seq for row in await other.cancel_requests(first.seq)] == [second.seq]
        assert await other.cancel_requests(second.seq) == []

    tell_of_two(ledger, story)


def test_rows_before_a_number_come_newest_first_and_filtered(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        for number in range(6):
            store.record(
                make_entry(f"c{number}", tool=f"t{number % 2}", outcome="failed" if number > 3 else "succeeded")
            )
        store.record(make_switch("t1", "off"))
        assert [row.call for row in await store.rows_before(None, limit=3)] == ["", "c5", "c4"]
        assert [row.call for row in await store.rows_before(4)] == ["c1", "c0", ""]
        assert [row.call for row in await store.rows_before(None, tool="t1", kinds=("call",))] == ["c5", "c3", "c1"]
        assert [row.call for row in await store.rows_before(None, tool="t1", outcome="failed")] == ["c5"]
        assert [row.kind for row in await store.rows_before(None, kinds=("switch", "opened"))] == ["switch", "opened"]
        assert await store.rows_before(1) == []

    tell(ledger, story)


def test_calls_before_a_number_are_told_by_their_first_rows(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        store.record(make_entry("a"))  # 2
        await store.commit(make_running("b", store.instance))  # 3
        store.record(make_news("b", "progress"))
        store.record(make_entry("c", outcome="failed", tool="demo.mul"))  # 5
        await store.commit(make_parked("d"))  # 6
        await store.commit(make_switch("demo.mul", "off"))
        await store.commit(make_ended("b"))
        store.record(make_news("e", "progress"))  # its own rows are still to come

        async def found(seq: int | None = None, limit: int = 50, **wanted: Any) -> list[str]:
            return [row.call for row in await store.calls_before(seq, limit, CallsWanted(**wanted))]

        assert [(row.call, row.seq) for row in await store.calls_before(None)] == [
            ("d", 6),
            ("c", 5),
            ("b", 3),
            ("a", 2),
        ]
        assert await found(6, 2) == ["c", "b"]
        assert await found(after=3) == ["d", "c"]
        assert await found(tool="demo.mul") == ["c"]
        assert await found(tool="mul") == ["c"]
        assert await found(tool="ul") == await found(tool="demo") == []
        assert await found(outcomes=("succeeded",)) == ["b", "a"]
        assert await found(outcomes=("failed", "awaiting_approval")) == ["d", "c"]
        assert await found(outcomes=("running",)) == [], "it was so once, and is not now"
        assert await found(holding=(b"c",)) == ["d", "c", "b", "a"], "each body has the word call in it"
        assert await found(holding=(b"\xa1c", b"call")) == ["c"]
        assert await found(5, tool="add", outcomes=("succeeded",), holding=(b"call",)) == ["b", "a"]
        several = await store.rows_of_calls(["b", "nobody", "", "a"])
        assert {call: [row.kind for row in rows] for call, rows in several.items()} == {
            "a": ["call"],
            "b": ["started", "ended"],
        }
        assert await store.rows_of_calls([]) == {}

    tell(ledger, story)


def test_rows_are_found_by_their_time(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_entry("now"))
        (_, first) = await store.rows_after(0)
        for number in range(1, 8):
            store.record(make_entry(f"{number}", at=first.at + number * 10))
        await store.flush()
        assert await store.seq_at(0) == 1
        assert await store.seq_at(first.at + 10) == 3
        assert await store.seq_at(first.at + 11) == await store.seq_at(first.at + 20) == 4
        assert await store.seq_at(first.at + 1000) == 10

    tell(ledger, story)


def test_endings_are_counted_by_time_and_outcome(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_entry("first"))
        (_, first) = await store.rows_after(0)
        start = first.at // 1000 * 1000 + 1000
        for at, outcome in ((0, "succeeded"), (1, "failed"), (999, "succeeded"), (1000, "succeeded"), (2500, "denied")):
            store.record(make_entry(f"{at}", at=start + at, outcome=outcome))
        store.record(make_entry("other", at=start + 2600, tool="demo.mul"))
        await store.commit(make_parked("waits"))
        await store.flush()
        assert await store.endings(2, 100, 1000) == [
            EndingCount(start, "failed", 1),
            EndingCount(start, "succeeded", 2),
            EndingCount(start + 1000, "succeeded", 1),
            EndingCount(start + 2000, "denied", 1),
            EndingCount(start + 2000, "succeeded", 1),
        ]
        assert await store.endings(2, 100, 1000, "mul") == [EndingCount(start + 2000, "succeeded", 1)]
        assert await store.endings(3, 5, 1000) == [EndingCount(start, "failed", 1)]
        assert await store.endings(100, 200, 1000) == []

    tell(ledger, story)


def test_many_endings_are_counted_alike_however_often(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_entry("first"))
        (_, first) = await store.rows_after(0)
        start, minute = first.at // 60_000_000 * 60_000_000 + 60_000_000, 60_000_000
        outcomes = ("succeeded", "failed", "denied")
        for number in range(5_000):
            store.record(make_entry(f"c{number}", at=start + number * minute // 100, outcome=outcomes[number % 7 % 3]))
        await store.flush()
        for after, before in ((0, 10_000), (2, 4_900), (2_047, 4_097), (2_048, 4_096), (3_000, 3_100), (4_999, 5_002)):
            for width in (minute, 5 * minute):
                rows = [row for row in await store.rows_after(after, 6_000) if row.seq < before and row.kind == "call"]
                wanted = Counter((row.at // width * width, row.outcome) for row in rows)
                for _ in range(2):
                    found = await store.endings(after, before, width)
                    assert {(one.at, one.outcome): one.calls for one in found} == dict(wanted)
                    assert found == sorted(found)
        for number in range(50):
            store.record(make_entry(f"later{number}", at=start + 60 * minute, outcome="failed"))
        assert sum(one.calls for one in await store.endings(0, 10_000, minute)) == 5_051

    tell(ledger, story)


def test_time_never_goes_backwards(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        later = max(AT, store.high_water()) + 5_000_000
        await store.commit(make_entry("a", at=later))
        await store.commit(make_entry("b", at=AT))
        assert [row.at for row in await store.rows_after(1)] == [later, later]
        assert store.high_water() == later

    tell(ledger, story)


def test_open_calls_follow_the_marks(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_parked("a", agent="helper", tenant="t", expires_at=7))
        await store.commit(make_running("b", store.instance))
        first, second = await store.open_calls()
        assert (first.call, first.state, first.agent, first.tenant, first.expires_at) == (
            "a", "awaiting_approval", "helper", "t", 7,
        )  # fmt: skip
        assert (second.call, second.owner, second.seq) == ("b", store.instance, 3)
        assert [call.call for call in await store.open_calls("running", "queued")] == ["b"]
        assert await store.find_open("a") == first
        await store.commit(make_ended("a"))
        assert await store.find_open("a") is None
        assert [call.call for call in await store.open_calls()] == ["b"]

    tell(ledger, story)


def test_recorded_marks_count_at_once(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        store.record(make_entry("a", Mark(key=b"k", input_digest=b"1")))
        holder = await store.find_key(b"k")
        assert holder is not None and (holder.call, holder.input_digest) == ("a", b"1")
        store.record(make_switch("t", "off"))
        assert [switch.tool_id for switch in await store.list_disabled()] == ["t"]

    tell(ledger, story)


def test_a_row_is_written_only_in_the_states_it_names(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_parked("a"), FREE)
        again = await store.commit(make_parked("a"), FREE)
        assert again == Committed("state_changed", state="awaiting_approval")
        approved = CommitCondition(states=frozenset({"approved"}))
        assert (await store.commit(make_running("a", "x"), approved)).state == "awaiting_approval"
        assert (await store.commit(make_running("b", "x"), approved)) == Committed("state_changed", state="")
        await store.commit(make_parked("a", state="approved"), CommitCondition(states=frozenset({"awaiting_approval"})))
        assert (await store.commit(make_running("a", "x"), approved)).outcome == "written"
        assert len(await store.rows_of("a")) == 3

    tell(ledger, story)


def test_a_row_is_written_only_for_the_owner_it_names(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        await store.commit(make_running("a", "one"))
        assert (await store.commit(make_ended("a"), CommitCondition(owner="two"))).outcome == "state_changed"
        assert (await store.commit(make_ended("a"), CommitCondition(owner="one"))).outcome == "written"
        assert (await store.commit(make_ended("a"), CommitCondition(owner="one"))).outcome == "state_changed"

    tell(ledger, story)


def test_a_row_is_written_only_when_nothing_happened_in_between(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        first = await store.commit(make_parked("a"))
        second = await store.commit(make_parked("a"), CommitCondition(seq=first.seq))
        assert second.outcome == "written"
        assert (await store.commit(make_ended("a"), CommitCondition(seq=first.seq))).outcome == "state_changed"
        assert (await store.commit(make_ended("a"), CommitCondition(seq=second.seq))).outcome == "written"

    tell(ledger, story)


def test_a_key_belongs_to_its_first_call(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        free = CommitCondition(key_is_free=True)
        mark = {"key": b"k", "input_digest": b"1"}
        assert (await store.commit(make_running("a", "x", **mark), free)).outcome == "written"
        assert (await store.commit(make_ended("a", **mark), free)).outcome == "written"
        assert await store.commit(make_running("b", "x", **mark), free) == Committed("key_taken", holder="a")
        other = {"key": b"k", "input_digest": b"2"}
        assert await store.commit(make_running("b", "x", **other), free) == Committed("key_conflict", holder="a")
        assert await store.find_key(b"other") is None
        assert (await store.commit(make_running("c", "x"), free)).outcome == "written"

    tell(ledger, story)


def test_a_run_makes_no_more_calls_than_allowed(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        def call(name: str, tool: str) -> Mark:
            return Mark(counted_run="r", tool_id=tool)

        limits = CommitCondition(run_limits=(("t1", 2), ("*", 3)))
        for name, tool in (("a", "t1"), ("b", "t1")):
            assert (await store.commit(make_entry(name, call(name, tool)), limits)).outcome == "written"
        assert await store.commit(make_entry("c", call("c", "t1")), limits) == Committed("limit_reached", limit="t1")
        assert (await store.commit(make_entry("d", call("d", "t2")), limits)).outcome == "written"
        assert await store.commit(make_entry("e", call("e", "t2")), limits) == Committed("limit_reached", limit="*")
        other = make_entry("f", Mark(counted_run="s", tool_id="t1"))
        assert (await store.commit(other, limits)).outcome == "written"

    tell(ledger, story)


def test_concurrent_calls_of_a_run_stay_within_its_limit(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        limits = CommitCondition(run_limits=(("*", 10),))
        calls = [make_entry(f"c{number}", Mark(counted_run="r", tool_id=f"t{number % 3}")) for number in range(50)]
        results = await asyncio.gather(*(store.commit(call, limits) for call in calls))
        assert sum(result.outcome == "written" for result in results) == 10

    tell(ledger, story)


def test_switches_follow_the_marks_and_change_the_generation(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        before = other.generation()
        await store.commit(make_switch("t", "off"))
        changed = other.generation()
        assert changed != before
        assert [(each.tool_id, each.seq) for each in await other.list_disabled()] == [("t", 2)]
        await other.commit(make_switch("t", "on"))
        assert await store.list_disabled() == []
        assert store.generation() != changed

    tell_of_two(ledger, story)


def test_the_generation_stays_while_plain_calls_are_made(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        before = other.generation()
        store.record(make_entry("a"))
        await store.commit(make_running("b", store.instance))
        await store.commit(make_ended("b"))
        assert other.generation() == before
        store.bump()
        assert other.generation() != before

    tell_of_two(ledger, story)


def test_exactly_one_of_many_takes_up_a_call(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        for name in ("a", "b", "c"):
            await store.commit(make_parked(name, state="approved"))
            condition = CommitCondition(states=frozenset({"approved"}))
            claims = [
                each.commit(make_running(name, each.instance), condition) for each in (store, other) for _ in range(20)
            ]
            results = await asyncio.gather(*claims)
            assert sum(result.outcome == "written" for result in results) == 1

    tell_of_two(ledger, story)


def test_a_cancellation_comes_after_the_outcome(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        outcomes: list[Committed] = []

        async def committing(name: str) -> None:
            outcomes.append(await store.commit(make_running(name, store.instance)))
            await asyncio.Event().wait()  # where the cancellation strikes

        for looks in range(1, 5):
            task = asyncio.create_task(committing(f"call-{looks}"))
            for _ in range(looks):
                await asyncio.sleep(0)
            task.cancel()
            (ended,) = await asyncio.gather(task, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError)
            assert [outcome.outcome for outcome in outcomes] == ["written"] * looks
        assert len(await store.open_calls()) == len(outcomes)

    tell(ledger, story)


def test_concurrent_duplicates_run_once(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        free = CommitCondition(states=frozenset(), key_is_free=True)
        claims = [
            each.commit(make_running(f"{number}-{each.instance}", each.instance, key=b"k", input_digest=b"1"), free)
            for number in range(20)
            for each in (store, other)
        ]
        results = await asyncio.gather(*claims)
        written = [result for result in results if result.outcome == "written"]
        assert len(written) == 1
        assert {result.holder for result in results} - {""} == {(await store.open_calls())[0].call}

    tell_of_two(ledger, story)


def test_whoever_waits_hears_of_rows_of_others(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        waiting = asyncio.create_task(other.wait_after(1, timeout=WAIT))
        await asyncio.sleep(0)
        await store.commit(make_entry("a"))
        assert await waiting
        assert [row.call for row in await other.rows_after(1)] == ["a"]
        assert not await other.wait_after(2, timeout=0.01)

    tell_of_two(ledger, story)


def test_the_latest_time_is_known_to_others(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        later = store.high_water() + 9_000_000
        await store.commit(make_entry("a", at=later))
        assert other.high_water() == later

    tell_of_two(ledger, story)


def test_only_running_calls_of_the_dead_are_abandoned(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        await store.commit(make_running("mine", store.instance))
        await other.commit(make_running("theirs", other.instance))
        await other.commit(make_parked("parked", owner=other.instance))
        assert await store.find_abandoned() == []
        assert await other.find_abandoned() == []
        ledger.crash(other)
        assert [call.call for call in await store.find_abandoned()] == ["theirs"]

    tell_of_two(ledger, story)


def test_calls_of_a_store_that_was_closed_are_abandoned(ledger: Ledger) -> None:
    async def story(store: Store, other: Store) -> None:
        await other.commit(make_running("theirs", other.instance))
        await other.aclose()
        assert [call.call for call in await store.find_abandoned()] == ["theirs"]

    tell_of_two(ledger, story)


def test_everything_is_there_after_closing_and_opening_again(ledger: Ledger) -> None:
    async def first(store: Store) -> None:
        store.record(make_entry("a"))
        await store.commit(make_parked("b", key=b"k", input_digest=b"1", counted_run="r"))
        await store.commit(make_switch("t", "off"))
        store.record(make_entry("c"))

    async def second(store: Store) -> None:
        rows = [row for row in await store.rows_after(0) if row.kind != "opened"]
        assert [row.call for row in rows] == ["a", "b", "", "c"]
        assert [call.call for call in await store.open_calls()] == ["b"]
        assert [each.tool_id for each in await store.list_disabled()] == ["t"]
        limit = CommitCondition(run_limits=(("demo.pay", 1),))
        refused = await store.commit(make_ended("b", counted_run="r"), limit)
        assert refused.outcome == "limit_reached"
        holder = await store.find_key(b"k")
        assert holder is not None and holder.call == "b"
        assert store.high_water() >= rows[-1].at

    tell(ledger, first)
    tell(ledger, second)


def test_nothing_is_taken_after_closing(ledger: Ledger) -> None:
    async def main() -> None:
        store = ledger.store()
        await store.open()
        await store.aclose()
        await store.aclose()
        with pytest.raises(LedgerUnavailable):
            store.record(make_entry("a"))
        with pytest.raises(LedgerUnavailable):
            await store.commit(make_entry("a"))

    asyncio.run(asyncio.wait_for(main(), WAIT))


def test_an_entry_that_cannot_be_stored_is_refused_and_harms_no_other(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        bad = make_entry("bad", body={"it": object()})
        results = await asyncio.gather(
            store.commit(make_entry("a")), store.commit(bad), store.commit(make_entry("b")), return_exceptions=True
        )
        assert isinstance(results[1], LedgerUnavailable)
        assert [row.call for row in await store.rows_after(1)] == ["a", "b"]

    tell(ledger, story)


def test_many_tasks_at_once_each_get_their_own_row(ledger: Ledger) -> None:
    async def story(store: Store) -> None:
        names = [f"c{number}" for number in range(300)]
        results = await asyncio.gather(*(store.commit(make_entry(name)) for name in names))
        rows = {row.seq: row.call for row in await store.rows_after(1)}
        assert [rows[result.seq] for result in results] == names

    tell(ledger, story)
