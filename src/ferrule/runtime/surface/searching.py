"""Runs the search tool: the one tool that works on the caller's own surface."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.executor import Context, Run, Support
from ferrule.infra.clock import MakeId
from ferrule.model.surface import SurfaceSettings
from ferrule.model.tool import Tool
from ferrule.runtime.surface.search_tool import SEARCH_TOOL, run_search


class SearchExecutor:
    """Answers `search_tools`."""

    support = Support()

    def __init__(self, new_id: MakeId, settings: SurfaceSettings) -> None:
        self._new_id = new_id
        self._settings = settings

    def can_run(self, tool: Tool) -> bool:
        """True for the search tool alone."""
        return tool.tool_id == SEARCH_TOOL.tool_id

    def prepare(self, tool: Tool) -> Run:
        """The search of whichever surface the call comes through."""
        return self._run

    def _run(self, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        handle = context.session
        return run_search(handle, arguments, new_id=lambda: self._new_id("sea"), limit=self._settings.max_matches)

    async def aclose(self) -> None:
        """Nothing to let go of."""
