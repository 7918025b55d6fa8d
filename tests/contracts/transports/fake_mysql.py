"""The `database` transport with a real MariaDB behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.contracts.transports.fake_database import Sql, fake_database
from tests.contracts.transports.fake_upstream import CANARY, FakeUpstream
from tests.runtime.executors.database.real_databases import mariadb

_SQL = Sql(
    "mysql",
    {
        "echo": "SELECT CONVERT(:text USING utf8mb4) AS text",
        "slow": "SELECT SLEEP(30)",
        "fails": "SELECT say_no()",
        "big": "SELECT REPEAT('x', 1000) AS filler FROM seq_1_to_1100 UNION ALL SELECT 'the end of it'",
        "empty": "SELECT :text AS text FROM DUAL WHERE false",
    },
    "SELECT COUNT(*) FROM information_schema.processlist WHERE command IN ('Query', 'Execute') AND info LIKE 'SELECT SLEEP(30)%'",
    lambda data: data[4:5] == b"\x17",
)


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    """A database of its own."""
    async with mariadb() as place:
        await place.run(
            f"CREATE FUNCTION say_no() RETURNS INT BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no: {CANARY}'; RETURN 1; END"
        )
        async with fake_database(place, _SQL) as made:
            yield made
