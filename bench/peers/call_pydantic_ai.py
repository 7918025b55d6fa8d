"""pydantic-ai: arguments validated, then `call_tool` of a function toolset."""

from __future__ import annotations

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage
from timing import batches, report


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    toolset = FunctionToolset([add])
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    tool = (await toolset.get_tools(context))["add"]

    async def call(number: int) -> int:
        arguments = tool.args_validator.validate_python({"a": number, "b": 1})
        return await toolset.call_tool("add", arguments, context, tool)

    return {"pydantic-ai call_tool": await batches(call, calls, count)}


if __name__ == "__main__":
    report(main)
