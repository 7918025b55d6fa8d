"""The `database` transport with a real PostgreSQL behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.contracts.transports.fake_database import Sql, fake_database
from tests.contracts.transports.fake_upstream import CANARY, FakeUpstream
from tests.runtime.executors.database.real_databases import postgres

_SQL = Sql(
    "postgresql",
    {
        "echo": "SELECT :text::text AS text",
        "slow": "SELECT pg_sleep(30)",
        "fails": "SELECT say_no()",
        "big": "SELECT repeat('x', 1000) AS filler FROM generate_series(1, 1100) UNION ALL SELECT 'the end of it'",
        "empty": "SELECT :text::text AS text WHERE false",
    },
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(30)%'"
    " AND usename = current_user AND pid <> pg_backend_pid()",
    lambda data: data[:1] == b"B",
)


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    """A database of its own."""
    async with postgres() as place:
        await place.run(
            f"CREATE FUNCTION say_no() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no: {CANARY}'; END $$"
        )
        async with fake_database(place, _SQL) as made:
            yield made
