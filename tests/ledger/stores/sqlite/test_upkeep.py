"""Looking after a ledger's file: payloads destroyed and rows removed in one step, and the chain goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ferrule.errors import LedgerError
from ferrule.ledger.chain import compute_commitment
from ferrule.ledger.stores.sqlite.connection import LedgerKeys
from ferrule.ledger.stores.sqlite.upkeep import Upkeep, contains_any
from ferrule.model.journal import Entry
from tests.ledger.stores.entries import AT, check_file, make_ended, make_entry, make_news, make_parked, make_running
from tests.ledger.stores.sqlite.ledgers import KEY, open_store, run_bounded


def fill(path: Path, *entries: Entry) -> None:
    async def story() -> None:
        async with open_store(path, clock=lambda: AT - 1) as store:
            for one in entries:
                await store.commit(one)

    run_bounded(story)


def upkeep_of(path: Path) -> Upkeep:
    return Upkeep(path, LedgerKeys(KEY))


def test_a_row_that_is_added_follows_the_last_and_is_signed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path, make_entry("a"))
    with upkeep_of(path) as upkeep, upkeep.writing() as tail:
        assert tail.seq == 2 and upkeep.ledger.startswith("ldg_")
        assert upkeep.append(Entry("erased", "", AT - 50, "", "", {"rows": []})) == 3
    assert check_file(path) == ["", "a", ""]


def test_what_goes_wrong_half_way_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path, make_entry("a"))
    with upkeep_of(path) as upkeep:
        with pytest.raises(RuntimeError), upkeep.writing():
            upkeep.destroy_payloads([2])
            upkeep.remove_up_to(1, [])
            raise RuntimeError
        (row,) = upkeep.rows_of("a")
    assert row.payload is not None and row.commitment is None
    assert check_file(path) == ["", "a"]


def test_a_destroyed_payload_leaves_its_commitment_and_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path, make_entry("a"), make_entry("b"))
    with upkeep_of(path) as upkeep:
        (before,) = upkeep.rows_of("a")
        assert before.payload is not None
        with upkeep.writing():
            salts = upkeep.destroy_payloads([1, 2, 99])
        assert salts == [before.payload[:16]]
        (after,) = upkeep.rows_of("a")
        assert (after.payload, after.commitment) == (None, compute_commitment(before.payload))
        assert upkeep.scrub(salts).is_gone
        assert not contains_any(path, salts)
        assert upkeep.rows_of("b")[0].payload is not None


def test_rows_are_removed_with_their_keys_but_for_those_of_calls_that_went_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(
        path,
        make_running("old", "x", key=b"k1", input_digest=b"d"),
        make_ended("old"),
        make_running("long", "x", key=b"k2", input_digest=b"d", counted_run="r1"),
        make_news("old", "late_result"),
        make_ended("long", counted_run="r1"),
    )
    with upkeep_of(path) as upkeep:
        assert [key[0] for key in upkeep.list_kept_keys(4)] == [b"k2"]
        assert (upkeep.count_calls("r1", "demo.pay"), upkeep.count_calls("r2", "demo.pay")) == (2, 0)
        with upkeep.writing():
            upkeep.remove_up_to(4, [("r1", "demo.pay")])
        assert [row.seq for row in upkeep.rows_after(0)] == [5, 6]
        assert upkeep.db.execute("SELECT key FROM idempotency").fetchall() == [(b"k2",)]
        assert upkeep.count_calls("r1", "demo.pay") == 0


def test_how_far_rows_may_be_removed_is_known(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path, make_entry("a", at=AT), make_parked("b", tool_id="demo.pay"), make_entry("c", at=AT + 10))
    with upkeep_of(path) as upkeep:
        assert upkeep.open_calls() == {"b": "awaiting_approval"}
        assert upkeep.first_row_of_open_calls() == 3
        assert [upkeep.last_row_before(at) for at in (0, AT, AT + 10, AT + 11)] == [0, 1, 3, 4]


def test_a_ledger_whose_last_row_was_cut_off_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    fill(path, make_entry("a"))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM journal WHERE seq = 2")
    connection.close()
    with upkeep_of(path) as upkeep, pytest.raises(LedgerError, match="audit verify"), upkeep.writing():
        pass
    with pytest.raises(LedgerError, match="there is no ledger"):
        upkeep_of(tmp_path / "missing.db")
