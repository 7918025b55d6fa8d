"""What a call leaves in a PostgreSQL session, the next one does not find; and what leaves nothing costs one round trip."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from ferrule.app.app import App
from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.runtime.executors.database import postgresql_traces
from ferrule.runtime.executors.database.postgresql import PostgresDatabase, PostgresSession
from ferrule.settings import NetworkSettings, Settings
from tests.runtime.executors.database.real_databases import Place, asking, executor_of, given, go, tool
from tests.services import require

MARK = "set_config('app.mark', coalesce(current_setting('app.mark', true), '') || 'x', false)"
SCENE = (
    "CREATE TABLE t (id int)",
    "INSERT INTO t VALUES (1)",
    "CREATE TABLE written (id int)",
    """CREATE FUNCTION writes() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('default_transaction_read_only', 'off', false);
        IF current_setting('transaction_read_only') = 'on' THEN RETURN 'refused'; END IF;
        INSERT INTO written VALUES (1);
        RETURN 'written';
    END $$""",
    "CREATE VIEW hidden_write AS SELECT writes() AS told",
    f"CREATE VIEW hidden AS SELECT {MARK} AS told",
    f'CREATE VIEW "Odd" AS SELECT {MARK} AS told',
    f"CREATE FUNCTION marks(int) RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT {MARK} <> '' $$",
    "CREATE TABLE guarded (id int)",
    "INSERT INTO guarded VALUES (1)",
    "CREATE POLICY sees ON guarded USING (marks(id))",
    "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE guarded FORCE ROW LEVEL SECURITY",
)
OPERATOR = (
    f"CREATE FUNCTION meets(int, int) RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT {MARK} <> '' $$",
    "CREATE OPERATOR <~> (LEFTARG = int, RIGHTARG = int, FUNCTION = meets)",
)
OVERLOAD = (f"CREATE FUNCTION round(text) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT {MARK} $$",)
PLAIN = "SELECT id, round(id) FROM t WHERE id = :id"


@asynccontextmanager
async def database() -> AsyncIterator[Place]:
    """A whole database: what others make in theirs is not seen in it."""
    port, name = require("postgresql"), f"ferrule_{secrets.token_hex(6)}"
    where: dict[str, Any] = {"host": "127.0.0.1", "port": port}
    admin = await asyncpg.connect(**where, user="postgres", database="postgres")
    try:
        await admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'first'")
        await admin.execute(f"CREATE DATABASE {name} OWNER {name} TEMPLATE template0")
        owner = await asyncpg.connect(**where, user=name, password="first", database=name)
        try:
            yield Place({**where, "database": name, "username": name, "password": "first"}, owner.fetch)
        finally:
            await owner.close()
    finally:
        await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await admin.execute(f"DROP ROLE IF EXISTS {name}")
        await admin.close()


def play(story: Callable[[Place], Awaitable[None]], *more: str) -> None:
    async def main() -> None:
        async with database() as place:
            for statement in (*SCENE, *more):
                await place.run(statement)
            await story(place)

    go(main)


def asking_alone(place: Place, *definitions: str) -> Any:
    """An app with one connection."""
    limits = DatabaseUpstreams(timeout_seconds=20.0, pool_size=1)
    return asking(
        *definitions,
        members=place.members,
        settings=Settings(network=NetworkSettings(allow=("127.0.0.1",)), database=limits),
    )


def asked_database(app: App) -> PostgresDatabase:
    """The one that a call has asked."""
    (found,) = executor_of(app)._databases.values()
    assert isinstance(found, PostgresDatabase)
    return found


async def left_behind(app: App) -> tuple[str, str]:
    """What the idle session has: the mark, and whether it still only reads."""
    ((_, session),) = asked_database(app)._reading._idle
    mark = await session.raw.fetchval("SELECT coalesce(current_setting('app.mark', true), '')")
    return mark, await session.raw.fetchval("SHOW default_transaction_read_only")


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("SELECT told FROM hidden", ()),
        ("TABLE hidden", ()),
        ("SELECT told FROM HIDDEN", ()),
        ('SELECT told FROM "Odd"', ()),
        ('SELECT told FROM U&"\\004fdd"', ()),
        ("SELECT id FROM guarded", ()),
        ("SELECT id FROM t WHERE id <~> 1", OPERATOR),
        ("SELECT round('1'::text)", OVERLOAD),
        (f"SELECT {MARK} AS told", ()),
        ("SELECT t.id FROM t JOIN hidden ON true", ()),
    ],
)
def test_what_a_statement_hides_is_not_left_for_the_next_call(statement: str, more: tuple[str, ...]) -> None:
    async def story(place: Place) -> None:
        async with asking_alone(place, tool("ask", statement)) as app:
            for _ in range(2):
                await given(app, "ask")
                assert await left_behind(app) == ("", "on")

    play(story, *more)


def test_a_retrieval_stays_one_whatever_its_view_does_to_the_session() -> None:
    async def story(place: Place) -> None:
        async with asking_alone(place, tool("ask", "SELECT told FROM hidden_write")) as app:
            for _ in range(3):
                assert (await given(app, "ask"))["rows"] == [{"told": "refused"}]
            assert await place.run("SELECT * FROM written") == []

    play(story)


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every session that is put back."""
    made: list[int] = []
    reset = PostgresSession.reset

    async def counted(session: PostgresSession) -> None:
        made.append(session.pid)
        await reset(session)

    monkeypatch.setattr(PostgresSession, "reset", counted)
    return made


def test_a_statement_that_names_only_tables_is_not_followed_by_another(resets: list[int]) -> None:
    async def story(place: Place) -> None:
        number = {"type": "integer", "description": "A number."}
        async with asking_alone(place, tool("ask", PLAIN, takes={"id": number}), tool("other", "TABLE t")) as app:
            for _ in range(3):
                assert (await given(app, "ask", {"id": 1}))["row_count"] == 1
            assert resets == []
            await given(app, "other")
            assert len(resets) == 1

    play(story)


def test_what_names_stand_for_is_looked_at_again(resets: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_traces, "SECONDS", 0.0)

    async def story(place: Place) -> None:
        async with asking_alone(place, tool("ask", "SELECT * FROM later")) as app:
            await place.run("CREATE TABLE later (told text)")
            await given(app, "ask")
            assert resets == []
            await place.run("DROP TABLE later")
            await place.run(f"CREATE VIEW later AS SELECT {MARK} AS told")
            await given(app, "ask")
            assert len(resets) == 1 and await left_behind(app) == ("", "on")

    play(story)
