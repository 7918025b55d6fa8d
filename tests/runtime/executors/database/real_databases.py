"""Databases to test with: real ones on loopback, each with a name of its own, dropped afterwards; and tools that ask them."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncmy
import asyncpg
import msgspec

from ferrule.app.app import App
from ferrule.model.persistence import ResultSettings
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.runtime.executors.database.executor import DatabaseExecutor
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.runtime.executors.definitions import aml_file
from tests.services import require

BOUND = 60.0
TRUSTED = 'mode = "trusted"\n'


class Place(msgspec.Struct):
    """A database of our own."""

    members: dict[str, Any]
    run: Callable[..., Awaitable[Any]]
    """Runs SQL as its owner, past Ferrule; gives rows."""
    engine: str = "postgresql"


def go(story: Callable[[], Awaitable[None]]) -> None:
    """Play a story, within a bound."""

    async def bounded() -> None:
        async with asyncio.timeout(BOUND):
            await story()

    asyncio.run(bounded())


@asynccontextmanager
async def postgres() -> AsyncIterator[Place]:
    """A new schema in PostgreSQL, owned by a new user of the same name."""
    port, name = require("postgresql"), f"ferrule_{secrets.token_hex(6)}"
    owner = await asyncpg.connect(host="127.0.0.1", port=port, user="postgres", database="postgres")
    try:
        await owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'first'; CREATE SCHEMA {name} AUTHORIZATION {name}")
        await owner.execute(f"SET ROLE {name}; SET search_path TO {name}")
        where = {"host": "127.0.0.1", "port": port, "database": "postgres", "schema": name}
        yield Place({**where, "username": name, "password": "first"}, owner.fetch)
    finally:
        await owner.execute("RESET ROLE")
        await owner.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'")
        await owner.execute(f"DROP OWNED BY {name} CASCADE; DROP SCHEMA IF EXISTS {name} CASCADE; DROP ROLE {name}")
        await owner.close()


@asynccontextmanager
async def mariadb() -> AsyncIterator[Place]:
    """A new database in MariaDB, with a new user."""
    port, name = require("mariadb"), f"ferrule_{secrets.token_hex(6)}"
    admin = await asyncmy.connect(host="127.0.0.1", port=port, user="root", password="", autocommit=True)

    async def run(sql: str) -> Any:
        async with admin.cursor() as cursor:
            await cursor.execute(sql)
            return await cursor.fetchall()

    try:
        await run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        await run(f"CREATE USER '{name}'@'%' IDENTIFIED BY 'first'")
        await run(f"CREATE USER '{name}'@'localhost' IDENTIFIED BY 'first'")
        await run(f"GRANT ALL ON {name}.* TO '{name}'@'%'")
        await run(f"GRANT ALL ON {name}.* TO '{name}'@'localhost'")
        await run(f"USE {name}")
        members = {"host": "127.0.0.1", "port": port, "database": name, "username": name, "password": "first"}
        yield Place(members, run, "mysql")
    finally:
        await run(f"DROP DATABASE IF EXISTS {name}")
        await run(f"DROP USER IF EXISTS '{name}'@'%'")
        await run(f"DROP USER IF EXISTS '{name}'@'localhost'")
        await admin.ensure_closed()


def tool(
    tool_id: str,
    statement: str | None,
    *,
    engine: str = "postgresql",
    kind: str = "retrieval",
    takes: Mapping[str, Any] | None = None,
    gives: Mapping[str, Any] | None = None,
    method: str = "parameterised-sql",
    credentials: Mapping[str, Any] | None = None,
    **said: Any,
) -> str:
    """The definition of a database tool; `said` are members of its transport, `x_max_rows` for `x-max-rows`."""
    transport: dict[str, Any] = {
        "type": "database",
        "engine": engine,
        "query_method": method,
        "credentials": dict(credentials or {"scheme": "service-account", "source": "env", "name": "DB"}),
    }
    if statement is not None:
        transport["x-statement"] = statement
    transport |= {name.replace("_", "-") if name.startswith("x_") else name: value for name, value in said.items()}
    properties = {name: member or {"description": "A value."} for name, member in (takes or {}).items()}
    return aml_file(
        tool_id,
        transport,
        kind=kind,
        takes={"type": "object", "properties": properties},
        gives=dict(gives or {"type": "object", "additionalProperties": True}),
    )


@asynccontextmanager
async def asking(
    *definitions: str, members: Mapping[str, Any], limits: DatabaseUpstreams | None = None, **given: Any
) -> AsyncIterator[App]:
    """An app with these tools; the secret `DB` has the members."""
    files = {f"tools/{position}.tool.md": text for position, text in enumerate(definitions)}
    settings = Settings(
        network=NetworkSettings(allow=("127.0.0.1",)), database=limits or DatabaseUpstreams(timeout_seconds=20.0)
    )
    given.setdefault("environment", {"DB": json.dumps(dict(members))})
    given.setdefault("results", ResultSettings())
    given.setdefault("policy", TRUSTED)
    given.setdefault("settings", settings)
    async with memory_app(definitions=files, **given) as app:
        yield app


async def asked(app: App, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Result:
    """The result of one call."""
    found = await app.surface().call(name, dict(arguments or {}), wait=30, **options)
    assert isinstance(found, Result), found
    return found


async def given(app: App, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What a call that has to succeed gives."""
    result = await asked(app, name, arguments)
    assert result.status == "succeeded", result.error
    return result.structured_content


async def refused(
    app: App, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
) -> tuple[str, str, str]:
    """Class, code and native reference of a call that has to fail."""
    result = await asked(app, name, arguments, **options)
    assert result.error is not None, result
    return result.error.error_class, result.error.error_code, result.error.native_error_ref or ""


def executor_of(app: App) -> DatabaseExecutor:
    """The database executor that an app has made."""
    for executor in app._parts.executors:
        made = getattr(executor, "_executors", {}).get("database")
        if made is not None:
            return made  # type: ignore[no-any-return]
    raise AssertionError("no database tool has been called")


def tool_of(app: App, tool_id: str) -> Tool:
    """The compiled tool."""
    return app.surface().surface.entries[tool_id].tool


async def eventually(found: Callable[[], Awaitable[bool]]) -> None:
    """Wait, within a bound, until something is so."""
    for _ in range(400):
        if await found():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")
