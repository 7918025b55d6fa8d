"""FastMCP: a proxy of an OpenAPI document, called through the server itself and through its client in memory."""

from __future__ import annotations

import httpx2 as httpx
from fastmcp import Client, FastMCP
from transports_timing import Ways, report, timed


async def main(port: int, calls: int, rounds: int) -> Ways:
    found: Ways = {}
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits) as http:
        document = (await http.get("/openapi.json")).json()
        server = FastMCP.from_openapi(document, client=http)

        async def call_tool(number: int) -> int:
            return (await server.call_tool("add", {"a": number, "b": 1})).structured_content["sum"]

        await timed({"FastMCP OpenAPI proxy, server.call_tool": call_tool}, calls, rounds, found)
        async with Client(server) as client:

            async def call(number: int) -> int:
                return (await client.call_tool("add", {"a": number, "b": 1})).structured_content["sum"]

            await timed({"FastMCP OpenAPI proxy, client in memory": call}, calls, rounds, found)
    return found


if __name__ == "__main__":
    report(main)
