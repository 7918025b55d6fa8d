"""Progress on disk: many speak at once, many listen, some of them slowly, and everybody hears exactly what they should."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import ferrule
from ferrule.app.app import App
from ferrule.contracts.executor import Context, Waiting
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.progress import BadProgress
from ferrule.model.result import Pending, Result
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.testing import memory_app
from tests.journeys.promises import check_lives
from tests.runtime.pipeline.slow_tools import ALLOW
from tests.spec.running_app import run_async

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))
_SPEAKERS, _EACH = 6, 150
_SAID = 2 * _SPEAKERS * _EACH


def _speak(context: Context, name: int) -> None:
    for number in range(_EACH):
        context.progress(f"{name}.{number}")


@ferrule.tool(destructive=False)
async def chatter(context: Context) -> str:
    """Threads and tasks speak at the same time."""

    async def task(name: int) -> None:
        for number in range(_EACH):
            context.progress(f"{name}.{number}", percent=number * 100 / _EACH)
            if not number % 10:
                await asyncio.sleep(0.001)

    threads = [threading.Thread(target=_speak, args=(context, name)) for name in range(_SPEAKERS)]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(task(name) for name in range(_SPEAKERS, 2 * _SPEAKERS)))
    while any(thread.is_alive() for thread in threads):
        await asyncio.sleep(0.001)
    return "said"


@ferrule.tool(destructive=False)
def flood(number: int, context: Context) -> str:
    """A thread says more than anybody can hear."""
    for count in range(number):
        context.progress(f"{count}")
    return "said"


@ferrule.tool(read_only=True)
async def boast(context: Context) -> str:
    """Claim too much."""
    context.progress("all of it", percent=100)
    try:
        context.progress("and more", percent=101)
    except BadProgress:
        context.progress("not more")
    return "said"


async def _go_on(state: bytes, answer: Any, context: Context) -> str:
    context.progress(f"got {answer}")
    return "said"


@ferrule.tool(destructive=False, resume=_go_on)
async def ask(context: Context) -> str | Waiting:
    """Say something, ask, and say something else."""
    for count in range(3):
        context.progress(f"{count}")
    return context.needs_input("Which?")


TOOLS = (chatter, flood, boast, ask)


def on_disk(folder: Path) -> Any:
    return SqliteStore(folder / "ledger.db", Ed25519PrivateKey.generate(), behind_seconds=0.01)


async def _heard(app: App, call: str, after: int, chance: random.Random) -> list[int]:
    """What a listener hears who comes at some time, is slow now and then, and loses the connection now and then."""
    await asyncio.sleep(chance.uniform(0, 0.1))
    heard: list[int] = []
    while True:
        last = heard[-1] if heard else after
        patience = chance.randrange(1, 700)
        async for said in app.follow(call, last):
            heard.append(said.sequence)
            if chance.random() < 0.01:
                await asyncio.sleep(0.002)
            patience -= 1
            if not patience:
                break
        else:
            return heard


@pytest.mark.parametrize("place", ["memory", "disk"])
@run_async
async def test_everybody_hears_the_exact_rest(place: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """AT-198, AT-199: without a gap, in order, whoever listens from whatever number on, during the call and after it."""
    store = on_disk(tmp_path_factory.mktemp("ledger")) if place == "disk" else MemoryStore()
    chance = random.Random(5)
    async with memory_app(tools=TOOLS, policy=ALLOW, store=store) as app:
        running = await app.surface().begin("chatter")
        call = running.invocation_ids[0]
        afters = [0, 0, 0, 1, 7, 500, _SAID - 1, _SAID, _SAID + 50]
        listeners = [asyncio.ensure_future(_heard(app, call, after, chance)) for after in afters]
        await running.wait()
        late = [asyncio.ensure_future(_heard(app, call, after, chance)) for after in afters]
        for after, listener in zip(afters * 2, [*listeners, *late], strict=True):
            assert await asyncio.wait_for(listener, 10) == list(range(after + 1, _SAID + 1))
        rows = await app.store.rows_after(0, 100_000)
        check_lives(rows)
        told: dict[str, list[int]] = {}
        async for said in app.follow(call):
            speaker, number = said.message.split(".")
            told.setdefault(speaker, []).append(int(number))
        assert told == {str(name): list(range(_EACH)) for name in range(2 * _SPEAKERS)}


class _Busy(MemoryStore):
    """Something is said, and something else written down, whenever somebody has just looked."""

    live: Any = None

    async def news_of(self, call: str, after: int = 0, limit: int | None = None) -> Any:
        found = await super().news_of(call, after, limit)
        if self.live is not None and not self.live.is_silenced:
            self.live.flush()
            self.live.progress({"message": "meanwhile"})
        return found


@run_async
async def test_nothing_is_missed_that_goes_to_the_ledger_while_somebody_looks() -> None:
    """AT-199: neither there yet when the ledger was read, nor in memory any more when that was."""
    store = _Busy()
    async with memory_app(tools=TOOLS, policy=ALLOW, store=store) as app:
        running = await app.surface().begin("chatter")
        store.live = app.services.live.calls[running.invocation_ids[0]]
        heard = [said.sequence async for said in app.follow(running.invocation_ids[0])]
        await running.wait()
        assert heard == list(range(1, store.live.sequence + 1)) and len(heard) > _SAID


@run_async
async def test_a_slow_listener_holds_up_nobody_and_costs_little(tmp_path_factory: pytest.TempPathFactory) -> None:
    """AT-199: a thread that says more than the ledger takes is slowed down; what waits to be written stays small."""
    number = 30_000
    async with memory_app(tools=TOOLS, policy=ALLOW, store=on_disk(tmp_path_factory.mktemp("ledger"))) as app:
        running = await app.surface().begin("flood", {"number": number})
        call = running.invocation_ids[0]
        listening = app.follow(call)
        first = await anext(listening)  # and then nobody reads on
        most, live = 0, app.services.live.calls[call]
        while running.list_unfinished():
            most = max(most, len(live.unwritten))
            await asyncio.sleep(0.001)
        assert first.sequence == 1 and most <= 10_300, f"{most} waited at once"
        rest = [said.sequence async for said in listening]
        assert rest == list(range(2, number + 1))


@run_async
async def test_more_than_all_of_it_is_refused() -> None:
    """AT-201: the tool learns it, no number is lost by it, and the call goes on."""
    async with memory_app(tools=TOOLS, policy=ALLOW) as app:
        result = await app.surface().call("boast")
        assert isinstance(result, Result) and not result.is_error
        said = [(each.sequence, each.percent) async for each in app.follow(result.invocation_id)]
        assert said == [(1, 100), (2, None)]


@pytest.mark.parametrize("restarts", [False, True])
@run_async
async def test_numbers_go_on_after_a_question(restarts: bool) -> None:
    """AT-198, AT-199, AT-202: in the same process, and in another one; whoever follows hears it all, once."""
    key, store = ApprovalKey.generate(), MemoryStore()
    async with memory_app(tools=TOOLS, policy=ALLOW, store=store, key=key) as app:
        pending = await app.surface().call("ask")
        assert isinstance(pending, Pending)
        call = pending.invocation_id
        following = asyncio.ensure_future(_all(app, call))
        if not restarts:
            await app.inbox(BOB).answer(call, "this one")
            heard = await asyncio.wait_for(following, 5)
        else:
            following.cancel()
    if restarts:
        async with memory_app(tools=TOOLS, policy=ALLOW, store=store.sibling(), key=key) as app:
            following = asyncio.ensure_future(_all(app, call))
            await app.inbox(BOB).answer(call, "this one")
            heard = await asyncio.wait_for(following, 5)
            check_lives(await app.store.rows_after(0, 1000))
    assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
    words = [message for _, message in heard]
    assert words[:3] == ["0", "1", "2"] and words[-1] == "got this one"


@run_async
async def test_numbers_go_on_where_somebody_answers_at_once_elsewhere() -> None:
    """AT-198, AT-199, AT-204: what the first process said stands before what the second one says."""
    key, store = ApprovalKey.generate(), MemoryStore()
    async with (
        memory_app(tools=TOOLS, policy=ALLOW, store=store, key=key) as first,
        memory_app(tools=TOOLS, policy=ALLOW, store=store.sibling(), key=key) as second,
    ):
        pending = await first.surface().call("ask")
        await second.inbox(BOB).answer(pending.invocation_id, "this one")
        assert isinstance(await second.result(pending.invocation_id), Result)
        await first.store.flush()
        check_lives(await second.store.rows_after(0, 1000))
        heard = await _all(second, pending.invocation_id)
        assert [number for number, _ in heard] == list(range(1, len(heard) + 1)) and len(heard) > 4
        assert {row.tool for row in await second.store.news_of(pending.invocation_id)} == {"test_progress.ask"}


async def _all(app: App, call: str) -> list[tuple[int, str]]:
    return [(said.sequence, said.message) async for said in app.follow(call)]
