"""A ledger's file as an auditor reads it: one moment of it, its own defects, and no table that is not what it should be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ferrule.contracts.ledger import RawRow, SourceDamaged
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.stores.sqlite.raw import SqliteSource, connect, ledger_errors
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from tests.ledger.stores.entries import AT, make_ended, make_entry, make_news, make_running
from tests.ledger.stores.sqlite.ledgers import change_file, make_ledger, open_store, run_bounded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of six rows: how it was opened, a call with news in between, another call, and late news."""
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path, clock=lambda: AT - 1) as store:
            late = make_news("a", "late_result", at=AT + 9)
            for one in (
                make_running("a", "x"),
                make_news("a", "progress"),
                make_entry("b", at=AT + 5),
                make_ended("a"),
                late,
            ):
                await store.commit(one)

    run_bounded(story)
    return path


def test_rows_come_in_order_whole_or_in_part(path: Path) -> None:
    with SqliteSource(path) as source:
        assert source.count() == 6 and source.find_bounds() == (1, 6)
        rows = [RawRow._make(row) for row in source.rows()]
        assert [row.call for row in rows] == ["", "a", "a", "b", "a", "a"]
        assert [row[0] for row in source.rows(2, 3)] == [2, 3]
        assert source.hash_at(4) == rows[3].hash and source.hash_at(7) is None
        assert [row[0] for row in source.rows_of("a")] == [2, 3, 5, 6]
        assert [row[0] for row in source.list_upkeep_rows(0)] == [1] and source.list_upkeep_rows(1) == []
        assert source.heads()[0].seq == 6


def test_calls_come_in_the_order_of_their_last_row_and_rows_are_found_by_time(path: Path) -> None:
    with SqliteSource(path) as source:
        assert list(source.calls()) == ["b", "a"]
        assert list(source.calls(1, 5)) == ["b"]
        assert [source.find_first_from(at) for at in (0, AT, AT + 1, AT + 9, AT + 10)] == [1, 2, 4, 6, 7]


def test_what_others_write_meanwhile_is_not_seen(path: Path) -> None:
    with SqliteSource(path) as source:
        assert source.find_bounds() == (1, 6)
        change_file(path, "DELETE FROM journal WHERE seq > 3")
        assert source.find_bounds() == (1, 6)
    with SqliteSource(path) as source:
        assert source.find_bounds() == (1, 3)


def test_only_rows_after_an_end_that_are_no_news_are_too_late(path: Path) -> None:
    with SqliteSource(path) as source:
        assert list(source.rows_after_the_end()) == []
    change_file(path, "UPDATE journal SET kind = 3 WHERE seq = 6")
    with SqliteSource(path) as source:
        assert list(source.rows_after_the_end()) == [("a", 6)]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE mine (x)", "the table 'mine' is not as the ledger's schema has it"),
        ("CREATE VIEW seen AS SELECT 1", "the view 'seen'"),
        ("DROP INDEX journal_kinds", "the index 'journal_kinds' is missing"),
        ("ALTER TABLE switches ADD COLUMN more INTEGER", "the table 'switches'"),
        ("PRAGMA user_version = 99", f"the schema's version is 99; this Ferrule knows 1 to {len(MIGRATIONS)}"),
    ],
)
def test_what_the_schema_has_too_much_or_too_little_is_told(path: Path, statement: str, said: str) -> None:
    with SqliteSource(path) as source:
        assert list(source.defects()) == list(source.damage()) == []
    change_file(path, statement)
    with SqliteSource(path) as source:
        assert said in "\n".join(source.defects())


def test_a_view_does_not_stand_in_for_a_table(path: Path) -> None:
    change_file(path, "ALTER TABLE switches RENAME TO old", "CREATE VIEW switches AS SELECT 'x' AS tool_id, 1 AS seq")
    with SqliteSource(path) as source, pytest.raises(SourceDamaged, match="the table switches is not there"):
        list(source.table("switches"))


def test_what_is_no_ledger_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"something else entirely" * 100)
    for name, said in (("missing", "there is no ledger"), ("empty", "it is empty"), ("text", "not an SQLite file")):
        with pytest.raises(LedgerError, match=said):
            connect(tmp_path / name)
    with pytest.raises(LedgerError, match="not a file"):
        connect(tmp_path)


def test_a_ledger_that_another_process_holds_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    make_ledger(path)
    holding, waiting = (sqlite3.connect(path, isolation_level=None, timeout=0) for _ in range(2))
    holding.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="in use by another process"), ledger_errors(path):
        waiting.execute("BEGIN IMMEDIATE")
    holding.close()
    waiting.close()
