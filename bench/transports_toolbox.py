"""MCP Toolbox beside us: the same statement through its HTTP interface, with our bare client in front. Prints the rates as JSON.

python -m bench.transports_toolbox PROGRAM FOLDER [--calls 3000] [--rounds 3] [--database postgresql://…]

Its program is what `npm install @toolbox-sdk/server` brings. Only calls a second are comparable: its CPU is another process's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

from bench.peers.transports_timing import Ways, timed
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.request import Unreachable
from ferrule.infra.network.urls import parse_url

NAME = "MCP Toolbox, HTTP"
_CONFIG = """kind: source
name: pg
type: postgres
host: {host}
port: {port}
database: {database}
user: {user}
password: {password}
---
kind: tool
name: add
type: postgres-sql
source: pg
description: Add two whole numbers.
statement: SELECT CAST($1 AS bigint) + CAST($2 AS bigint) AS sum
parameters:
  - name: a
    type: integer
    description: The first number.
  - name: b
    type: integer
    description: The second number.
"""


async def main(program: str, folder: Path, calls: int, rounds: int, database: str) -> Ways:
    at = urlsplit(database)
    config = folder / "tools.yaml"
    config.write_text(
        _CONFIG.format(
            host=at.hostname,
            port=at.port or 5432,
            database=at.path.strip("/"),
            user=at.username or "postgres",
            password=at.password or "none",
        )
    )
    port = _free_port()
    words = ("--config", str(config), "--port", str(port), "--enable-api", "--disable-reload", "--log-level", "ERROR")
    server = await asyncio.create_subprocess_exec(program, *words, "--disable-version-check")
    client = Client(Guard(["127.0.0.1"]))
    try:
        await _until_up(client, port)
        target = parse_url(f"http://127.0.0.1:{port}/api/tool/add/invoke")

        async def call(number: int) -> int:
            body = json.dumps({"a": number, "b": 1}).encode()
            answer = await client.send("POST", target, (("content-type", "application/json"),), body)
            return int(json.loads(json.loads(await answer.read(1_000_000))["result"])[0]["sum"])

        found: Ways = {}
        await timed({NAME: call}, calls, rounds, found)
        return found
    finally:
        server.terminate()
        await server.wait()
        await client.aclose()


async def _until_up(client: Client, port: int) -> None:
    for _ in range(100):
        try:
            await client.fetch("GET", f"http://127.0.0.1:{port}/")
            return
        except Unreachable:
            await asyncio.sleep(0.1)
    raise SystemExit("it does not come up")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", default="postgresql://postgres@127.0.0.1:5432/test")
    print(json.dumps(asyncio.run(main(**vars(parser.parse_args())))))
