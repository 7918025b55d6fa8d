"""Runs commands that only read a ledger, in this process and over a ledger in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from ferrule.app import ledger_file
from ferrule.cli import explain, log
from ferrule.contracts.store import Store
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.journal import Payload
from tests.ledger.history.rows import NOON, SCENARIOS, Ledger, encode_result


class Told(NamedTuple):
    """What a command gave."""

    code: int
    out: str


Run = Callable[..., Told]


def runner_over(ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a ledger that has the rows written to `ledger` so far."""

    @asynccontextmanager
    async def open_store(path: str) -> AsyncIterator[Store]:
        store = MemoryStore()
        await store.open()
        for entry in ledger.entries:
            await store.commit(entry)
        yield store
        await store.aclose()

    monkeypatch.setattr(ledger_file, "open_store", open_store)

    def go(command: str, *arguments: str) -> Told:
        module = {"log": log, "explain": explain}[command]
        ran = CliRunner().invoke(module.command, [*arguments, "--workspace", str(folder)], standalone_mode=False)
        if ran.exception is not None:
            raise ran.exception
        return Told(ran.return_value, ran.output)

    return go


def write_news(ledger: Ledger) -> None:
    """A call that was canceled, with everything that can be told about one."""
    second = 1_000_000
    records = [{"sequence": number, "status": "running", "percent": number * 10} for number in range(1, 6)]
    records[4] |= {"message": "almost\x1b[2J there", "current_step": "5", "total_steps": 9, "bytes_read": 77}
    ledger.news("inv_canceled", "progress", *records)
    ledger.news("inv_canceled", "progress", {"sequence": 6, "status": "running"})
    asked = {"by": "ada", "reason": "took too long", "abort_reason": "user_interruption"}
    ledger.news("inv_canceled", "cancel_requested", asked, at=NOON + second)
    ledger.news("inv_canceled", "cancel_acknowledged", {}, at=NOON + second)
    SCENARIOS["canceled"](ledger)
    late = Payload(result=encode_result({"refund": "r-9"}))
    ledger.news("inv_canceled", "late_result", {"status": "succeeded"}, at=NOON + 9 * second, payload=late)
