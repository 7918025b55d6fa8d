"""The ledger of calls that really ran, in every way a call can end: the audit has nothing against any of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.copies import back_up, restore
from ferrule.app.custody.erase import erase_principal
from ferrule.app.custody.exports import export_calls, export_rows
from ferrule.app.custody.paths import LedgerPaths, ledger_paths, load_public_keys
from ferrule.app.custody.prune import prune
from ferrule.app.opening import open_app
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending
from ferrule.runtime.functions import tool
from ferrule.testing import FakeClock
from ferrule.workspace.workspace import Workspace
from tests.ledger.audit.build import CANARY

POLICY = """
[[rules]]
id = "refunds"
decision = "ask"
tool = "refund"

[[rules]]
id = "big"
decision = "ask"
tool = "refund"
when = { amount = { above = 100 } }
people = 2

[[rules]]
id = "never"
decision = "deny"
tool = "wipe"

[[rules]]
id = "rest"
decision = "allow"
tool = "*"
"""
HOUR = 3600
BEGAN: list[float] = []
"""Calls of `wait` that have begun."""


@tool(read_only=True)
def look(order: str) -> str:
    """Looks an order up."""
    return f"{order}: fine"


@tool
def note(text: str) -> str:
    """Notes something."""
    if text == "fail":
        raise ValueError("no ink")
    return "noted"


@tool
async def wait(seconds: float) -> str:
    """Takes its time."""
    BEGAN.append(seconds)
    await asyncio.sleep(seconds)
    return "done"


@tool
def refund(order: str, amount: int) -> str:
    """Pays money back."""
    return f"paid {amount}"


@tool
def wipe() -> str:
    """Wipes everything."""
    return "wiped"


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """The ledger of a workspace that has no calls yet."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "ferrule.toml").write_text('namespace = "shop"\n\n[ledger]\nwitness = "../witness.jsonl"\n')
    (root / "policy.toml").write_text(POLICY)
    return ledger_paths(Workspace.open(root))


@asynccontextmanager
async def running(paths: LedgerPaths, clock: FakeClock | None = None) -> AsyncIterator[App]:
    """The workspace, running."""
    tools = (look, note, wait, refund, wipe)
    async with open_app(paths.ledger.parent.parent, tools=tools, clock=clock, tends=False) as app:
        yield app


def verified(paths: LedgerPaths) -> AuditVerdict:
    return verify_ledger(paths.ledger, load_public_keys(paths), witness=paths.witness)


def person(app: App, name: str) -> Identity:
    return Identity(name, f"owner:{name}", frozenset({APPROVE}))


async def all_endings(app: App) -> None:
    """Calls that end in every way."""
    surface = app.surface(principal="alice", run_id="run-1")
    for number in range(5):
        await surface.call("look", {"order": f"A{number}"})
    await surface.call("nothing", {})
    await surface.call("look", {"order": 5, "more": 1})
    await surface.call("wipe", {})
    for text in ("fail", CANARY, CANARY):
        await surface.call("note", {"text": text}, idempotency_key=text)
    await surface.call("wait", {"seconds": 30}, timeout_seconds=0.01)
    BEGAN.clear()
    canceled = asyncio.create_task(surface.call("wait", {"seconds": 30}))
    async with asyncio.timeout(10):
        while not BEGAN:
            await asyncio.sleep(0)
    canceled.cancel()
    await asyncio.gather(canceled, return_exceptions=True)
    await answers(app)
    await app.disable("shop.note", by="ada", reason="broken")
    await surface.call("note", {"text": "off"})
    await app.enable("shop.note", by="ada")


async def answers(app: App) -> None:
    """Calls that wait for people, answered in every way; the last two are left waiting."""
    surface = app.surface(principal="bob", run_id="run-2")
    calls = []
    for amount in (1, 2, 3, 500, 600, 7):
        pending = await surface.call("refund", {"order": "A1", "amount": amount})
        assert isinstance(pending, Pending)
        calls.append(pending.invocation_id)
    ada, otto = app.inbox(person(app, "ada")), app.inbox(person(app, "otto"))
    await ada.approve(calls[0])
    await ada.approve(calls[1], edited_input=b'{"order":"A1","amount":20}')
    await ada.reject(calls[2], reason="too much")
    await ada.approve(calls[3])
    await otto.approve(calls[3])
    await ada.approve(calls[4])


def test_nothing_is_wrong_with_any_ending(paths: LedgerPaths, tmp_path: Path) -> None:
    async def main() -> None:
        async with running(paths) as app:
            await all_endings(app)

    asyncio.run(main())
    verdict = verified(paths)
    assert verdict.findings == ()
    export_calls(paths, tmp_path / "calls.jsonl")
    records = [msgspec.json.decode(line) for line in (tmp_path / "calls.jsonl").read_bytes().splitlines()]
    ends = {record["status"] for record in records}
    assert ends >= {"succeeded", "failed", "denied", "timed_out", "canceled", "awaiting_approval", "blocked"}


def test_it_stays_so_through_restarts_expiry_and_upkeep(paths: LedgerPaths, tmp_path: Path) -> None:
    clock = FakeClock()

    async def live(hours: int) -> None:
        async with running(paths, clock) as app:
            await all_endings(app)
            clock.advance(hours * HOUR)

    for turn in range(3):
        asyncio.run(live(30))
        assert verified(paths).findings == (), turn
    assert back_up(paths, tmp_path / "backup.db").is_clean
    erased = erase_principal(paths, "alice", before=None, reason="asked to", by="ada")
    assert erased.rows > 20
    assert CANARY.encode() not in paths.ledger.read_bytes()
    asyncio.run(live(1))
    assert prune(paths, before=clock.now() - 20 * HOUR * 1_000_000, by="ada").rows
    asyncio.run(live(1))
    assert verified(paths).findings == ()
    export_rows(paths, tmp_path / "rows.jsonl", has_payloads=True)
    restored = restore(paths, tmp_path / "backup.db", may_lose=True)
    assert restored.lost is not None
    assert verified(paths).findings == ()
    asyncio.run(live(1))
    assert verified(paths).findings == ()
