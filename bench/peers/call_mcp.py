"""The MCP SDK: its client and its server, connected in memory."""

from __future__ import annotations

from mcp import Client
from mcp.server.mcpserver import MCPServer
from timing import batches, report


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    server = MCPServer("bench")
    server.add_tool(add)
    async with Client(server) as client:

        async def call(number: int) -> int:
            return (await client.call_tool("add", {"a": number, "b": 1})).structured_content["result"]

        return {"MCP SDK client in memory": await batches(call, calls, count)}


if __name__ == "__main__":
    report(main)
