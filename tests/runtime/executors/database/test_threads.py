"""Drivers that block run in threads of their own: tried with SQLite, whose driver is one of them."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from ferrule.runtime.executors.database.engine import ConnectionSpec, LiveTable, Query, QueryReport
from ferrule.runtime.executors.database.failures import AMBIGUOUS, LOST, DatabaseFailed, FailureReport
from ferrule.runtime.executors.database.statements import read_statement
from ferrule.runtime.executors.database.threads import ThreadedDatabase, bind_value
from tests.runtime.executors.database.real_databases import go

_LONG = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000) SELECT count(*) FROM n
"""
"""It takes seconds, and ends even if nobody stops it."""


class Sqlite(ThreadedDatabase):
    """A file with a table `t` of a thousand rows."""

    host = "here.db"

    def __init__(self, file: Path, *, size: int = 1) -> None:
        async def password() -> str:
            return "sesame"

        spec = ConnectionSpec(
            members={"username": "ann"}, services=cast(Any, None), is_confined=False, password=password, label="DB"
        )
        super().__init__(spec, size=size, seconds=5.0)
        self.file = file
        self.connected: list[str] = []
        self.begun = threading.Event()
        self.stopped: list[Any] = []
        self.loses = ""

    def connect(self, password: str) -> Any:
        if self.loses == "connect":
            raise ConnectionError("gone")
        self.connected.append(password)
        return sqlite3.connect(self.file, check_same_thread=False)

    def stop(self, raw: Any, cursor: Any) -> None:
        self.stopped.append(raw)
        raw.interrupt()

    def begin(self, raw: Any, query: Query, text: str, values: list[Any]) -> tuple[Any, dict[str, Any]]:
        self.begun.set()
        return raw.execute(text, values), {"thread": threading.current_thread().name}

    def end(self, raw: Any, keep: bool) -> None:
        if self.loses == "commit":
            raise ConnectionError("gone")
        (raw.commit if keep else raw.rollback)()

    def parse(self, raw: Any, text: str, count: int) -> None:
        raw.execute(f"EXPLAIN {text}", [None] * count)

    def report_failure(self, error: BaseException) -> FailureReport | None:
        if isinstance(error, sqlite3.Error):
            return FailureReport("sqlite:error", AMBIGUOUS, str(error))
        return FailureReport("network", LOST) if isinstance(error, ConnectionError) else None

    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        return "SELECT 'main', ?, name FROM pragma_table_info(?)", [name, name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "here.db"
    with sqlite3.connect(made) as raw:
        raw.execute("CREATE TABLE t (id INTEGER, name TEXT)")
        raw.executemany("INSERT INTO t VALUES (?, 'n')", [(number,) for number in range(1000)])
    raw.close()
    return made


def count(file: Path) -> int:
    raw = sqlite3.connect(file)
    try:
        return int(raw.execute("SELECT count(*) FROM t").fetchone()[0])
    finally:
        raw.close()


def query(sql: str, *, is_read_only: bool = True, **values: Any) -> Query:
    return Query(statement=read_statement(sql, "mssql"), values=values, is_read_only=is_read_only)


async def batches(database: Sqlite, asked: Query, answer: QueryReport | None = None) -> list[list[dict[str, Any]]]:
    return [batch async for batch in database.rows(asked, answer or QueryReport())]


def test_rows_come_in_batches_from_a_thread_of_the_databases_own(file: Path) -> None:
    async def story() -> None:
        database, answer = Sqlite(file), QueryReport()
        found = await batches(database, query("SELECT id FROM t WHERE id >= :least ORDER BY id", least=10), answer)
        assert [len(batch) for batch in found] == [500, 490] and found[0][0] == {"id": 10}
        assert answer.ref["thread"].startswith("ferrule-database") and answer.affected is None
        await batches(database, query("SELECT 1 AS one"))
        assert database.connected == ["sesame"]  # used again
        await database.aclose()

    go(story)


def test_an_action_keeps_its_change_and_a_retrieval_does_not(file: Path) -> None:
    async def story() -> None:
        database, answer = Sqlite(file), QueryReport()
        await batches(database, query("DELETE FROM t WHERE id < 10"))
        assert count(file) == 1000
        await batches(database, query("DELETE FROM t WHERE id < 10", is_read_only=False), answer)
        assert (count(file), answer.affected) == (990, 10)
        await database.aclose()

    go(story)


def test_a_change_whose_rows_are_not_read_to_the_end_is_taken_back(file: Path) -> None:
    async def story() -> None:
        database = Sqlite(file)
        rows = database.rows(query("DELETE FROM t RETURNING id", is_read_only=False), QueryReport())
        assert len(await anext(rows)) == 500
        await rows.aclose()
        await database.aclose()
        assert count(file) == 1000

    go(story)


def test_a_canceled_query_is_stopped_where_it_runs(file: Path) -> None:
    async def story() -> None:
        database = Sqlite(file)
        running = asyncio.ensure_future(batches(database, query(_LONG)))
        await asyncio.to_thread(database.begun.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await batches(database, query("SELECT 1 AS one")) == [[{"one": 1}]]  # its place and its thread are free
        await database.aclose()
        assert len(database.stopped) == 1

    go(story)


def test_a_statement_is_read_without_being_run(file: Path) -> None:
    async def story() -> None:
        database = Sqlite(file)
        told = await database.check(read_statement("DELETE FROM t WHERE id = :id", "mssql"))
        assert (told, count(file)) == ("connected to here.db as ann", 1000)
        with pytest.raises(DatabaseFailed) as failed:
            await database.check(read_statement("SELECT nothing FROM nowhere", "mssql"))
        assert failed.value.report.ref == "sqlite:error"
        await database.aclose()

    go(story)


def test_tables_have_their_columns(file: Path) -> None:
    async def story() -> None:
        database = Sqlite(file)
        assert await database.tables("", "t") == [LiveTable("main", "t", ("id", "name"))]
        assert await database.tables("", "missing") == []
        await database.aclose()

    go(story)


def test_a_server_that_cannot_be_reached_is_named(file: Path) -> None:
    async def story() -> None:
        database = Sqlite(file)
        database.loses = "connect"
        with pytest.raises(DatabaseFailed) as failed:
            await batches(database, query("DELETE FROM t", is_read_only=False))
        assert (failed.value.report.kind.code, failed.value.report.names) == ("unreachable", ("here.db",))
        assert not failed.value.may_have_acted
        await database.aclose()

    go(story)


@pytest.mark.parametrize("is_read_only", [True, False])
def test_only_a_change_that_was_under_way_may_have_been_made(file: Path, is_read_only: bool) -> None:
    async def story() -> None:
        database = Sqlite(file)
        database.loses = "commit"
        with pytest.raises(DatabaseFailed) as failed:
            await batches(database, query("DELETE FROM t", is_read_only=is_read_only))
        assert failed.value.may_have_acted is not is_read_only
        await database.aclose()

    go(story)


def test_lists_and_objects_are_bound_as_json() -> None:
    assert [bind_value(value) for value in ([1, None], {"a": "é"}, "x", 5, None)] == [
        "[1,null]",
        '{"a":"é"}',
        "x",
        5,
        None,
    ]
