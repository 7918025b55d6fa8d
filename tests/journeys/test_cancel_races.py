"""Requests to stop at random moments, thousands of them: exactly one end each, and the end that was told stays.

FERRULE_SOAK=N makes N calls of each kind.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.app.app import App
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import LAST_KINDS
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.live import Cancel
from tests.journeys.promises import check_lives
from tests.runtime.pipeline.slow_tools import HELD, app_of_slow_tools, wait_until

_CALLS = max(int(os.environ.get("FERRULE_SOAK", "0")), 250)
_QUICK: dict[str, Any] = {"seconds": 0.001}
KINDS: dict[str, dict[str, Any]] = {
    "look": _QUICK, "watch": _QUICK, "stare": _QUICK, "act": _QUICK, "work": _QUICK, "depart": _QUICK, "wander": _QUICK,
    "trickle": _QUICK, "trip": {}, "both": {}, "ignore": {}, "listen": {}, "doubt": {}, "forsake": {},
}  # fmt: skip


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_once_canceled_is_final_and_every_call_ends_once(place: str, tmp_path: Path) -> None:
    """AT-178, AT-206, AT-207: one or two requests, a discarded turn, or a caller who leaves, at any moment."""
    store: Any = MemoryStore()
    if place == "disk":
        store = SqliteStore(tmp_path / "ledger.db", Ed25519PrivateKey.generate())
    asyncio.run(_all_raced(place, store))


async def _all_raced(place: str, store: Any) -> None:
    chance = random.Random(place)
    async with app_of_slow_tools(store=store) as (app, _):
        HELD.set()
        number = _CALLS if place == "memory" else _CALLS // 3
        told: dict[str, str] = {}
        for start in range(0, number, 40):
            await asyncio.gather(*(_raced(app, chance, told) for _ in range(start, min(start + 40, number))))
        await wait_until(lambda: not app.services.live.calls and not app.services.live._spawned)
        await app.store.flush()
        rows = await app.store.rows_after(0, 1_000_000)
        calls = check_lives(rows)
        for call, its in calls.items():
            asks = its[-1].tool.endswith("doubt") and its[-1].kind == "parked"  # its caller left, and it asked somebody
            assert asks or its[-1].kind in LAST_KINDS, (call, its[-1].outcome)
        for call, status in told.items():
            assert calls[call][-1].segment().status == status, "what was told did not stay"
        _requests_have_outcomes(rows, calls)


async def _raced(app: App, chance: random.Random, told: dict[str, str]) -> None:
    """One call, and what befalls it."""
    surface = app.surface()
    tool = chance.choice(list(KINDS))
    running = await surface.begin(tool, KINDS[tool])
    call = running.invocation_ids[0]
    waiting = asyncio.ensure_future(running.wait())
    for _ in range(chance.choice([1, 1, 2])):
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0 if chance.random() < 0.9 else 0.001)
        fate = chance.choice(["cancel", "cancel", "discard", "leave"])
        if fate == "cancel":
            await surface.cancel(call, within=chance.choice([0, 0.05]))
        elif fate == "discard":
            surface.discard([call])
        else:
            waiting.cancel()
    live = app.services.live.calls.get(call)
    if live is not None and tool in ("trip", "doubt", "listen"):  # they never end by themselves
        live.ask_to_stop(Cancel())
    await asyncio.wait([waiting])
    if not waiting.cancelled():
        outcome: Any = waiting.result()[0]
        outcome = await surface.result(call, wait=5) if isinstance(outcome, Pending) else outcome
        assert isinstance(outcome, Result), outcome
        told[call] = outcome.status
        is_thread = tool == "stare" and outcome.status == "canceled"
        assert not (is_thread and live is not None and live.stage == "running"), "a thread was called canceled"
        assert (outcome.abort_reason is not None) == (outcome.status in ("canceled", "discarded")), outcome


def _requests_have_outcomes(rows: Any, calls: Any) -> None:
    """What was requested of a call that runs here is acknowledged, or has failed; and `acknowledged` means canceled."""
    news: dict[str, list[str]] = {}
    for row in rows:
        if row.kind == "news" and row.outcome != "progress":
            news.setdefault(row.call, []).append(row.outcome)
    for call, told in news.items():
        if "cancel_acknowledged" in told:
            assert calls[call][-1].outcome == "canceled", call
        if "cancel_requested" in told:
            assert {"cancel_acknowledged", "cancel_failed"} & set(told), (call, told)
