"""A table of a thousand rows in a real PostgreSQL, and what tests look at beside the results of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ferrule.app.app import App
from tests.runtime.executors.database.real_databases import Place, go, postgres

TEXT = {"type": "string", "description": "A text."}
WHOLE = {"type": "integer", "description": "A number."}
ORDERS = {
    "type": "object",
    "properties": {"orders": {"type": "array", "items": {"type": "object"}}},
    "required": ["orders"],
    "additionalProperties": False,
}


def play(story: Callable[[Place], Awaitable[None]]) -> None:
    """Play a story with the table `t`."""

    async def main() -> None:
        async with postgres() as place:
            await place.run("CREATE TABLE t (id int PRIMARY KEY, name text)")
            await place.run("INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, 1000) g")
            await story(place)

    go(main)


async def sessions(place: Place, state: str = "%") -> int:
    """How many connections of tools the server has."""
    rows = await place.run(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ferrule'"
        f" AND usename = '{place.members['username']}' AND state LIKE '{state}'"
    )
    return int(rows[0][0])


async def whole(app: App, uri: str) -> bytes:
    """A stored result, to its end."""
    data = b""
    while part := await app.surface().payload(uri, offset=len(data), limit=1_000_000):
        data += part
    return data
