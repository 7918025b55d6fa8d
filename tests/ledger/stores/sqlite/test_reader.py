"""Questions to a ledger that are answered by an index, however many rows there are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ferrule.ledger.stores.sqlite.reader import CANCEL_REQUESTS
from tests.ledger.stores.entries import make_entry
from tests.ledger.stores.sqlite.ledgers import make_ledger, open_store, run_bounded


def test_requests_to_cancel_are_found_without_looking_at_other_rows(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, "a")
    connection = sqlite3.connect(path)
    plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM journal {CANCEL_REQUESTS}", (0,)).fetchall()
    connection.close()
    assert [row[-1] for row in plan] == ["SEARCH journal USING INDEX journal_cancel_requests (seq>?)"]


def test_the_last_row_of_a_rare_kind_is_found_without_looking_at_other_rows(tmp_path: Path) -> None:
    """However many calls a ledger has, opening it takes as long."""
    path = tmp_path / "ledger.db"
    make_ledger(path, "a")
    asked: list[str] = []

    async def story() -> None:
        async with open_store(path) as store:
            await store.commit(make_entry("", kind="policy"))
            store._reader._get_connection().set_trace_callback(asked.append)
            (found,) = await store.rows_before(None, 1, kinds=("policy",))
            assert found.kind == "policy"
            assert [row.kind for row in await store.rows_before(None, kinds=("opened", "policy"))] == [
                "policy",
                "opened",
            ]
            assert [row.kind for row in await store.rows_before(None, kinds=("call", "policy"))] == ["policy", "call"]

    run_bounded(story)
    connection = sqlite3.connect(path)
    plans = [connection.execute(f"EXPLAIN QUERY PLAN {question}").fetchall() for question in asked]
    connection.close()
    indexes = ["journal_kinds" in str(plan) for plan in plans]
    assert indexes == [True, True, False]
