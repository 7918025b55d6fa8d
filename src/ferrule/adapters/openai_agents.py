"""Tools of a surface for the OpenAI Agents SDK: `tools(surface)` gives `FunctionTool`s. Needs openai-agents."""

from __future__ import annotations

from ferrule.adapters.surface_tools import SurfaceTool, make_tools, report_missing_framework
from ferrule.app.surface import SurfaceHandle

try:
    from agents import FunctionTool
    from agents.tool_context import ToolContext
except ImportError as error:
    raise report_missing_framework("openai_agents") from error


def tools(surface: SurfaceHandle, *, is_strict: bool = False) -> list[FunctionTool]:
    """Returns the tools that a surface shows now; ask again after a search or a change.

    `is_strict`: with schemas that models are held to; tools whose schema cannot be said so are left out.
    """
    return make_tools(surface, _make_tool, "openai-responses", is_strict=is_strict)


def _make_tool(tool: SurfaceTool) -> FunctionTool:
    async def invoke(context: ToolContext[object], arguments: str) -> str:
        return await tool.call(arguments, getattr(context, "tool_call_id", None))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=tool.is_strict,
    )
