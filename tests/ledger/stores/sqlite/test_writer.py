"""The writer's queue: rows wait for company, callers share commits, and what cannot be written is counted."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest

from ferrule.errors import LedgerUnavailable
from ferrule.ledger.stores.sqlite import connection as connection_module
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.sqlite.writer import QUEUE_LIMIT
from tests.ledger.stores.entries import check_file, make_entry
from tests.ledger.stores.sqlite.ledgers import KEY, WAIT, open_store, run_bounded


def test_rows_that_cannot_be_written_are_counted_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_BUSY_SECONDS", 0.02)
    path = tmp_path / "ledger.db"

    async def story() -> None:
        store = SqliteStore(path, KEY, behind_seconds=5.0)
        await store.open()
        store.record(make_entry("a"))
        store.record(make_entry("b"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="2 recorded rows"):
            await store.aclose()
        other.close()

    run_bounded(story)
    assert check_file(path) == [""]


def test_a_queue_that_is_full_makes_the_caller_wait_instead_of_growing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    rows = 3 * QUEUE_LIMIT

    async def story() -> None:
        async with open_store(path) as store:
            for number in range(rows):
                store.record(make_entry(f"c{number}"))
                assert len(store._writer._queue) <= QUEUE_LIMIT

    run_bounded(story)
    assert len(check_file(path)) == rows + 1


def test_waiting_callers_share_commits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            groups: list[int] = []
            store._writer._written = lambda group: groups.append(len(group.items))
            await asyncio.gather(*(store.commit(make_entry(f"c{number}")) for number in range(200)))
            assert sum(groups) == 200
            assert len(groups) < 50

    run_bounded(story)


def test_recorded_rows_wait_for_company_but_not_for_long(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_store(tmp_path / "ledger.db", behind_seconds=0.1) as store:
            began = time.monotonic()
            for number in range(20):
                store.record(make_entry(f"c{number}"))
            assert await store.wait_after(20, timeout=WAIT)
            assert 0.05 < time.monotonic() - began < 1.0
            assert (await store.rows_before(None, 1))[0].seq == 21

    run_bounded(story)
