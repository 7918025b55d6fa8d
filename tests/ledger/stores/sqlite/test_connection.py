"""Opening a ledger's file: what is refused, what is brought up to date, and how long another writer is waited for."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.errors import LedgerUnavailable
from ferrule.ledger.stores.sqlite import connection as connection_module
from ferrule.ledger.stores.sqlite import schema
from tests.ledger.stores.entries import check_file, make_entry
from tests.ledger.stores.sqlite.ledgers import (
    KEY,
    change_file,
    check_refused,
    make_ledger,
    open_store,
    retry_until_written,
    run_bounded,
)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"something else entirely, and long enough to look like a header" * 20)
    check_refused(path, "damaged or not a ledger.*restore a backup")
    assert path.read_bytes().startswith(b"something else")


def test_a_damaged_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, "a")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(len(whole) - 100))
    check_refused(path, "ledger")


def test_an_sqlite_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change_file(path, "CREATE TABLE mine (x)")
    check_refused(path, "something else")


def test_a_newer_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path)
    change_file(path, "PRAGMA user_version = 99")
    check_refused(path, "newer Ferrule.*upgrade")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_refused(tmp_path / "file" / "ledger.db", "cannot be opened")


def test_an_older_ledger_is_brought_up_to_date_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, "a")
    newer = (*schema.MIGRATIONS, ("CREATE TABLE later (x INTEGER) STRICT",))
    monkeypatch.setattr(connection_module, "MIGRATIONS", newer)

    async def story() -> None:
        for _ in range(2):
            async with open_store(path) as store:
                rows = await store.rows_after(0)
                assert [(row.kind, row.outcome) for row in rows] == [
                    ("opened", "created"), ("call", "succeeded"), ("opened", "migrated"),
                ]  # fmt: skip
                assert rows[2].facts()["schema_version"] == len(newer)
                assert rows[2].facts()["ledger"] == rows[0].facts()["ledger"]

    run_bounded(story)
    check_file(path)


def test_rows_cut_off_the_end_are_noticed_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, "a", "b")
    change_file(path, "DELETE FROM journal WHERE seq = 3")
    check_refused(path, "audit verify")


def test_a_head_signed_with_another_key_is_refused_unless_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path, "a")
    new_key = Ed25519PrivateKey.generate()
    check_refused(path, "the right key", key=new_key)

    async def story() -> None:
        async with open_store(path, key=new_key, trusted=(KEY.public_key(),)) as store:
            await store.commit(make_entry("b"))

    run_bounded(story)
    check_refused(path, "the right key")


def test_another_writer_is_waited_for_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_BUSY_SECONDS", 0.1)
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path, behind_seconds=0.01) as store:
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            store.record(make_entry("a"))
            with pytest.raises(LedgerUnavailable, match="locked"):
                await store.commit(make_entry("b"))
            with pytest.raises(LedgerUnavailable):
                store.record(make_entry("c"))
            other.execute("ROLLBACK")
            other.close()
            await retry_until_written(store, "d")
            assert "the ledger can be written again" in store.problems

    run_bounded(story)
    assert check_file(path) == ["", "a", "d"]
