"""A call that takes long is written down while it runs; what happens meanwhile comes after that row."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context, Waiting
from ferrule.errors import LedgerError
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.story import Story
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.pulse import surface_call
from tests.runtime.pipeline.slow_tools import READS, app_of_slow_tools, describe_end, list_news, start_call, wait_until
from tests.spec.running_app import run_async

CANCELED = ("canceled", "canceled", "user_interruption")
BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))


class _Holding(MemoryStore):
    """Writes nothing while it holds; then everything, in the order in which it came."""

    held: list[Any] | None = None

    def _append(self, *row: Any) -> None:
        if self.held is None:
            super()._append(*row)
        else:
            self.held.append(row)

    def let_go(self) -> None:
        held, self.held = self.held or (), None
        for row in held:
            super()._append(*row)


def _asking(go: asyncio.Event, asked: asyncio.Event) -> tuple[Any, Any]:
    """Two tools that look at something, then ask somebody: one in a task of its own, one in that of its call."""

    async def go_on(state: bytes, answer: Any, context: Context) -> str:
        return f"{state.decode()} {answer}"

    async def question() -> Waiting:
        await go.wait()
        asked.set()
        return Waiting(message="Which?", state=b"saw")

    @ferrule.tool(**READS, resume=go_on)
    async def wonder(context: Context) -> str | Waiting:
        """Look, then ask."""
        return await question()

    @ferrule.tool(**READS, resume=go_on)
    async def ponder() -> str | Waiting:
        """Look, then ask."""
        return await question()

    return wonder, ponder


@pytest.mark.parametrize("tool", ["wonder", "ponder"])
@pytest.mark.parametrize("fate", ["waits", "its caller leaves", "is canceled", "is canceled and its caller leaves"])
@run_async
async def test_a_call_may_begin_to_wait_while_it_is_written_down_that_it_runs(fate: str, tool: str) -> None:
    """AT-178, AT-209: the row comes first, then the one that parks it; what nobody wants any more does not wait."""
    store, go, asked = _Holding(), asyncio.Event(), asyncio.Event()
    is_canceled, is_left = "is canceled" in fate, "caller leaves" in fate
    async with app_of_slow_tools(store=store, tools=_asking(go, asked)) as (app, surface):
        task, call = await start_call(app, surface.call(tool))
        live = app.services.live.calls[call]
        store.held = []
        surfacing = asyncio.ensure_future(surface_call(live))
        await wait_until(lambda: store.held)
        go.set()
        await asked.wait()
        for _ in range(10):  # it is about to wait
            await asyncio.sleep(0)
        if is_canceled:
            live.ask_to_stop(Cancel())
        if is_left:
            task.cancel()
        await asyncio.sleep(0)
        store.let_go()
        await asyncio.wait([task, surfacing])
        assert task.cancelled() is is_left
        rows = [(row.kind, row.outcome) for row in await app.store.rows_of(call)]
        assert rows == [("started", "running"), ("ended", "canceled") if is_canceled else ("parked", "needs_input")]
        if is_canceled:
            assert describe_end(await surface.result(call)) == CANCELED
            assert await list_news(app, call) == ["cancel_requested", "cancel_acknowledged"]
        else:
            await app.inbox(BOB).answer(call, "this")
            assert describe_end(await surface.result(call, wait=5)) == ("succeeded", None, None)


@run_async
async def test_what_could_not_be_written_down_is_told_with_the_end() -> None:
    """AT-112: no state is lost because the ledger was full for a while."""
    store, go = MemoryStore(), asyncio.Event()

    @ferrule.tool(**READS)
    async def linger(context: Context) -> str:
        """Wait to be let go."""
        await go.wait()
        return "done"

    async with app_of_slow_tools(store=store, tools=(linger,)) as (app, surface):
        task, call = await start_call(app, surface.call("linger"))
        store.refusal = "the disk is full"
        with pytest.raises(LedgerError):
            await surface_call(app.services.live.calls[call])
        store.refusal = ""
        go.set()
        assert describe_end(await task)[0] == "succeeded"
        (row,) = await app.store.rows_of(call)
        states = [move["to"] for move in make_invocation_record(Story([row]))["status_transitions"]]
        assert states[0] == "planned" and states[-2:] == ["running", "succeeded"]
