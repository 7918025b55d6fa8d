"""What calls did lately: counted row by row, and held against a count of everything from the beginning."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import ceil
from statistics import median_low
from typing import Literal, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.ledger.history import activity
from ferrule.ledger.history.activity import EVERYBODY, MINUTE, MINUTES, SLOT, SLOTS, Activity, Counts, Scope
from ferrule.ledger.history.recent_activity import Lately, verdict_of
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.journal import Entry
from tests.driven import driven
from tests.ledger.history.rows import NOON, Ledger, Writer

SECOND = 1_000_000
Shape = Literal["read", "action", "approved", "rejected", "lapsed", "asked", "replied", "denied", "canceled", "unfit"]


class Made(NamedTuple):
    """A call as a test wants it: what it does, how long it runs and how long somebody is waited for."""

    shape: Shape
    start: int
    """Seconds after noon."""
    run_ms: int
    wait_seconds: int
    principal: str
    tenant: str
    fails: bool


class Known(NamedTuple):
    """What is true of a call, by what was asked for."""

    made: Made
    ended_at: int
    ending: str
    latency: float
    answered: tuple[int, float] | None
    """When a person answered, and how long that took, in microseconds."""


calls = st.builds(
    Made,
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


def written(made: Made, call: str) -> tuple[list[Entry], Known]:
    """The rows of a call, and what is true of it."""
    ledger = Ledger()
    writer = Writer(ledger, call, tool="shop.thing", principal=made.principal, created_at=NOON + made.start * SECOND)
    writer.header = msgspec.structs.replace(writer.header, tenant=made.tenant)
    writer.enter("planned", "selected", "arguments_ready").through("permission")
    waited, answered, ending = 0, None, "succeeded"
    match made.shape:
        case "denied":
            writer.enter("denied").row("call", status="denied", error=writer.error("permission_denied"))
            ending = "denied"
        case "unfit":
            writer.enter("validation_failed").row("call", status="failed", error=writer.error("invalid_arguments"))
            ending = "failed"
        case "read":
            ending = _run(writer, made, "call")
        case "action":
            writer.enter("running").row("started")
            ending = _run(writer, made, "ended")
        case "canceled":
            writer.enter("running").row("started")
            writer.wait(made.run_ms / 1000).enter("canceled")
            writer.row("ended", status="canceled", error=writer.error("canceled"))
            ending = "canceled"
        case "approved" | "rejected" | "lapsed":
            request = writer.request()
            writer.enter("awaiting_approval").row("parked", request=request)
            began = writer.now - writer.tick
            writer.wait(made.wait_seconds)
            answer = writer.answer("approve" if made.shape == "approved" else "reject")
            took = float(answer.answered_at - request.requested_at)
            waited = writer.now - began
            if made.shape == "approved":
                writer.enter("approved").row("answered", answer=answer)
                answered = (ledger.rows[-1].at, took)
                writer.enter("running").row("started")
                ending = _run(writer, made, "ended")
            elif made.shape == "rejected":
                writer.enter("denied").row("ended", error=writer.error("approval_rejected"), answer=answer)
                answered, ending = (ledger.rows[-1].at, took), "denied"
            else:
                writer.enter("timed_out").row("ended", error=writer.error("timeout"))
                ending = "failed"
        case "asked" | "replied":
            is_reply = made.shape == "replied"
            request = writer.enter("running").request("input", is_reply_only=is_reply)
            writer.enter("needs_input").row("parked", request=request)
            began = writer.now - writer.tick
            answer = writer.wait(made.wait_seconds).answer("approve")
            writer.row("answered", answer=answer)
            if not is_reply:
                waited = writer.now - began
                answered = (ledger.rows[-1].at, float(answer.answered_at - request.requested_at))
            writer.enter("running")
            ending = _run(writer, made, "ended")
    latency = (writer.now - writer.tick - waited) / 1000
    return ledger.entries, Known(made, ledger.rows[-1].at, ending, latency, answered)


def _run(writer: Writer, made: Made, kind: Literal["call", "ended"]) -> str:
    if kind == "call":
        writer.enter("running")
    writer.wait(made.run_ms / 1000).through("emit_terminal", "execute")
    writer.enter("failed" if made.fails else "succeeded")
    writer.row(kind, error=writer.error("execution_failed") if made.fails else None)
    return "failed" if made.fails else "succeeded"


def naive(known: Sequence[Known], scope: Scope, now: int) -> dict[str, object]:
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


def _endings(some: Sequence[Known]) -> tuple[int, ...]:
    return tuple(
        sum(1 for one in some if one.ending == ending) for ending in ("succeeded", "failed", "denied", "canceled")
    )


def _percentile(values: Sequence[float], share: float) -> float | None:
    return sorted(values)[max(1, ceil(share * len(values))) - 1] if values else None


def counted(lately: Lately, scope: Scope) -> dict[str, object]:
    """What was counted, in the same words."""
    seen = lately.seen(scope)
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


SCOPES = (EVERYBODY, Scope("acme"), Scope("default", "ada"), Scope("acme", "bob"), Scope("nobody", "nobody"))


@settings(max_examples=60, deadline=None)
@given(st.lists(calls, max_size=25), st.lists(st.integers(0, 3 * 3600), max_size=4), st.integers(0, 6 * 3600))
def test_what_is_counted_on_the_way_is_what_a_count_of_everything_gives(
    made: list[Made], looks: list[int], end: int
) -> None:
    """Whenever somebody looks, and however long nobody did."""
    rows, known = [], []
    for number, one in enumerate(made):
        entries, facts = written(one, f"inv_{number}")
        rows += entries
        known.append(facts)
    rows.sort(key=lambda entry: entry.at)

    async def story() -> None:
        store, now = MemoryStore(clock=lambda: NOON), 0
        await store.open()
        lately = Lately(store, lambda: now)
        for moment in sorted([*(NOON + look * SECOND for look in looks), NOON + end * SECOND]):
            while rows and rows[0].at <= moment:
                await store.commit(rows.pop(0))
            now = moment
            assert await lately.caught_up(20)
            so_far = [one for one in known if one.ended_at <= moment]
            asked = [one for one in known if one.answered is not None and one.answered[0] <= moment]
            for scope in SCOPES:
                true = naive(so_far, scope, now)
                true["answered"] = naive(asked, scope, now)["answered"]
                same(counted(lately, scope), true)
        await lately.aclose()

    asyncio.run(story())


async def filled(count: int, *, first: int = 0, store: MemoryStore | None = None) -> MemoryStore:
    """A ledger with so many quick calls, one a second."""
    store = store or MemoryStore(clock=lambda: NOON)
    await store.open()
    for number in range(first, first + count):
        entries, _ = written(Made("read", number, 5, 1, "ada", "default", False), f"inv_{number}")
        for entry in entries:
            await store.commit(entry)
    return store


@driven
async def test_rows_of_another_process_are_counted_too() -> None:
    store = await filled(3)
    lately = Lately(store, lambda: NOON + 60 * SECOND)
    assert await lately.caught_up(20)
    await filled(2, first=3, store=store.sibling())
    assert await lately.caught_up(20)
    assert lately.seen(EVERYBODY).whole.calls == 5


@driven
async def test_an_earlier_ledger_put_back_is_counted_from_its_beginning() -> None:
    store = await filled(5)
    lately = Lately(store, lambda: NOON + 60 * SECOND)
    assert await lately.caught_up(20)
    store.ledger = (await filled(7, first=1)).ledger  # rows with the same numbers, which are others
    assert await lately.caught_up(20)
    assert lately.seen(EVERYBODY).whole.calls == 7


@driven
async def test_a_clock_that_was_set_back_changes_nothing_that_was_counted() -> None:
    store, clock = await filled(3), [NOON + 60 * SECOND]
    lately = Lately(store, lambda: max(clock[0], store.high_water()))
    assert await lately.caught_up(20)
    clock[0] = NOON - 7200 * SECOND
    await filled(2, first=-7000, store=store.sibling())  # the ledger's own time never goes back
    assert await lately.caught_up(20)
    seen = lately.seen(EVERYBODY)
    assert (seen.whole.calls, sum(counts.calls for _, counts in seen.minutes)) == (5, 5)


@driven
async def test_who_asks_while_much_is_read_gets_what_there_is_and_the_rest_is_read_behind() -> None:
    store = await filled(600)
    lately = Lately(store, lambda: NOON + 700 * SECOND)
    assert not await lately.caught_up(0)
    assert lately.seen(EVERYBODY).whole.calls < 600
    assert await lately.caught_up(20)
    assert lately.seen(EVERYBODY).whole.calls == 600


def test_more_callers_than_are_told_apart_leave_the_whole_right_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "MOST_CELLS", 6)
    counts, now = Activity(), NOON + 60 * SECOND
    for number in range(20):
        ledger = Ledger()
        entries, _ = written(Made("read", 1, 5, 1, f"p{number}", "default", False), f"inv_{number}")
        counts.take(ledger.add(entries[0]))
    assert counts.seen(EVERYBODY, now).whole.calls == 20
    assert counts.seen(Scope("default"), now).whole.calls == 20
    last = counts.seen(Scope("default", "p19"), now)
    assert (last.whole.calls, last.is_whole) == (0, False)


def test_a_damaged_row_is_passed_over() -> None:
    ledger, counts = Ledger(), Activity()
    for entry in written(Made("read", 1, 5, 1, "ada", "default", False), "inv_1")[0]:
        row = ledger.add(entry)
    counts.take(msgspec.structs.replace(row, body=b"\xc1", seq=1))
    counts.take(row)
    assert counts.seen(EVERYBODY, NOON + SECOND * 2).whole.calls == 1


def test_failing_tools_are_named_and_their_number_is_bounded() -> None:
    counts = Counts()
    for number in range(100):
        counts.ended("failed", f"tool{number}", 1)
    assert counts.failing["tool0"] == 1
    assert counts.failing[activity.OTHER_TOOLS] == 100 - len(counts.failing) + 1


def reached(*times: tuple[int, int, int, int]) -> list[tuple[int, activity.Reached]]:
    """Minutes of a system: which, calls, of them unreached, milliseconds of each."""
    found = []
    for minute, calls, unreached, milliseconds in times:
        one = activity.Reached()
        one.calls, one.unreached = calls, unreached
        for _ in range(calls):
            one.latency.add(milliseconds * 1000)
        found.append((minute * MINUTE, one))
    return found


def test_a_system_without_calls_has_no_verdict() -> None:
    assert verdict_of([], 60 * MINUTE).health == "quiet"


def test_a_steady_system_is_healthy_however_long_it_takes() -> None:
    verdict = verdict_of(reached((10, 5, 0, 4000), (30, 5, 0, 4100), (59, 5, 0, 4000)), 60 * MINUTE)
    assert (verdict.health, verdict.calls, verdict.since) == ("healthy", 15, None)


def test_a_system_that_takes_longer_than_usual_is_slow_since_then() -> None:
    usual = [(minute, 5, 0, 50) for minute in range(40, 57)]
    verdict = verdict_of(reached(*usual, (57, 5, 0, 800), (58, 5, 0, 900), (59, 5, 0, 850)), 60 * MINUTE)
    assert (verdict.health, verdict.since) == ("slow", 57 * MINUTE)


def test_a_system_that_cannot_be_reached_is_failing_since_then() -> None:
    verdict = verdict_of(reached((50, 9, 0, 5), (55, 9, 1, 5), (58, 4, 4, 5), (59, 3, 2, 5)), 60 * MINUTE)
    assert (verdict.health, verdict.since, verdict.unreached) == ("failing", 58 * MINUTE, 7)
    better = verdict_of(reached((50, 9, 9, 5), (59, 9, 1, 5)), 60 * MINUTE)
    assert better.health == "healthy"


def test_the_time_of_a_system_is_that_of_running_alone() -> None:
    counts = Activity(lambda tool_id: "HTTP shop.example" if tool_id == "shop.thing" else None)
    ledger = Ledger()
    for number, shape in enumerate(("approved", "asked", "replied", "lapsed", "denied", "unfit")):
        entries, _ = written(Made(shape, 0, 200, 60, "ada", "default", False), f"inv_{number}")  # type: ignore[arg-type]  # words
        for entry in entries:
            counts.take(ledger.add(entry))
    found = counts.systems(NOON + 120 * SECOND)["HTTP shop.example"]
    assert sum(one.calls for _, one in found) == 3
    times = sorted(one.latency.percentile(1.0) or 0 for _, one in found)
    assert median_low(times) == pytest.approx(60_200_000, rel=0.03)  # a reply that is waited for is its time
    assert found[0][1].latency.percentile(0.5) == pytest.approx(200_000, rel=0.03)
