"""Our side of the group `transports`: a REST tool and a PostgreSQL tool, governed and recorded, and the same without us.

python -m bench.transports_calls FOLDER PORT [--calls 3000] [--rounds 3] [--database postgresql://…]

Prints, for each way, microseconds of this process's CPU a call one after the other, and calls a second with 64 in flight.
The bare ways use the very client and driver that ours use, on connections of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ferrule
from bench.peers.transports_timing import Ways, timed
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import parse_url

Call = Callable[[int], Awaitable[int]]
REST = "ferrule, governed and recorded"
BARE = "the same client alone"
POSTGRES = "ferrule, governed and recorded"
ASYNCPG = "asyncpg alone"
STATEMENT = "SELECT CAST(:a AS bigint) + CAST(:b AS bigint) AS sum"
_SETTINGS = '[scheduler]\nmax_parallel = 64\n\n[network]\nallow = ["127.0.0.1"]\n\n[database]\npool_size = 16\n'
_HEAD = """---
spec_version: "1.2"
tool_id: {tool_id}
version: 1.0.0
status: active
type: retrieval
meta:
  name: Add
  description: Adds two whole numbers. It gives their sum.
  owner: bench
interface:
  input:
    type: object
    properties:
      a: {{type: integer, description: The first number.}}
      b: {{type: integer, description: The second number.}}
    required: [a, b]
  output:
    type: object
    properties:
      {member}
use_guidance:
  use_when: [Two whole numbers are to be added.]
transport:
{transport}
---
"""
_REST = """  type: rest-api
  base_url: http://127.0.0.1:{port}
  endpoint: GET /add
  credentials: {{scheme: none}}"""
_SQL = """  type: database
  engine: postgresql
  query_method: parameterised-sql
  x-statement: {statement}
  credentials: {{scheme: service-account, source: env, name: BENCH_DATABASE}}"""


def written(folder: Path, port: int) -> None:
    """A workspace with both tools."""
    (folder / "tools").mkdir(parents=True)
    (folder / "ferrule.toml").write_text(_SETTINGS)
    rest = _HEAD.format(tool_id="add", member="sum: {type: integer}", transport=_REST.format(port=port))
    (folder / "tools" / "add.tool.md").write_text(rest)
    rows = "rows: {type: array, items: {type: object}}"
    sql = _HEAD.format(tool_id="add-sql", member=rows, transport=_SQL.format(statement=STATEMENT))
    (folder / "tools" / "add-sql.tool.md").write_text(sql)


async def rest(folder: Path, port: int, calls: int, rounds: int, stack: AsyncExitStack, found: Ways) -> Any:
    """The REST tool, and the bare client in turn with it. Gives the surface."""
    surface = (await stack.enter_async_context(ferrule.open(folder))).surface(principal="bench")
    client = Client(Guard(["127.0.0.1"]))
    stack.push_async_callback(client.aclose)
    target = parse_url(f"http://127.0.0.1:{port}/")

    async def governed(number: int) -> int:
        result: Any = await surface.call("add", {"a": number, "b": 1})
        return int(result.structured_content["sum"])

    async def bare(number: int) -> int:
        answer = await client.send(
            "GET", target._replace(path=f"/add?a={number}&b=1"), (("accept", "application/json"),)
        )
        return int(json.loads(await answer.read(1_000_000))["sum"])

    await timed({REST: governed, BARE: bare}, calls, rounds, found)
    return surface


async def postgres(surface: Any, url: str, calls: int, rounds: int, found: Ways) -> None:
    """The PostgreSQL tool, and asyncpg in turn with it."""
    import asyncpg  # noqa: PLC0415  # an optional driver

    pool = await asyncpg.create_pool(url, min_size=16, max_size=16)

    async def governed(number: int) -> int:
        result = await surface.call("add-sql", {"a": number, "b": 1})
        return int(result.structured_content["rows"][0]["sum"])

    async def bare(number: int) -> int:
        async with pool.acquire() as connection:
            row = await connection.fetchrow("SELECT CAST($1 AS bigint) + CAST($2 AS bigint) AS sum", number, 1)
            return int(row["sum"])

    await timed({POSTGRES: governed, ASYNCPG: bare}, calls, rounds, found)
    await pool.close()


async def main(folder: Path, port: int, calls: int, rounds: int, database: str) -> dict[str, Ways]:
    at = urlsplit(database)
    os.environ["BENCH_DATABASE"] = json.dumps(
        {
            "host": at.hostname,
            "port": at.port or 5432,
            "database": at.path.strip("/"),
            "username": at.username or "postgres",
            "password": at.password or "none",
        }
    )
    written(folder, port)
    rest_found: Ways = {}
    sql_found: Ways = {}
    async with AsyncExitStack() as stack:
        surface = await rest(folder, port, calls, rounds, stack, rest_found)
        if database:
            await postgres(surface, database, calls, rounds, sql_found)
    return {"rest": rest_found, "postgres": sql_found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default="postgresql://postgres@127.0.0.1:5432/test")
    print(json.dumps(asyncio.run(main(**vars(parser.parse_args())))))
