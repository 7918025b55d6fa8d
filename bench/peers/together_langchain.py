"""LangChain: `abatch` of a tool, with its own limit of how many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.tools import tool
from together_timing import AT_ONCE, SECONDS, moments, report


@tool
async def moment(number: int) -> int:
    """Take a millisecond."""
    await asyncio.sleep(SECONDS)
    return number


async def main(calls: int, rounds: int) -> dict[str, list[float]]:
    async def call(count: int) -> Sequence[int]:
        inputs = [{"number": number} for number in range(count)]
        return await moment.abatch(inputs, config={"max_concurrency": AT_ONCE})

    return {"LangChain abatch": await moments(call, calls, rounds)}


if __name__ == "__main__":
    report(main)
