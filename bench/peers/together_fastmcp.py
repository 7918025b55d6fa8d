"""FastMCP: calls through its client connected in memory and through the server itself, as many at once as a semaphore lets go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from fastmcp import Client, FastMCP
from together_timing import AT_ONCE, SECONDS, moments, report


async def moment(number: int) -> int:
    """Take a millisecond."""
    await asyncio.sleep(SECONDS)
    return number


def at_once(call: Callable[[int], Awaitable[int]]) -> Callable[[int], Awaitable[Sequence[int]]]:
    async def all_of(count: int) -> Sequence[int]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> int:
            async with gate:
                return await call(number)

        return await asyncio.gather(*(one(number) for number in range(count)))

    return all_of


async def main(calls: int, rounds: int) -> dict[str, list[float]]:
    server = FastMCP("bench")
    server.tool(moment)

    async def call_tool(number: int) -> int:
        return (await server.call_tool("moment", {"number": number})).structured_content["result"]

    taken = {"FastMCP server.call_tool, gathered": await moments(at_once(call_tool), calls, rounds)}
    async with Client(server) as client:

        async def call(number: int) -> int:
            return (await client.call_tool("moment", {"number": number})).data

        taken["FastMCP client in memory, gathered"] = await moments(at_once(call), calls, rounds)
    return taken


if __name__ == "__main__":
    report(main)
