"""FastMCP: the tool's own `run`, the server's `call_tool`, and its client connected in memory."""

from __future__ import annotations

from fastmcp import Client, FastMCP
from timing import batches, report


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    server = FastMCP("bench")
    server.tool(add)
    tool = await server.get_tool("add")

    async def run(number: int) -> int:
        return (await tool.run({"a": number, "b": 1})).structured_content["result"]

    async def call_tool(number: int) -> int:
        return (await server.call_tool("add", {"a": number, "b": 1})).structured_content["result"]

    taken = {
        "FastMCP tool.run": await batches(run, calls, count),
        "FastMCP server.call_tool": await batches(call_tool, calls, count),
    }
    async with Client(server) as client:

        async def call(number: int) -> int:
            return (await client.call_tool("add", {"a": number, "b": 1})).data

        taken["FastMCP client in memory"] = await batches(call, calls, count)
    return taken


if __name__ == "__main__":
    report(main)
