"""Time limits: what they count, how long a caller waits at most, and what becomes of what comes too late."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import ferrule
from ferrule.app.app import App
from ferrule.contracts.executor import Context, Output
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import StoredEntry
from ferrule.model.news import late_results
from ferrule.model.persistence import RedactionSettings
from ferrule.model.result import Pending
from ferrule.runtime.functions import ToolFailed
from ferrule.testing import memory_app
from tests.runtime.pipeline.slow_tools import (
    ALLOW,
    HELD,
    TOOLS,
    app_of_slow_tools,
    describe_end,
    list_news,
    start_call,
    wait_until,
)
from tests.spec.running_app import FunctionHook, run_async

SECRET, HIDDEN = "hunter2-hunter2", "whispered-to-the-tool"
TIMED_OUT = ("timed_out", "timeout", "timeout")
_GRACE = 0.5


@ferrule.tool(destructive=False, timeout_seconds=0.3)
def linger(ending: str, context: Context) -> Any:
    """Take too long, then give something. Its thread has time to begin, for what has not begun gives nothing."""
    context.hide(HIDDEN)
    HELD.wait(5)
    match ending:
        case "fails":
            raise ToolFailed(f"no {HIDDEN}")
        case "breaks":
            raise LookupError(SECRET)
        case "private":
            return Output({"private": "matter"}, is_private=True)
        case "large":
            return "x" * 3_000_000
        case "unmappable":
            return object()
    return {"password": SECRET, "said": HIDDEN, "plain": "words"}


@ferrule.tool(destructive=False, timeout_seconds=0.05)
async def cling() -> str:
    """Hear nothing of being told to stop."""
    until_then = asyncio.get_running_loop().time() + 3
    while asyncio.get_running_loop().time() < until_then and not HELD.is_set():
        try:
            await asyncio.sleep(0.5)
        except asyncio.CancelledError:
            continue
    return "after all"


@ferrule.tool(read_only=True, timeout_seconds=0.05)
async def dawdle(context: Context) -> str:
    """Take too long, in the background."""
    context.to_background("t", "goes on")
    await asyncio.sleep(5)
    return "never"


async def _late(app: App, call: str) -> list[StoredEntry]:
    HELD.set()
    await wait_until(lambda: not app.services.live._spawned)
    return [row for row in await app.store.news_of(call) if row.outcome == "late_result"]


@run_async
async def test_whoever_waits_for_a_tool_that_clings_waits_no_longer_than_agreed() -> None:
    """AT-210: the deadline, and a moment for the tool to stop; what it gives then is recorded and not delivered."""
    async with app_of_slow_tools(tools=(cling,)) as (app, surface):
        began = time.monotonic()
        outcome: Any = await surface.call("cling")
        assert time.monotonic() - began < 0.05 + _GRACE + 1.5
        assert describe_end(outcome) == TIMED_OUT and outcome.synthetic
        (row,) = await _late(app, outcome.invocation_id)
        (late,) = late_results([row])
        assert late.result is not None
        assert describe_end(await surface.result(outcome.invocation_id)) == TIMED_OUT


@pytest.mark.parametrize("ending", ["gives", "fails", "breaks", "private", "large", "unmappable"])
@run_async
async def test_what_comes_too_late_is_recorded_without_secrets(ending: str) -> None:
    """AT-177, AT-210, AT-271: how it ended, and what it gave unless that is private or large; never a secret."""
    redaction = RedactionSettings(secrets_env=("PASSWORD",), well_known=False)
    parts: dict[str, Any] = {"tools": (linger,), "redaction": redaction, "environment": {"PASSWORD": SECRET}}
    async with app_of_slow_tools(**parts) as (app, surface):
        outcome: Any = await surface.call("linger", {"ending": ending})
        assert describe_end(outcome) == TIMED_OUT
        assert outcome.error is not None and outcome.error.retry.retry_safe is False
        (row,) = await _late(app, outcome.invocation_id)
        data = row.news().happened[0]["data"]
        is_failure = ending in ("fails", "breaks", "unmappable")
        assert data["status"] == ("failed" if is_failure else "succeeded")
        (late,) = late_results([row])
        assert (late.result is not None) == (ending == "gives")
        if ending in ("private", "large"):
            assert data["withheld"] == {"private": "private", "large": "too_large"}[ending]
        await app.store.flush()
        for each in await app.store.rows_after(0, 1000):
            kept = each.body + (each.payload or b"")
            for secret in (SECRET, HIDDEN, "matter"):
                assert secret.encode() not in kept, (each.kind, each.outcome)
        if late.result is not None:
            assert b"plain" in (row.payload or b"")


@run_async
async def test_a_callers_time_limit_counts_the_queue() -> None:
    """AT-210: whoever waits behind somebody does not wait longer than it said; its tool never runs."""
    async with app_of_slow_tools() as (app, surface):
        first, _ = await start_call(app, surface.call("toil"))
        began = time.monotonic()
        outcome = await surface.call("act", timeout_seconds=0.05)
        assert time.monotonic() - began < 4
        assert describe_end(outcome) == TIMED_OUT
        assert not await list_news(app, outcome.invocation_id)
        kinds = [row.kind for row in await app.store.rows_of(outcome.invocation_id)]
        assert kinds == ["call"], "it was never about to run"
        HELD.set()
        assert describe_end(await first)[0] == "succeeded"


@run_async
async def test_a_call_in_the_background_has_its_time_limit_too() -> None:
    """AT-210"""
    async with app_of_slow_tools(tools=(*TOOLS, dawdle)) as (_, surface):
        pending = await surface.call("dawdle")
        assert isinstance(pending, Pending)
        assert describe_end(await surface.result(pending.invocation_id, wait=3)) == TIMED_OUT


@pytest.mark.parametrize("moment", ["before", "during the grace"])
@run_async
async def test_a_caller_may_leave_around_the_deadline(moment: str) -> None:
    """AT-178, AT-210: the call ends once, as what it was first."""
    async with app_of_slow_tools(tools=(cling,)) as (app, surface):
        task, call = await start_call(app, surface.call("cling"))
        if moment != "before":
            await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task])
        HELD.set()
        outcome = await surface.result(call, wait=5)
        assert describe_end(outcome)[0] == "timed_out"
        await wait_until(lambda: not app.services.live.calls)


# Closing


async def _all_said(app: App, call: str) -> int:
    return len([said async for said in app.follow(call)])


@pytest.mark.parametrize("number", [300])
def test_closing_gives_every_call_a_result(number: int) -> None:
    """AT-168, AT-173, AT-208: what waits its turn, waits for hooks, runs, or is made by a running tool."""

    async def go() -> None:
        async with app_of_slow_tools() as (app, surface):
            calls = [surface.call("act", {"seconds": 10}) for _ in range(number)]
            calls += [surface.call("watch", {"seconds": 10}), surface.call("through", {"value": 1, "seconds": 10})]
            waiting = [asyncio.ensure_future(call) for call in calls]
            batch = asyncio.ensure_future(surface.call_many([("act", {"seconds": 10}), ("look", {})]))
            await wait_until(lambda: len(app.services.live.calls) >= number + 2)
            began = time.monotonic()
            await app.services.live.aclose()
            outcomes = [*(await asyncio.gather(*waiting)), *(await batch)]
            assert time.monotonic() - began < 1.5
            assert {describe_end(outcome) for outcome in outcomes} == {("canceled", "canceled", "runtime_shutdown")}
            assert all(outcome.synthetic for outcome in outcomes)
            late = await surface.call("look")
            assert describe_end(late) == ("canceled", "canceled", "runtime_shutdown"), (
                "nothing begins while the app closes"
            )
            assert [describe_end(each)[2] for each in await surface.call_many(["look", "act"])] == [
                "runtime_shutdown"
            ] * 2

    asyncio.run(asyncio.wait_for(go(), 20))


def test_closing_waits_a_while_for_threads_and_no_longer() -> None:
    """AT-208: whoever still waits for one learns what is known."""

    async def go() -> None:
        began = time.monotonic()
        HELD.clear()
        async with memory_app(tools=TOOLS, policy=ALLOW) as app:
            task, _ = await start_call(app, app.surface().call("toil"))
        assert time.monotonic() - began < 4
        HELD.set()
        outcome = await asyncio.wait_for(task, 5)
        assert describe_end(outcome)[:2] == ("failed", "execution_failed")
        assert outcome.error.error_code == "outcome_not_recorded"

    asyncio.run(asyncio.wait_for(go(), 20))


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_whoever_waits_for_an_answer_when_the_app_closes_is_told(place: str, tmp_path: Path) -> None:
    """AT-199, AT-208: a call that waits for a person goes on waiting; whoever waited for it, or followed it, learns that."""

    async def go() -> None:
        disk: Any = SqliteStore(tmp_path / "ledger.db", Ed25519PrivateKey.generate())
        async with memory_app(tools=TOOLS, policy=ALLOW, store=disk if place == "disk" else None) as app:
            waiting = asyncio.ensure_future(app.surface().call("ask", wait=30))
            while not (parked := await app.store.open_calls("needs_input")):
                await asyncio.sleep(0.001)
            following = asyncio.ensure_future(_all_said(app, parked[0].call))
            await asyncio.sleep(0.1)
            assert not waiting.done() and not following.done()
        outcome = await asyncio.wait_for(waiting, 5)
        assert isinstance(outcome, Pending) and outcome.state == "needs_input"
        assert await asyncio.wait_for(following, 5) >= 1

    asyncio.run(asyncio.wait_for(go(), 20))


@pytest.mark.parametrize("event", ["pre_tool_use", "post_tool_use"])
@pytest.mark.parametrize("tool", ["look", "act"])
@run_async
async def test_closing_while_hooks_run(event: Any, tool: str) -> None:
    """AT-208, AT-178: one that runs before the tool is cut short, and the tool never runs; one after it is waited for."""
    entered = asyncio.Event()

    async def slowly(told: Any) -> None:
        entered.set()
        await asyncio.sleep(10 if event == "pre_tool_use" else 0.1)

    async with app_of_slow_tools(hooks=(FunctionHook(slowly, event),)) as (app, surface):
        waiting = asyncio.ensure_future(surface.call(tool))
        await entered.wait()
        await app.services.live.aclose()
        outcome = await asyncio.wait_for(waiting, 5)
        if event == "pre_tool_use":
            assert describe_end(outcome) == ("canceled", "canceled", "runtime_shutdown")
        else:
            assert describe_end(outcome)[0] == "succeeded"
        told = await list_news(app, outcome.invocation_id)
        assert told == ["cancel_requested", "cancel_acknowledged" if event == "pre_tool_use" else "cancel_failed"]
