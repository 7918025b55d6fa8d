"""Copies of a ledger: whole while others write, private, and without anything of SQLite's beside them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ferrule.errors import LedgerError
from ferrule.ledger.stores.sqlite.copies import copy_ledger, drop_log, list_users, put_in_place, remove, set_aside
from tests.ledger.stores.entries import check_file, make_entry
from tests.ledger.stores.sqlite.ledgers import make_ledger, open_store, run_bounded


def test_a_copy_of_an_open_ledger_is_whole_and_its_owners_alone(tmp_path: Path) -> None:
    path, target = tmp_path / "ledger.db", tmp_path / "backup.db"

    async def story() -> None:
        async with open_store(path) as store:
            await store.commit(make_entry("a"))
            put_in_place(copy_ledger(path, target), target)
            await store.commit(make_entry("b"))

    run_bounded(story)
    assert check_file(target) == ["", "a"]
    assert check_file(path) == ["", "a", "b"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not list(tmp_path.glob(".backup*")) and not list(tmp_path.glob("backup.db-*"))


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.db"
    wrong.write_bytes(b"no ledger at all, but long enough to look at" * 20)
    with pytest.raises(LedgerError, match="no ledger"):
        copy_ledger(wrong, tmp_path / "backup.db")
    with pytest.raises(LedgerError, match="cannot write"):
        copy_ledger(wrong, tmp_path / "missing" / "backup.db")
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.db"]


def test_what_is_set_aside_keeps_its_rows_with_their_log(tmp_path: Path) -> None:
    path, aside = tmp_path / "ledger.db", tmp_path / "aside.db"
    make_ledger(path, "a")
    log = Path(f"{path}-wal")
    log.write_bytes(b"")
    set_aside(path, aside)
    assert path.exists() and not log.exists() and Path(f"{aside}-wal").exists()
    drop_log(aside)
    assert not Path(f"{aside}-wal").exists()
    assert check_file(aside) == ["", "a"]


def test_a_copy_is_removed_with_what_stands_beside_it(tmp_path: Path) -> None:
    for ending in ("", "-wal", "-shm", ".bell", ".other"):
        Path(f"{tmp_path}/x.db{ending}").write_bytes(b"")
    remove(tmp_path / "x.db")
    assert [path.name for path in tmp_path.iterdir()] == ["x.db.other"]


def test_whoever_has_the_ledger_open_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            assert list_users(tmp_path / "instances") == [store.instance]

    assert list_users(tmp_path / "instances") == []
    run_bounded(story)
    assert list_users(tmp_path / "instances") == []
