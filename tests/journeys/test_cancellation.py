"""Whoever waits for a call may go away at any moment: the call ends once, on record, and the cancellation goes on its way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import LAST_KINDS, StoredEntry
from ferrule.model.tool import Tool
from ferrule.testing import ScriptedExecutor, memory_app
from tests.spec.running_app import BERN, TRUSTED, make_tool

_MOST_STEPS = 400


class _Slow:
    """A hook that takes a few turns of the event loop."""

    hook_id = "slow"
    event: Any = "pre_tool_use"

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    async def run(self, told: HookInput) -> HookOutput:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return HookOutput()


async def _slowly(arguments: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return "done"


_TOOLS: dict[str, Tool] = {
    "action": make_tool(),
    "read-only": make_tool(is_read_only=True),
    "asking": make_tool(approval_required=True),
}


@pytest.mark.parametrize("kind", _TOOLS)
@pytest.mark.parametrize("key", [None, "k"])
def test_a_call_cancelled_at_any_step_ends_once(kind: str, key: str | None) -> None:
    """AT-93, AT-208: in memory, where every step of the event loop can be counted: cancelled after 0, 1, 2, … of them."""
    steps = 0
    while asyncio.run(_cancelled_after(steps, _TOOLS[kind], key, MemoryStore())):
        steps += 1
        assert steps < _MOST_STEPS, "it never ends by itself"
    assert steps > 3


def test_a_call_on_disk_cancelled_at_any_moment_ends_once(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    for steps in range(40):
        store: Any = SqliteStore(tmp_path / f"{steps}.db", key)
        asyncio.run(_cancelled_after(steps, _TOOLS["action"], "k", store))


async def _cancelled_after(steps: int, tool: Tool, key: str | None, store: MemoryStore) -> bool:
    """False when the call was quicker than that."""
    executor = ScriptedExecutor(default=_slowly)
    policy = "" if tool.approval_required else TRUSTED
    async with memory_app(tools=[tool], executors=[executor], policy=policy, hooks=[_Slow()], store=store) as app:
        task = asyncio.create_task(app.surface().call("search", BERN, idempotency_key=key))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_quicker = task.done()
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.done(), "a cancellation did not stop the waiting"
        assert was_quicker or task.cancelled(), "a cancellation was swallowed"
        await store.flush()
        _check(await store.rows_after(0), executor, has_begun=steps > 0)
        if key is not None and executor.ran:
            await app.surface().call("search", BERN, idempotency_key=key)
            assert len(executor.ran) == 1, "the same key ran twice"
    return not was_quicker


def _check(rows: list[StoredEntry], executor: ScriptedExecutor, *, has_begun: bool) -> None:
    rows = [row for row in rows if row.call and row.kind != "news"]
    if not has_begun:
        assert not rows and not executor.ran
        return
    lasts = [row for row in rows if row.kind in LAST_KINDS]
    is_parked = bool(rows) and rows[-1].kind == "parked"
    assert is_parked or (len(lasts) == 1 and rows[-1] is lasts[0]), [(row.kind, row.outcome) for row in rows]
    assert is_parked or lasts[0].outcome in ("canceled", "succeeded")
