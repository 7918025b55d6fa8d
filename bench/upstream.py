"""The system behind the tools of the group `transports`: one HTTP server, the same for every contender. Prints its port.

python -m bench.upstream

`GET /add?a=1&b=2` gives `{"sum": 3}`. Written on bare asyncio, so that it is not what is measured. Ends with its input.
"""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import parse_qsl

OPENAPI = """{"openapi": "3.1.0", "info": {"title": "bench", "version": "1"}, "paths": {"/add": {"get": {"operationId": "add",
"summary": "Add two whole numbers.", "parameters": [
{"name": "a", "in": "query", "required": true, "schema": {"type": "integer"}},
{"name": "b", "in": "query", "required": true, "schema": {"type": "integer"}}],
"responses": {"200": {"description": "the sum", "content": {"application/json": {"schema": {"type": "object",
"properties": {"sum": {"type": "integer"}}}}}}}}}}}"""


class Adder(asyncio.Protocol):
    """One connection. Requests have no body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1].decode()
            numbers = dict(parse_qsl(path.partition("?")[2]))
            body = b'{"sum": %d}' % (int(numbers.get("a", 0)) + int(numbers.get("b", 0)))
            if path == "/openapi.json":
                body = OPENAPI.encode()
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Adder, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
