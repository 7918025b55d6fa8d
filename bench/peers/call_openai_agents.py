"""openai-agents: `on_invoke_tool` of a function tool."""

from __future__ import annotations

import json

from agents import function_tool
from agents.tool_context import ToolContext
from timing import batches, report


@function_tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    context = ToolContext(context=None, tool_name="add", tool_call_id="call_1", tool_arguments="{}")

    async def call(number: int) -> int:
        return await add.on_invoke_tool(context, json.dumps({"a": number, "b": 1}))

    return {"openai-agents on_invoke_tool": await batches(call, calls, count)}


if __name__ == "__main__":
    report(main)
