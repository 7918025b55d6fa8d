"""What can be known about SQL Server without one: connection strings, failures, and what is never sent."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.runtime.executors.database.mssql import MssqlDatabase, _brace_value
from tests.runtime.executors.database.real_databases import asking, executor_of, go, refused
from tests.runtime.executors.database.real_databases import tool as any_tool

MEMBERS = {"host": "127.0.0.1", "port": 9, "database": "d;PWD=x", "username": "u", "password": "p;}x"}


def tool(name: str, statement: str | None, **said: Any) -> str:
    return any_tool(name, statement, engine="mssql", **said)


def test_values_of_a_connection_string_cannot_add_to_it() -> None:
    assert _brace_value("a;b}c") == "{a;b}}c}"


@pytest.mark.parametrize(
    "statement", ["DELETE FROM t", "SELECT 1 INTO x FROM t", "EXEC sp_who", "WITH x AS (SELECT 1 a) DELETE FROM x"]
)
def test_a_retrieval_that_changes_is_refused_before_anything_is_dialled(statement: str) -> None:
    async def story() -> None:
        async with asking(tool("sneak", statement), members=MEMBERS) as app:
            assert (await refused(app, "sneak"))[0] == "setup_required"

    go(story)


def test_nobody_there() -> None:
    async def story() -> None:
        async with asking(tool("find", "SELECT 1"), members=MEMBERS) as app:
            assert (await refused(app, "find"))[:2] == ("dependency_unavailable", "unreachable")

    go(story)


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        ("IntegrityError", "Integrity constraint violation", "invalid_arguments"),
        ("ProgrammingError", "42S02 Base table or view not found", "execution_failed"),
        ("OperationalError", "28000 Invalid authorization specification", "credential_missing"),
        ("OperationalError", "Communication link failure", "dependency_unavailable"),
    ],
)
def test_failures_have_classes(kind: str, said: str, expected: str) -> None:
    async def story() -> None:
        async with asking(tool("find", "SELECT 1"), members={**MEMBERS, "host": "127.0.0.2"}) as app:
            await refused(app, "find")  # the address is not listed: nothing is dialled
            database = next(iter(executor_of(app)._databases.values()))
            assert isinstance(database, MssqlDatabase)
            error = getattr(database._driver, kind)(said, "")
            told = database.report_failure(error)
            assert told is not None
            assert told.kind.error_class == expected

    go(story)
