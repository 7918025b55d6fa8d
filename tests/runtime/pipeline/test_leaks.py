"""Nothing is left of a call when it has ended, however it ended: thousands of each kind leave no memory behind.

Calls and contexts are nothing the garbage collector looks at, so whatever holds one of them in a circle holds it for ever.
FERRULE_SOAK=1 makes 20,000 calls of each kind.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.result import Pending
from ferrule.runtime.pipeline.live import LiveCall
from tests.runtime.pipeline.slow_tools import app_of_slow_tools, start_call, wait_until

_CALLS = 20_000 if os.environ.get("FERRULE_SOAK") else 60
_NOISE = 40_000
"""Bytes that come and go, whatever is called."""
_PULSE = "ferrule looks after long calls"
Kind = Callable[[App, SurfaceHandle], Awaitable[Any]]


def called(tool: str, **arguments: Any) -> Kind:
    return lambda app, surface: surface.call(tool, arguments)


async def _canceled(app: App, surface: SurfaceHandle) -> None:
    task, call = await start_call(app, surface.call("idle"))
    await surface.cancel(call)
    await task


async def _discarded(app: App, surface: SurfaceHandle) -> None:
    task, call = await start_call(app, surface.call("idle"))
    surface.discard([call])
    await task


async def _left(app: App, surface: SurfaceHandle) -> None:
    task, _ = await start_call(app, surface.call("idle"))
    task.cancel()
    await asyncio.wait([task])


async def _in_background(app: App, surface: SurfaceHandle) -> None:
    assert isinstance(await surface.call("wander", {"seconds": 0.001}), Pending)
    await wait_until(lambda: not app.services.live.calls)


async def _followed(app: App, surface: SurfaceHandle) -> None:
    running = await surface.begin("watch", {"seconds": 0})
    async for _ in surface.follow(running.invocation_ids[0]):
        pass
    await running.wait()


async def _waiting(app: App, surface: SurfaceHandle) -> None:
    pending = await surface.call("ask")
    await surface.cancel(pending.invocation_id)


KINDS: dict[str, Kind] = {
    "quick": called("look"),
    "with a context": called("watch", seconds=0),
    "in a thread": called("stare"),
    "action": called("act"),
    "action with a context": called("work", seconds=0),
    "failure": called("fail"),
    "failure with a context": called("trip_now"),
    "failure in a thread": called("drop"),
    "nested": called("both"),
    "refused": called("nothing"),
    "timeout": lambda app, surface: surface.call("idle", timeout_seconds=0.001),
    "batch": lambda app, surface: surface.call_many([("watch", {"seconds": 0}), ("act", {}), ("nothing", {})]),
    "canceled": _canceled,
    "discarded": _discarded,
    "caller left": _left,
    "background": _in_background,
    "followed": _followed,
    "waiting": _waiting,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_leaves_nothing_behind(kind: str, tmp_path: Path) -> None:
    async def go() -> None:
        store: Any = SqliteStore(tmp_path / "ledger.db", Ed25519PrivateKey.generate())
        async with app_of_slow_tools(store=store) as (app, surface):
            await _many(kind, app, surface, _CALLS // 3)
            tracemalloc.start()
            await _many(kind, app, surface, 20)  # what is made once for every tracing
            others = {
                id(each) for each in gc.get_objects() if type(each) is LiveCall
            }  # of calls that were cut off elsewhere
            before = await _memory(app)
            await _many(kind, app, surface, _CALLS)
            left = await _memory(app) - before
            tracemalloc.stop()
            lives = {id(each) for each in gc.get_objects() if type(each) is LiveCall}
            assert lives <= others, "calls in flight are still there"
            assert left < _NOISE + 15 * _CALLS, f"{left} bytes are left of {_CALLS} calls"
            assert {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}} <= {_PULSE}

    asyncio.run(go())


async def _many(kind: str, app: App, surface: SurfaceHandle, number: int) -> None:
    for _ in range(number):
        await KINDS[kind](app, surface)


async def _memory(app: App) -> int:
    await app.store.flush()
    await wait_until(lambda: not app.services.live.calls and not app.services.live._spawned)
    await asyncio.sleep(0.06)  # timers
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
