"""Calls of tools that ask a real PostgreSQL."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.settings import NetworkSettings, Settings
from tests.runtime.executors.database.orders import TEXT, WHOLE, play, sessions
from tests.runtime.executors.database.real_databases import Place, asked, asking, eventually, go, refused, tool
from tests.runtime.executors.database.real_databases import given as gives_back


def test_a_parameter_that_was_not_given_is_null() -> None:
    async def story(place: Place) -> None:
        ask = "SELECT id FROM t WHERE (:name::text IS NULL OR name = :name) AND id = :id"
        async with asking(tool("find", ask, takes={"id": WHOLE, "name": TEXT}), members=place.members) as app:
            assert await gives_back(app, "find", {"id": 7}) == {"rows": [{"id": 7}], "row_count": 1}
            assert await gives_back(app, "find", {"id": 7, "name": "other"}) == {"rows": [], "row_count": 0}

    play(story)


def test_an_action_changes_and_tells_how_much() -> None:
    async def story(place: Place) -> None:
        async with asking(
            tool("add", "INSERT INTO t VALUES (:id, :name) RETURNING id", kind="action", takes={"id": {}, "name": {}}),
            tool("rename", "UPDATE t SET name = :name WHERE id < :id", kind="action", takes={"id": {}, "name": {}}),
            members=place.members,
        ) as app:
            assert await gives_back(app, "add", {"id": 5000, "name": "new"}) == {
                "rows": [{"id": 5000}],
                "row_count": 1,
                "affected": 1,
            }
            assert await gives_back(app, "rename", {"id": 11, "name": "x"}) == {
                "rows": [],
                "row_count": 0,
                "affected": 10,
            }
            assert (await place.run("SELECT count(*) FROM t WHERE name = 'x'"))[0][0] == 10

    play(story)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (9999, 'x') RETURNING id",
        "WITH x AS (DELETE FROM t RETURNING id) SELECT count(*) FROM x",
        "SELECT nextval('numbers')",
        "SELECT change_it()",
        "SELECT * FROM t FOR UPDATE",
        "CREATE TABLE other (a int)",
        "TRUNCATE t",
        "SELECT set_config('transaction_read_only', 'off', false), change_it()",
    ],
)
def test_the_database_itself_lets_a_retrieval_change_nothing(statement: str) -> None:
    async def story(place: Place) -> None:
        await place.run("CREATE SEQUENCE numbers")
        await place.run(
            "CREATE FUNCTION change_it() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; RETURN 1; END $$"
        )
        async with asking(tool("sneak", statement), members=place.members) as app:
            kind, code, ref = await refused(app, "sneak")
            assert kind in ("permission_denied", "execution_failed")
            assert ref in ("sqlstate:25006", "sqlstate:25001")
            assert code in ("read_only", "bad_transaction")
        assert (await place.run("SELECT count(*) FROM t"))[0][0] == 1000
        assert (await place.run("SELECT last_value, is_called FROM numbers"))[0][1] is False

    play(story)


def test_nothing_of_a_session_is_left_for_the_next_call() -> None:
    async def story(place: Place) -> None:
        leave = (
            "SELECT set_config('default_transaction_read_only', 'off', false), set_config('search_path', 'nowhere', false),"
            " set_config('ferrule.user', 'alice', false), set_config('statement_timeout', '0', false),"
            " pg_advisory_lock(7)"
        )
        look = (
            "SELECT current_setting('default_transaction_read_only') AS mode, current_setting('search_path') AS path,"
            " current_setting('ferrule.user', true) AS who, current_setting('statement_timeout') AS most,"
            " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS locks, pg_backend_pid() AS pid"
        )
        limits = DatabaseUpstreams(pool_size=1, timeout_seconds=9.0)
        async with asking(tool("leave", leave), tool("look", look), members=place.members, limits=limits) as app:
            before = (await gives_back(app, "look"))["rows"][0]
            await gives_back(app, "leave")
            after = (await gives_back(app, "look"))["rows"][0]
            assert after["pid"] == before["pid"]
            assert after["who"] in (None, "")
            assert {**after, "who": None} == {**before, "who": None}
            assert after["mode"] == "on"
            assert after["most"] == "9s"
            assert after["locks"] == 0

    play(story)


def test_a_canceled_query_is_canceled_at_the_server() -> None:
    async def story(place: Place) -> None:
        async with asking(tool("sleepy", "SELECT pg_sleep(60)"), members=place.members) as app:
            surface = app.surface()
            run = await surface.begin("sleepy", {})

            async def is_running() -> bool:
                return await sessions(place, "active") == 1

            async def is_over() -> bool:
                return await sessions(place, "active") == 0

            await eventually(is_running)
            told = await surface.cancel(run.invocation_ids[0], "enough", within=5)
            assert told is not None
            assert told.outcome == "canceled"
            await eventually(is_over)

    play(story)


def test_a_change_that_is_canceled_is_not_made() -> None:
    async def story(place: Place) -> None:
        slow = "WITH x AS (SELECT pg_sleep(60)) DELETE FROM t USING x"
        async with asking(tool("slow", slow, kind="action"), members=place.members) as app:
            surface = app.surface()
            run = await surface.begin("slow", {})

            async def is_running() -> bool:
                return await sessions(place, "active") == 1

            await eventually(is_running)
            await surface.cancel(run.invocation_ids[0], "enough", within=5)
            assert (await place.run("SELECT count(*) FROM t"))[0][0] == 1000

    play(story)


def test_the_time_limit_stops_a_query_at_the_server() -> None:
    async def story(place: Place) -> None:
        limits = DatabaseUpstreams(timeout_seconds=0.5)
        async with asking(tool("sleepy", "SELECT pg_sleep(60)"), members=place.members, limits=limits) as app:
            assert (await refused(app, "sleepy"))[0] == "timeout"

            async def is_over() -> bool:
                return await sessions(place, "active") == 0

            await eventually(is_over)
            assert (await refused(app, "sleepy", timeout_seconds=0.3))[0] == "timeout"

    play(story)


@pytest.mark.parametrize(
    ("statement", "arguments", "expected"),
    [
        ("SELECT * FROM missing", {}, ("setup_required", "bad_statement", "sqlstate:42P01")),
        ("SELECT missing FROM t", {}, ("setup_required", "bad_statement", "sqlstate:42703")),
        ("SELECT FROM FROM", {}, ("setup_required", "bad_statement", "sqlstate:42601")),
        ("SELECT 1 / :a::int", {"a": 0}, ("invalid_arguments", "bad_value", "sqlstate:22012")),
        ("SELECT :a::int", {"a": "many"}, ("invalid_arguments", "bad_value", "sqlstate:22000")),
        ("SELECT :a::int", {"a": 2**40}, ("invalid_arguments", "bad_value", "sqlstate:22000")),
        ("SELECT :a::date", {"a": "31.31.2024"}, ("invalid_arguments", "bad_value", "sqlstate:22008")),
        ("SELECT :a::uuid", {"a": "no-such"}, ("invalid_arguments", "bad_value", "sqlstate:22000")),
        ("SELECT :a::text", {"a": "nul \0"}, ("invalid_arguments", "bad_value", "sqlstate:22021")),
        ("SELECT * FROM secret_things", {}, ("permission_denied", "upstream_denied", "sqlstate:42501")),
        ("SELECT raise_it()", {}, ("execution_failed", "raised", "sqlstate:P0001")),
    ],
)
def test_failures_have_classes(statement: str, arguments: dict[str, Any], expected: tuple[str, str, str]) -> None:
    async def story(place: Place) -> None:
        await place.run("RESET ROLE")
        await place.run("CREATE TABLE secret_things (a int)")
        await place.run("CREATE FUNCTION raise_it() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$")
        async with asking(tool("fail", statement, takes={"a": {}}), members=place.members) as app:
            assert await refused(app, "fail", arguments) == expected
            result = await asked(app, "fail", arguments)
            assert result.error is not None
            for value in arguments.values():
                assert str(value) not in result.error.message.replace("'fail'", "")
            assert "SELECT" not in result.error.message

    play(story)


def test_bad_credentials_are_told_and_read_anew() -> None:
    async def story(place: Place) -> None:
        environment = {"DB": json.dumps({**place.members, "username": "ferrule_nobody"})}
        async with asking(tool("find", "SELECT 1 AS one"), members={}, environment=environment) as app:
            kind, code, ref = await refused(app, "find")
            assert (kind, code) == ("credential_missing", "credential_refused")
            assert ref.startswith("sqlstate:28")
            environment["DB"] = json.dumps(place.members)
            assert await gives_back(app, "find") == {"rows": [{"one": 1}], "row_count": 1}

    play(story)


def test_other_credentials_mean_other_connections_and_the_old_ones_end() -> None:
    async def story(place: Place) -> None:
        environment = {"DB": json.dumps(place.members)}
        settings = Settings(network=NetworkSettings(allow=("127.0.0.1",)))
        settings = Settings(network=settings.network, secrets=type(settings.secrets)(cache_seconds=0.001))
        who = tool("who", "SELECT pg_backend_pid() AS pid")
        async with asking(who, members={}, environment=environment, settings=settings) as app:
            first = (await gives_back(app, "who"))["rows"][0]["pid"]
            environment["DB"] = json.dumps({**place.members, "password": "second"})

            async def is_other() -> bool:
                return bool((await gives_back(app, "who"))["rows"][0]["pid"] != first)

            async def is_gone() -> bool:
                return not await place.run(f"SELECT 1 FROM pg_stat_activity WHERE pid = {int(first)}")

            await eventually(is_other)
            await eventually(is_gone)

    play(story)


@pytest.mark.parametrize("missing", ["host", "port", "database", "username", "password"])
def test_every_connection_member_is_needed(missing: str) -> None:
    async def story() -> None:
        members = {"host": "127.0.0.1", "port": 1, "database": "d", "username": "u", "password": "p"}
        del members[missing]
        async with asking(tool("find", "SELECT 1"), members=members) as app:
            result = await asked(app, "find")
            assert result.error is not None
            assert result.error.error_class == "credential_missing"
            assert repr(missing) in result.error.message

    go(story)


def test_connections_that_were_cut_are_replaced() -> None:
    async def story(place: Place) -> None:
        async with asking(tool("find", "SELECT 1 AS one"), members=place.members) as app:
            for _ in range(3):
                await asyncio.gather(*(gives_back(app, "find") for _ in range(5)))
                await place.run("RESET ROLE")
                await place.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ferrule'"
                    f" AND usename = '{place.members['username']}'"
                )

                async def is_cut() -> bool:
                    return await sessions(place) == 0

                await eventually(is_cut)
                await asyncio.sleep(0.05)
            assert await gives_back(app, "find") == {"rows": [{"one": 1}], "row_count": 1}

    play(story)


def test_a_table_that_changed_is_read_anew() -> None:
    async def story(place: Place) -> None:
        limits = DatabaseUpstreams(pool_size=1)
        async with asking(
            tool("find", "SELECT * FROM t WHERE id = 1"),
            tool("touch", "UPDATE t SET name = 'y' WHERE id = 1 RETURNING *", kind="action"),
            members=place.members,
            limits=limits,
        ) as app:
            for name in ("find", "touch"):
                await gives_back(app, name)
            await place.run("ALTER TABLE t ADD COLUMN extra int DEFAULT 5")
            await place.run("ALTER TABLE t ALTER COLUMN id TYPE bigint")
            for name in ("find", "touch"):
                assert (await gives_back(app, name))["rows"] == [{"id": 1, "name": "y", "extra": 5}]

    play(story)


def test_more_calls_than_connections_wait_their_turn() -> None:
    async def story(place: Place) -> None:
        limits = DatabaseUpstreams(pool_size=2)
        async with asking(
            tool("find", "SELECT :a::int AS a", takes={"a": WHOLE}), members=place.members, limits=limits
        ) as app:
            found = await asyncio.gather(*(gives_back(app, "find", {"a": number}) for number in range(30)))
            assert [each["rows"][0]["a"] for each in found] == list(range(30))
            assert await sessions(place) <= 2

    play(story)


def test_a_private_host_needs_to_be_listed() -> None:
    async def story() -> None:
        members = {"host": "127.0.0.1", "port": 5432, "database": "d", "username": "u", "password": "p"}
        async with asking(tool("find", "SELECT 1"), members=members, settings=Settings()) as app:
            assert (await refused(app, "find"))[:2] == ("policy_blocked", "address_forbidden")

    go(story)


@pytest.mark.parametrize(
    ("sql", "params", "expected"),
    [
        ("DELETE FROM t", {}, "permission_denied"),
        ("WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x", {}, "permission_denied"),
        ("COPY t TO PROGRAM 'id'", {}, "permission_denied"),
        ("SET default_transaction_read_only = off", {}, "permission_denied"),
        ("COMMIT", {}, "permission_denied"),
        ("DO $$ BEGIN DELETE FROM t; END $$", {}, "permission_denied"),
        ("SELECT 1; DELETE FROM t", {}, "invalid_arguments"),
        ("SELECT :a", {}, "invalid_arguments"),
        ("SELECT nothing", {}, "invalid_arguments"),
        ("", {}, "invalid_arguments"),
    ],
)
def test_sql_of_the_input_only_reads_and_is_one_statement(sql: str, params: dict[str, Any], expected: str) -> None:
    async def story(place: Place) -> None:
        free = tool(
            "free", None, x_allow_sql=True, takes={"sql": TEXT, "params": {"type": "object", "description": "x"}}
        )
        async with asking(free, members=place.members) as app:
            assert (await refused(app, "free", {"sql": sql, "params": params}))[0] == expected
            found = await gives_back(app, "free", {"sql": "SELECT name FROM t WHERE id = :id", "params": {"id": 3}})
            assert found == {"rows": [{"name": "n3"}], "row_count": 1}
        assert (await place.run("SELECT count(*) FROM t"))[0][0] == 1000

    play(story)


def test_an_action_with_sql_of_its_input_does_what_its_definition_lists() -> None:
    async def story(place: Place) -> None:
        takes = {"sql": TEXT, "params": {"type": "object", "description": "x"}}
        async with asking(
            tool("usual", None, kind="action", x_allow_sql=True, takes=takes),
            tool("insert", None, kind="action", x_allow_sql=True, x_allow_statements=["insert"], takes=takes),
            members=place.members,
        ) as app:
            assert (await refused(app, "usual", {"sql": "DROP TABLE t"}))[1] == "statement_not_allowed"
            assert (await refused(app, "insert", {"sql": "DELETE FROM t"}))[1] == "statement_not_allowed"
            given = {"sql": "INSERT INTO t VALUES (:id, :name)", "params": {"id": 7000, "name": "x"}}
            assert (await gives_back(app, "insert", given))["affected"] == 1

    play(story)


def test_native_ids_are_on_record_without_secrets() -> None:
    async def story(place: Place) -> None:
        async with asking(tool("find", "SELECT 1 AS one"), members=place.members) as app:
            result = await asked(app, "find")
            rows = await app.store.rows_of(result.invocation_id)
            refs = [ref for row in rows for ref in row.segment().notes.get("native_refs", ())]
            assert refs[0]["source"] == "database"
            assert refs[0]["engine"] == "postgresql"
            assert isinstance(refs[0]["backend_pid"], int)
            assert refs[0]["statement_digest"].startswith("sha256:")
            assert "password" not in str(refs)

    play(story)
