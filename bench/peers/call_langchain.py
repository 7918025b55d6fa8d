"""LangChain: `ainvoke` of a tool."""

from __future__ import annotations

from langchain_core.tools import tool
from timing import batches, report


@tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    async def call(number: int) -> int:
        return await add.ainvoke({"a": number, "b": 1})

    return {"LangChain ainvoke": await batches(call, calls, count)}


if __name__ == "__main__":
    report(main)
