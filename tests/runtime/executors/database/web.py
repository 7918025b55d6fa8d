"""A small HTTP server for fakes of cloud interfaces: a function from method, path and JSON to status and JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl

Handler = Callable[[str, str, dict[str, Any], dict[str, str]], Awaitable[tuple[int, dict[str, Any]]]]
"""Gets method, path with query, body and headers; gives status and body."""


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """The port of a server."""
    tasks: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                is_form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
                said = dict(parse_qsl(body.decode())) if is_form else json.loads(body or b"{}")
                status, answer = await handler(method, path, said, headers)
                data = json.dumps(answer).encode()
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
