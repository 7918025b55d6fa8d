"""Calls of tools that ask a real MariaDB."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ferrule.ledger.payloads.files import FilePayloads
from ferrule.model.upstreams import DatabaseUpstreams
from tests.runtime.executors.database.orders import WHOLE, whole
from tests.runtime.executors.database.proxy import proxied
from tests.runtime.executors.database.real_databases import Place, asked, asking, eventually, go, mariadb, refused
from tests.runtime.executors.database.real_databases import given as gives_back
from tests.runtime.executors.database.real_databases import tool as any_tool

RUNNING = "SELECT COUNT(*) FROM information_schema.processlist WHERE command IN ('Query', 'Execute') AND user = '{}'"


def tool(name: str, statement: str | None, **said: Any) -> str:
    return any_tool(name, statement, engine="mysql", **said)


def play(story: Callable[[Place], Awaitable[None]]) -> None:
    async def main() -> None:
        async with mariadb() as place:
            await place.run(
                "CREATE TABLE t (id int PRIMARY KEY, name varchar(50), CONSTRAINT short CHECK (id < 10000))"
            )
            await place.run("INSERT INTO t SELECT seq, CONCAT('n', seq) FROM seq_1_to_1000")
            await story(place)

    go(main)


async def count(place: Place) -> int:
    return int((await place.run("SELECT COUNT(*) FROM t"))[0][0])


def test_rows_and_changes() -> None:
    async def story(place: Place) -> None:
        async with asking(
            tool(
                "find",
                "SELECT * FROM t WHERE id = :id AND (:name IS NULL OR name = :name)",
                takes={"id": {}, "name": {}},
            ),
            tool("add", "INSERT INTO t VALUES (:id, :name)", kind="action", takes={"id": {}, "name": {}}),
            tool("back", "INSERT INTO t VALUES (:id, 'x') RETURNING id", kind="action", takes={"id": {}}),
            members=place.members,
        ) as app:
            assert await gives_back(app, "find", {"id": 7}) == {"rows": [{"id": 7, "name": "n7"}], "row_count": 1}
            assert await gives_back(app, "find", {"id": 7, "name": "x"}) == {"rows": [], "row_count": 0}
            assert await gives_back(app, "add", {"id": 5000}) == {"rows": [], "row_count": 0, "affected": 1}
            assert (await gives_back(app, "back", {"id": 5001}))["rows"] == [{"id": 5001}]
            assert await count(place) == 1002

    play(story)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (9999, 'x')",
        "UPDATE t SET name = 'x'",
        "DELETE FROM t",
        "SELECT NEXTVAL(numbers)",
        "SELECT change_it()",
    ],
)
def test_the_database_itself_lets_a_retrieval_change_nothing(statement: str) -> None:
    async def story(place: Place) -> None:
        await place.run("CREATE SEQUENCE numbers")
        await place.run("CREATE FUNCTION change_it() RETURNS INT BEGIN DELETE FROM t; RETURN 1; END")
        async with asking(tool("sneak", statement), members=place.members) as app:
            assert await refused(app, "sneak") == ("permission_denied", "read_only", "sqlstate:25006")
        assert await count(place) == 1000
        assert (await place.run("SELECT next_not_cached_value FROM numbers"))[0][0] == 1

    play(story)


def test_nothing_of_a_session_is_left_for_the_next_call() -> None:
    async def story(place: Place) -> None:
        look = (
            "SELECT @who AS who, IS_FREE_LOCK('mine') AS free, @@sql_mode AS mode, @@max_statement_time AS most,"
            " @@time_zone AS zone, CONNECTION_ID() AS id"
        )
        limits = DatabaseUpstreams(pool_size=1, timeout_seconds=9.0)
        async with asking(
            tool("leave", "SELECT @who := 'alice', GET_LOCK('mine', 1)"),
            tool("look", look),
            members=place.members,
            limits=limits,
        ) as app:
            before = (await gives_back(app, "look"))["rows"][0]
            await gives_back(app, "leave")
            after = (await gives_back(app, "look"))["rows"][0]
            assert after == before
            assert after["who"] is None
            assert after["free"] == 1
            assert float(after["most"]) == 9.0
            assert after["zone"] == "+00:00"

    play(story)


@pytest.mark.parametrize("kind", ["retrieval", "action"])
def test_a_canceled_query_is_killed_at_the_server(kind: str) -> None:
    async def story(place: Place) -> None:
        slow = "SELECT SLEEP(60)" if kind == "retrieval" else "DELETE FROM t WHERE SLEEP(60) = 0"
        async with asking(tool("sleepy", slow, kind=kind), members=place.members) as app:
            surface = app.surface()
            run = await surface.begin("sleepy", {})
            running = RUNNING.format(place.members["username"])

            async def is_running() -> bool:
                return bool((await place.run(running))[0][0])

            async def is_over() -> bool:
                return not await is_running()

            await eventually(is_running)
            told = await surface.cancel(run.invocation_ids[0], "enough", within=5)
            assert told is not None
            assert told.outcome == "canceled"
            await eventually(is_over)
        assert await count(place) == 1000

    play(story)


def test_many_rows_are_streamed_to_a_stored_result(tmp_path: Any) -> None:
    async def story(place: Place) -> None:
        many = "SELECT seq AS id, REPEAT('x', 100) AS filler FROM seq_1_to_40000 LIMIT :count"
        async with asking(
            tool("many", many, takes={"count": WHOLE}, x_max_rows=30_000),
            members=place.members,
            payloads=FilePayloads(tmp_path, lambda: 1),
        ) as app:
            result = await asked(app, "many", {"count": 30_000})
            assert result.status == "succeeded", result.error
            kept = next(block for block in result.content if block["type"] == "persisted_output_ref")
            stored = json.loads(await whole(app, kept["uri"]))
            assert stored["row_count"] == 30_000
            assert stored["rows"][-1] == {"id": 30_000, "filler": "x" * 100}
            assert (await refused(app, "many", {"count": 30_001}))[1] == "too_many_rows"

            async def is_quiet() -> bool:
                return not (await place.run(RUNNING.format(place.members["username"])))[0][0]

            await eventually(is_quiet)
            assert (await asked(app, "many", {"count": 5})).status == "succeeded"

    play(story)


@pytest.mark.parametrize(
    ("statement", "arguments", "expected"),
    [
        ("SELECT * FROM missing", {}, ("setup_required", "bad_statement", "sqlstate:42S02")),
        ("SELECT missing FROM t", {}, ("setup_required", "bad_statement", "sqlstate:42S22")),
        ("SELEC 1", {}, ("setup_required", "bad_statement", "sqlstate:42000")),
        ("INSERT INTO t VALUES (1, 'x')", {}, ("invalid_arguments", "constraint_violated", "sqlstate:23000")),
        ("INSERT INTO t VALUES (20000, 'x')", {}, ("invalid_arguments", "constraint_violated", "sqlstate:23000")),
        ("INSERT INTO t VALUES (:a, 'x')", {"a": "many"}, ("invalid_arguments", "bad_value", "sqlstate:22007")),
        ("INSERT INTO t VALUES (:a, 'x')", {"a": 2**40}, ("invalid_arguments", "bad_value", "sqlstate:22003")),
        ("SELECT * FROM mysql.user", {}, ("permission_denied", "upstream_denied", "sqlstate:42000")),
        ("SELECT say_no()", {}, ("execution_failed", "raised", "sqlstate:45000")),
    ],
)
def test_failures_have_classes(statement: str, arguments: dict[str, Any], expected: tuple[str, str, str]) -> None:
    async def story(place: Place) -> None:
        await place.run("CREATE FUNCTION say_no() RETURNS INT BEGIN SIGNAL SQLSTATE '45000'; RETURN 1; END")
        async with asking(
            tool("fail", statement, kind="action", takes={"a": {}}),
            tool("who", "SELECT CONNECTION_ID() AS id"),
            members=place.members,
            limits=DatabaseUpstreams(pool_size=1),
        ) as app:
            before = await gives_back(app, "who")
            assert await refused(app, "fail", arguments) == expected
            assert await gives_back(app, "who") == before  # the session goes on after a failure

    play(story)


def test_a_wrong_password_is_told_and_the_right_one_read_anew() -> None:
    async def story(place: Place) -> None:
        environment = {"DB": json.dumps({**place.members, "password": "wrong-canary"})}
        async with asking(tool("find", "SELECT 1 AS one"), members={}, environment=environment) as app:
            result = await asked(app, "find")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
            assert "wrong-canary" not in str(result)
            environment["DB"] = json.dumps(place.members)
            assert (await gives_back(app, "find"))["rows"] == [{"one": 1}]

    play(story)


def test_connections_that_were_cut_while_idle_are_replaced() -> None:
    async def story(place: Place) -> None:
        async with proxied(int(place.members["port"])) as proxy:
            members = {**place.members, "port": proxy.port}
            async with asking(tool("find", "SELECT 1 AS one"), members=members) as app:
                await gives_back(app, "find")
                proxy.cut()
                assert (await gives_back(app, "find"))["rows"] == [{"one": 1}]

    play(story)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 INTO OUTFILE '/tmp/ferrule-out'",
        "SELECT 1 INTO @a",
        "SELECT 1 /*! , 2 */",
        "SET @a = 1",
        "DROP TABLE t",
        "CREATE TABLE other (a int)",
        "CALL change_all()",
        "ANALYZE TABLE t",
    ],
)
def test_definitions_that_slip_past_a_read_only_transaction_are_refused(statement: str) -> None:
    async def story() -> None:
        members = {"host": "127.0.0.1", "port": 1, "database": "d", "username": "u", "password": "p"}
        async with asking(tool("wrong", statement), members=members) as app:
            assert (await refused(app, "wrong"))[0] == "setup_required"

    go(story)
