"""Tools of a surface for Pydantic AI: `tools(surface)` gives `Tool`s. Needs pydantic-ai-slim."""

from __future__ import annotations

from typing import Any

from ferrule.adapters.surface_tools import SurfaceTool, make_tools, report_missing_framework
from ferrule.app.surface import SurfaceHandle

try:
    from pydantic_ai import RunContext, Tool
except ImportError as error:
    raise report_missing_framework("pydantic_ai") from error


def tools(surface: SurfaceHandle, provider: str = "openai") -> list[Tool[Any]]:
    """Returns the tools that a surface shows now; ask again after a search or a change. `provider`: whose models will use
    them."""
    return make_tools(surface, _make_tool, provider)


def _make_tool(tool: SurfaceTool) -> Tool[Any]:
    async def call(context: RunContext[Any], /, **arguments: Any) -> str:
        return await tool.call(arguments, context.tool_call_id)

    return Tool.from_schema(call, tool.name, tool.description, tool.schema, takes_ctx=True)
