"""Snowflake's connector against fakesnow, where the two go together."""

from __future__ import annotations

import functools
import importlib
import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Context, ExecutionFailed
from tests.runtime.executors.database.real_databases import asking, executor_of, go, refused, tool_of
from tests.runtime.executors.database.real_databases import given as gives_back
from tests.runtime.executors.database.real_databases import tool as any_tool
from tests.services import missing


@functools.cache
def server() -> Any:
    """What starts the fake. It follows the connector's insides, and so goes with some of its versions only."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("fakesnow").server
    except ImportError as error:
        missing("fakesnow", f"it does not go with the connector that is installed ({error})")


def tool(name: str, statement: str | None, **said: Any) -> str:
    return any_tool(name, statement, engine="snowflake", **said)


@asynccontextmanager
async def snowflake(*definitions: str) -> AsyncIterator[App]:
    start = server()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fake's own libraries
        with start() as where:
            members = {"account": "fakesnow", "warehouse": "wh", "username": "fake", "password": "pw-77"}
            members |= {
                "database": "db1",
                "schema": "s1",
                "host": where["host"],
                "port": where["port"],
                "protocol": "http",
            }
            async with asking(*definitions, members=members) as app:
                yield app


def play(story: Callable[[App], Awaitable[None]], *definitions: str) -> None:
    async def main() -> None:
        async with snowflake(*definitions) as app:
            await story(app)

    go(main)


def test_values_are_bound_and_types_become_json() -> None:
    async def story(app: App) -> None:
        assert (await gives_back(app, "find", {"a": "'; DROP TABLE t; --"}))["rows"] == [
            {"one": 1, "a": "'; DROP TABLE t; --", "exact": "1.50", "moment": "2024-01-01T00:00:00", "doc": {"a": 1}}
        ]

    ask = (
        "SELECT 1 AS one, :a AS a, 1.5::number(10,2) AS exact, '2024-01-01'::timestamp AS moment,"
        " parse_json('{\"a\":1}') AS doc"
    )
    play(story, tool("find", ask, takes={"a": {}}))


def test_changes_rows_and_structured_input() -> None:
    async def story(app: App) -> None:
        await gives_back(app, "make")
        assert (await gives_back(app, "add", {"id": 1, "name": "it's"}))["affected"] == 1
        assert (await gives_back(app, "rows", {"table": "t", "filters": {"ID": 1}}))["rows"] == [
            {"id": 1, "name": "it's"}
        ]
        assert (await refused(app, "rows", {"table": "t", "columns": ["no"]}))[0] == "invalid_arguments"
        assert (await refused(app, "lost"))[:2] == ("setup_required", "bad_statement")
        assert (await refused(app, "sneak"))[0] == "setup_required"
        executor, context = executor_of(app), Context("", "", None, "")
        assert (await executor.prepare(tool_of(app, "rows")).probe(context)).startswith("connected to fakesnow/db1/s1")
        with pytest.raises(ExecutionFailed):
            await executor.prepare(tool_of(app, "lost")).probe(context)

    play(
        story,
        tool("make", "CREATE TABLE t (id int, name varchar)", kind="action"),
        tool("add", "INSERT INTO t VALUES (:id, :name)", kind="action", takes={"id": {}, "name": {}}),
        tool("rows", None, method="orm", takes={"table": {}, "filters": {}, "columns": {}}),
        tool("lost", "SELECT * FROM nowhere"),
        tool("sneak", "DELETE FROM t"),
    )


def test_the_identity_of_the_process_is_nobody_at_snowflake() -> None:
    async def story() -> None:
        credentials = {"scheme": "iam-role", "account": "a", "warehouse": "w", "username": "u"}
        async with asking(tool("find", "SELECT 1", credentials=credentials), members={}) as app:
            assert (await refused(app, "find"))[:2] == ("setup_required", "scheme_unfit")

    go(story)


def test_a_private_host_needs_to_be_listed() -> None:
    async def story() -> None:
        members = {"account": "a", "warehouse": "w", "username": "u", "password": "p", "host": "10.0.0.1"}
        async with asking(tool("find", "SELECT 1"), members={}, environment={"DB": json.dumps(members)}) as app:
            assert (await refused(app, "find"))[:2] == ("policy_blocked", "address_forbidden")

    go(story)
