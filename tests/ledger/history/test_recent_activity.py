"""What calls did lately, read from a ledger as it grows, and whether a system is well."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.ledger.history import activity
from ferrule.ledger.history.activity import EVERYBODY, MINUTE, MINUTES, SLOT, SLOTS, CallScope
from ferrule.ledger.history.recent_activity import RecentActivity, judge_health
from ferrule.ledger.stores.memory.store import MemoryStore
from tests.driven import driven
from tests.ledger.history.planned_calls import SECOND, ExpectedCounts, PlannedCall, write_call
from tests.ledger.history.rows import NOON

calls = st.builds(
    PlannedCall,
    st.sampled_from(
        ["read", "action", "approved", "rejected", "lapsed", "asked", "replied", "denied", "canceled", "unfit"]
    ),
    st.integers(0, 3 * 3600),
    st.integers(1, 90_000),
    st.integers(1, 5400),
    st.sampled_from(["ada", "bob"]),
    st.sampled_from(["default", "acme"]),
    st.booleans(),
)


def naive(known: Sequence[ExpectedCounts], scope: CallScope, now: int) -> dict[str, object]:
    """The same numbers, from everything."""
    mine = [
        one
        for one in known
        if scope.tenant in (None, one.made.tenant) and scope.principal in (None, one.made.principal)
    ]
    first = (now // MINUTE - MINUTES + 1) * MINUTE
    lately = [one for one in mine if first <= one.ended_at <= now]
    begun = [one for one in lately if one.made.shape not in ("unfit", "lapsed")]
    ran = [one.latency for one in begun if one.ending in ("succeeded", "failed")]
    answers = [one.answered[1] for one in mine if one.answered is not None and first <= one.answered[0] <= now]
    slot = now // SLOT
    return {
        "minutes": [_endings([one for one in lately if one.ended_at // MINUTE == number]) for number in
                    range(now // MINUTE - MINUTES + 1, now // MINUTE + 1)],
        "last_minute": sum(1 for one in mine if slot - SLOTS < one.ended_at // SLOT <= slot),
        "p50": _percentile(ran, 0.5), "p95": _percentile(ran, 0.95), "answered": _percentile(answers, 0.5),
    }  # fmt: skip


def _endings(some: Sequence[ExpectedCounts]) -> tuple[int, ...]:
    return tuple(
        sum(1 for one in some if one.ending == ending) for ending in ("succeeded", "failed", "denied", "canceled")
    )


def _percentile(values: Sequence[float], share: float) -> float | None:
    return sorted(values)[max(1, ceil(share * len(values))) - 1] if values else None


def count_naively(lately: RecentActivity, scope: CallScope) -> dict[str, object]:
    """What was counted, in the same words."""
    seen = lately.report(scope)
    assert seen.is_whole
    assert seen.whole.calls == sum(counts.calls for _, counts in seen.minutes)
    return {
        "minutes": [(one.succeeded, one.failed, one.denied, one.canceled) for _, one in seen.minutes],
        "last_minute": seen.last_minute,
        "p50": seen.whole.latency.percentile(0.5),
        "p95": seen.whole.latency.percentile(0.95),
        "answered": seen.whole.answered.percentile(0.5),
    }


def same(found: dict[str, object], true: dict[str, object]) -> None:
    for name in ("minutes", "last_minute"):
        assert found[name] == true[name], name
    for name in ("p50", "p95", "answered"):
        assert true[name] in (None, found[name]) or found[name] == pytest.approx(true[name], rel=0.0201), name
        assert (found[name] is None) == (true[name] is None), name


SCOPES = (
    EVERYBODY,
    CallScope("acme"),
    CallScope("default", "ada"),
    CallScope("acme", "bob"),
    CallScope("nobody", "nobody"),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(calls, max_size=25), st.lists(st.integers(0, 3 * 3600), max_size=4), st.integers(0, 6 * 3600))
def test_what_is_counted_on_the_way_is_what_a_count_of_everything_gives(
    made: list[PlannedCall], looks: list[int], end: int
) -> None:
    """Whenever somebody looks, and however long nobody did."""
    rows, known = [], []
    for number, one in enumerate(made):
        entries, facts = write_call(one, f"inv_{number}")
        rows += entries
        known.append(facts)
    rows.sort(key=lambda entry: entry.at)

    async def story() -> None:
        store, now = MemoryStore(clock=lambda: NOON), 0
        await store.open()
        lately = RecentActivity(store, lambda: now)
        for moment in sorted([*(NOON + look * SECOND for look in looks), NOON + end * SECOND]):
            while rows and rows[0].at <= moment:
                await store.commit(rows.pop(0))
            now = moment
            assert await lately.catch_up(20)
            so_far = [one for one in known if one.ended_at <= moment]
            asked = [one for one in known if one.answered is not None and one.answered[0] <= moment]
            for scope in SCOPES:
                true = naive(so_far, scope, now)
                true["answered"] = naive(asked, scope, now)["answered"]
                same(count_naively(lately, scope), true)
        await lately.aclose()

    asyncio.run(story())


async def filled(count: int, *, first: int = 0, store: MemoryStore | None = None) -> MemoryStore:
    """A ledger with so many quick calls, one a second."""
    store = store or MemoryStore(clock=lambda: NOON)
    await store.open()
    for number in range(first, first + count):
        entries, _ = write_call(PlannedCall("read", number, 5, 1, "ada", "default", False), f"inv_{number}")
        for entry in entries:
            await store.commit(entry)
    return store


@driven
async def test_rows_of_another_process_are_counted_too() -> None:
    store = await filled(3)
    lately = RecentActivity(store, lambda: NOON + 60 * SECOND)
    assert await lately.catch_up(20)
    await filled(2, first=3, store=store.sibling())
    assert await lately.catch_up(20)
    assert lately.report(EVERYBODY).whole.calls == 5


@driven
async def test_an_earlier_ledger_put_back_is_counted_from_its_beginning() -> None:
    store = await filled(5)
    lately = RecentActivity(store, lambda: NOON + 60 * SECOND)
    assert await lately.catch_up(20)
    store.ledger = (await filled(7, first=1)).ledger  # rows with the same numbers, which are others
    assert await lately.catch_up(20)
    assert lately.report(EVERYBODY).whole.calls == 7


@driven
async def test_a_clock_that_was_set_back_changes_nothing_that_was_counted() -> None:
    store, clock = await filled(3), [NOON + 60 * SECOND]
    lately = RecentActivity(store, lambda: max(clock[0], store.high_water()))
    assert await lately.catch_up(20)
    clock[0] = NOON - 7200 * SECOND
    await filled(2, first=-7000, store=store.sibling())  # the ledger's own time never goes back
    assert await lately.catch_up(20)
    seen = lately.report(EVERYBODY)
    assert (seen.whole.calls, sum(counts.calls for _, counts in seen.minutes)) == (5, 5)


@driven
async def test_who_asks_while_much_is_read_gets_what_there_is_and_the_rest_is_read_behind() -> None:
    store = await filled(600)
    lately = RecentActivity(store, lambda: NOON + 700 * SECOND)
    assert not await lately.catch_up(0)
    assert lately.report(EVERYBODY).whole.calls < 600
    assert await lately.catch_up(20)
    assert lately.report(EVERYBODY).whole.calls == 600


def reached(*times: tuple[int, int, int, int]) -> list[tuple[int, activity.SystemCalls]]:
    """Minutes of a system: which, calls, of them unreached, milliseconds of each."""
    found = []
    for minute, calls, unreached, milliseconds in times:
        one = activity.SystemCalls()
        one.calls, one.unreached = calls, unreached
        for _ in range(calls):
            one.latency.add(milliseconds * 1000)
        found.append((minute * MINUTE, one))
    return found


def test_a_system_without_calls_has_no_verdict() -> None:
    assert judge_health([], 60 * MINUTE).health == "quiet"


def test_a_steady_system_is_healthy_however_long_it_takes() -> None:
    verdict = judge_health(reached((10, 5, 0, 4000), (30, 5, 0, 4100), (59, 5, 0, 4000)), 60 * MINUTE)
    assert (verdict.health, verdict.calls, verdict.since) == ("healthy", 15, None)


def test_a_system_that_takes_longer_than_usual_is_slow_since_then() -> None:
    usual = [(minute, 5, 0, 50) for minute in range(40, 57)]
    verdict = judge_health(reached(*usual, (57, 5, 0, 800), (58, 5, 0, 900), (59, 5, 0, 850)), 60 * MINUTE)
    assert (verdict.health, verdict.since) == ("slow", 57 * MINUTE)


def test_a_system_that_cannot_be_reached_is_failing_since_then() -> None:
    verdict = judge_health(reached((50, 9, 0, 5), (55, 9, 1, 5), (58, 4, 4, 5), (59, 3, 2, 5)), 60 * MINUTE)
    assert (verdict.health, verdict.since, verdict.unreached) == ("failing", 58 * MINUTE, 7)
    better = judge_health(reached((50, 9, 9, 5), (59, 9, 1, 5)), 60 * MINUTE)
    assert better.health == "healthy"
