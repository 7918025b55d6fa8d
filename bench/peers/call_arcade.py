"""Arcade: its tool executor."""

# No `from __future__ import annotations`: Arcade reads the annotations as they are.
from typing import Annotated

from arcade_core.catalog import ToolCatalog
from arcade_core.executor import ToolExecutor
from arcade_core.schema import ToolContext
from arcade_tdk import tool
from timing import batches, report


@tool
async def add(a: Annotated[int, "One number"], b: Annotated[int, "Another number"]) -> Annotated[int, "Their sum"]:
    """Add two whole numbers."""
    return a + b


async def main(calls: int, count: int) -> dict[str, dict[str, list[float]]]:
    catalog = ToolCatalog()
    catalog.add_tool(add, "bench")
    made = next(iter(catalog))
    context = ToolContext()

    async def call(number: int) -> int:
        output = await ToolExecutor.run(
            made.tool, made.definition, made.input_model, made.output_model, context, a=number, b=1
        )
        return output.value

    return {"Arcade ToolExecutor.run": await batches(call, calls, count)}


if __name__ == "__main__":
    report(main)
