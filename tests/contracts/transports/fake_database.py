"""Databases under the suite: the same tools in PostgreSQL and in MariaDB."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from ferrule.settings import NetworkSettings, Settings
from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream, aml
from tests.runtime.executors.database.proxy import Proxy, proxied
from tests.runtime.executors.database.real_databases import Place

ROW = "{type: object, properties: {text: {type: string}}, required: [text]}"


class Sql:
    """What the engines write differently."""

    def __init__(
        self, engine: str, statements: Mapping[Behaviour, str], slow: str, is_execute: Callable[[bytes], bool]
    ) -> None:
        self.engine = engine
        self.statements = statements
        self.slow = slow
        """Counts the queries that still run for `slow`."""
        self.is_execute = is_execute
        """True for a packet that runs a prepared statement."""


@asynccontextmanager
async def fake_database(place: Place, sql: Sql) -> AsyncIterator[FakeUpstream]:
    """Tools in one real database, behind proxies that count connections and cut every other query for `flaky`."""
    port = int(place.members["port"])
    counting = Counting(sql.is_execute)
    async with proxied(port, counting) as front, proxied(port, Cutting()) as flaky:
        yield _fake_upstream(place, sql, front, flaky, lambda: counting.count)


class Counting:
    """Counts the packets that run a statement."""

    def __init__(self, is_execute: Callable[[bytes], bool]) -> None:
        self._is_execute = is_execute
        self.count = 0

    def __call__(self, data: bytes) -> bool:
        self.count += self._is_execute(data)
        return False


class Cutting:
    """Cuts a connection when a statement of `flaky` comes, every other time."""

    def __init__(self) -> None:
        self._is_next = False

    def __call__(self, data: bytes) -> bool:
        if b"flaky" in data:
            self._is_next = not self._is_next
            return self._is_next
        return False


def _fake_upstream(place: Place, sql: Sql, front: Proxy, flaky: Proxy, touched: Callable[[], int]) -> FakeUpstream:

    def definition(name: Behaviour, statement: str, secret: str = "DB", output: str = ROW) -> str:
        transport = {
            "type": "database",
            "engine": sql.engine,
            "query_method": "parameterised-sql",
            "x-statement": statement,
            "credentials": {"scheme": "service-account", "source": "env", "name": secret},
            "retry_policy": {"max_attempts": 3, "backoff_ms": 1},
        }
        lines = [f"  {key}: {json.dumps(value)}" for key, value in transport.items()]
        return aml(name, "\n".join(lines), output=output)

    echo = sql.statements["echo"]
    rows = "{type: object, properties: {rows: {type: array, items: {type: object}}}}"
    definitions: dict[Behaviour, str] = {
        "echo": definition("echo", echo),
        "slow": definition("slow", sql.statements["slow"], output=rows),
        "fails": definition("fails", sql.statements["fails"], output=rows),
        "big": definition("big", sql.statements["big"], output=rows),
        "empty": definition(
            "empty", sql.statements["empty"], output="{type: object, properties: {text: {type: string}}}"
        ),
        "refused": definition("refused", echo, "REFUSED"),
        "unset": definition("unset", echo, "UNSET_SECRET"),
        "gone": definition("gone", echo, "GONE"),
        "flaky": definition("flaky", f"{echo} /* flaky */", "FLAKY"),
    }
    members = {**place.members, "port": front.port}
    environment = {
        "DB": json.dumps(members),
        "FLAKY": json.dumps({**members, "port": flaky.port}),
        "REFUSED": json.dumps({**members, "username": f"no_{CANARY}"[:30], "password": CANARY}),
        "GONE": json.dumps({**members, "port": unused_port()}),
    }

    async def count() -> int:
        found = await place.run(sql.slow)
        return int(found[0][0])

    return FakeUpstream(
        definitions=definitions,
        settings=Settings(network=NetworkSettings(allow=("127.0.0.1",))),
        environment=environment,
        touched=touched,
        begun=lambda: _until(lambda: _is(count, lambda number: number > 0)),
        stopped=lambda: _tried(lambda: _is(count, lambda number: number == 0)),
        without={"steps": "a query tells nothing of its progress"},
    )


async def _is(count: Callable[[], Awaitable[int]], judge: Callable[[int], bool]) -> bool:
    return judge(await count())


async def _until(found: Callable[[], Awaitable[bool]]) -> None:
    assert await _tried(found), "the database never worked on it"


async def _tried(found: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(500):
        if await found():
            return True
        await asyncio.sleep(0.02)
    return False


def unused_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
