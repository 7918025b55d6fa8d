"""Rows that are written together: one that the database refuses harms no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ferrule.errors import LedgerUnavailable
from ferrule.model.journal import Entry, Mark
from tests.ledger.stores.entries import check_file, make_entry, make_running
from tests.ledger.stores.sqlite.ledgers import open_store, run_bounded


@pytest.mark.parametrize(
    "bad",
    [
        make_entry("bad", Mark(counted_run="\ud800", tool_id="t")),
        make_entry("\ud800", Mark(state="running")),
        make_entry("bad", Mark(tool_id=None, state="running")),  # type: ignore[arg-type]  # the mistake under test
        make_entry("bad", at=2**70),
    ],
    ids=["run that is no text", "call that is no text", "mark without a tool", "time out of range"],
)
def test_an_entry_the_database_refuses_harms_no_other(tmp_path: Path, bad: Entry) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            entries = (make_running("a", "x"), bad, make_running("b", "x"))
            results = await asyncio.gather(*map(store.commit, entries), return_exceptions=True)
            assert [isinstance(result, LedgerUnavailable) for result in results] == [False, True, False]
            store.record(bad)
            store.record(make_entry("c"))
            await store.flush()
            assert store.problems

    run_bounded(story)
    assert check_file(path) == ["", "a", "b", "c"]
