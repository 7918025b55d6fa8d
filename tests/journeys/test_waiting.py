"""Calls on their way when something changes, and what it costs to wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.testing import ScriptedExecutor, memory_app
from tests.spec.running_app import BERN, TRUSTED, make_tool

_STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "ledger.db", Ed25519PrivateKey.generate()),
}


class _Door:
    """A hook that lets calls through when it is told to."""

    hook_id = "door"
    event: Any = "pre_tool_use"

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    async def run(self, told: HookInput) -> HookOutput:
        self.reached.set()
        await self.opened.wait()
        return HookOutput()


@pytest.mark.parametrize("kind", _STORES)
def test_a_call_on_its_way_stops_at_the_off_switch(kind: str, tmp_path: Path) -> None:
    """It was found, checked and hooked before the switch; it does not begin to run after."""

    async def story() -> None:
        door, executor = _Door(), ScriptedExecutor(default=1)
        store = _STORES[kind](tmp_path)
        async with memory_app(
            tools=[make_tool()], executors=[executor], policy=TRUSTED, hooks=[door], store=store
        ) as app:
            task = asyncio.create_task(app.surface().call("search", BERN))
            await asyncio.wait_for(door.reached.wait(), 5)
            await app.disable("shop.search", by="ada")
            door.opened.set()
            result = await asyncio.wait_for(task, 5)
            assert isinstance(result, Result) and result.error is not None
            assert (result.status, result.error.error_code) == ("denied", "tool_disabled")
            assert not executor.ran
            assert [row.outcome for row in await store.rows_of(result.invocation_id)] == ["blocked"]

    asyncio.run(story())


@pytest.mark.parametrize("kind", _STORES)
def test_waiting_costs_next_to_nothing_while_others_call(kind: str, tmp_path: Path) -> None:
    """Whoever waits looks again when something was written, not as fast as the machine can."""

    async def story() -> None:
        store = _STORES[kind](tmp_path)
        looks = 0
        read = store.rows_of

        async def counted(call: str) -> list[StoredEntry]:
            nonlocal looks
            looks += 1
            found: list[StoredEntry] = await read(call)
            return found

        store.rows_of = counted
        tools = [make_tool("ask", approval_required=True), make_tool("look", is_read_only=True)]
        policy = '[[rules]]\nid = "free"\ndecision = "allow"\ntool = "shop.look"\n'
        async with memory_app(tools=tools, executors=[ScriptedExecutor(default=1)], policy=policy, store=store) as app:
            surface = app.surface()
            task = asyncio.create_task(surface.call("ask", BERN, wait=0.5))
            for _ in range(5):
                await surface.call("look", BERN)
                await store.flush()
                await asyncio.sleep(0.02)
            assert isinstance(await task, Pending)
        assert looks < 30, f"it looked {looks} times in half a second"

    asyncio.run(story())
