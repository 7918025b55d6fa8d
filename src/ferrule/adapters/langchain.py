"""Tools of a surface for LangChain: `tools(surface)` gives `StructuredTool`s. Needs langchain-core."""

from __future__ import annotations

from typing import Any

from ferrule.adapters.surface_tools import SurfaceTool, make_tools, report_missing_framework
from ferrule.app.blocking import SyncSurface
from ferrule.app.surface import SurfaceHandle

try:
    from langchain_core.tools import StructuredTool
except ImportError as error:
    raise report_missing_framework("langchain") from error


def tools(surface: SurfaceHandle | SyncSurface, provider: str = "openai") -> list[StructuredTool]:
    """Returns the tools that a surface shows now; ask again after a search or a change. `provider`: whose models will use them.

    Of a surface with `await` they are called with `ainvoke`, of one without with `invoke`.
    """
    return make_tools(surface, _make_async_tool if isinstance(surface, SurfaceHandle) else _make_sync_tool, provider)


def _make_async_tool(tool: SurfaceTool) -> StructuredTool:
    async def call(**arguments: Any) -> str:
        return await tool.call(arguments)

    return StructuredTool(name=tool.name, description=tool.description, args_schema=tool.schema, coroutine=call)


def _make_sync_tool(tool: SurfaceTool) -> StructuredTool:
    def call(**arguments: Any) -> str:
        return tool.call_sync(arguments)

    return StructuredTool(name=tool.name, description=tool.description, args_schema=tool.schema, func=call)
