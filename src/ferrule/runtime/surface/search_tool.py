"""The search tool and its executor: how a model finds and loads tools whose schemas it was not shown.

A tool like any other, on every surface that defers something; it reads the caller's own surface and nothing else.
`search` does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ferrule.contracts.executor import Context, Run, Support
from ferrule.infra.clock import MakeId
from ferrule.model.canonical import digest_of_tool
from ferrule.model.surface import Surface, SurfaceSettings
from ferrule.model.tool import SafetyFacts, Tool, raw
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.search import SHARED_INDEXES, SearchIndexes, parse_selection, search
from ferrule.schema.internal_fields import model_schema

MOST_MATCHES = 50

SEARCH_TOOL = Tool(
    tool_id="ferrule.search_tools",
    namespace="ferrule",
    name="search_tools",
    title="Search tools",
    description=(
        "Finds tools that are available here but not loaded yet. Give keywords to search, or `select:<name>[,<name>]` to"
        " load tools by their exact names. Loaded tools can be called; the others must be selected first."
    ),
    search_hint="find and load further tools",
    lifecycle="available",
    tool_kind="function",
    dialect="ferrule",
    version="1.0.0",
    input_schema=raw(
        {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1000,
                    "description": "Keywords, or `select:` and the names of tools, separated by commas.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_MATCHES,
                    "description": "How many matches to give at most.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        }
    ),
    facts=SafetyFacts(is_read_only=True, is_concurrency_safe=True, is_destructive=False, is_open_world=False),
)
SEARCH_TOOL_DIGEST = digest_of_tool(SEARCH_TOOL)


class SearchHandle(Protocol):
    """The caller's session, as the search tool uses it."""

    @property
    def surface(self) -> Surface:
        """The caller's surface."""

    def tell_found(self, tool_ids: Sequence[str], search_id: str) -> None:
        """Records the matches of a search."""

    def select(self, names: Sequence[str], search_id: str) -> object:
        """Loads these tools; afterwards `surface` is the new surface."""


def run_search(
    handle: SearchHandle,
    arguments: JsonObject,
    *,
    new_id: Callable[[], str],
    limit: int = 10,
    indexes: SearchIndexes = SHARED_INDEXES,
) -> JsonObject:
    """Answers one call of the search tool. An exact selection loads its matches and shows how to call them."""
    wanted = min(max(1, int(arguments.get("limit", limit))), MOST_MATCHES)
    result = search(handle.surface, arguments["query"], search_id=new_id(), limit=wanted, indexes=indexes)
    handle.tell_found(result.matches, result.search_id)
    record = result.to_record()
    if result.query_type == "keyword":
        return record
    if result.next_action == "load_schema_then_call":
        handle.select(parse_selection(result.query), result.search_id)
    record["loaded"] = [loaded for tool_id in result.matches if (loaded := _describe_loaded(handle.surface, tool_id))]
    return record


def _describe_loaded(surface: Surface, tool_id: str) -> JsonObject | None:
    entry = surface.entries[tool_id]
    if entry.standing != "loaded":
        return None
    return {
        "name": surface.shown_name(entry),
        "description": entry.tool.description,
        "input_schema": msgspec.json.decode(model_schema(entry.tool)),
    }


class SearchExecutor:
    """Answers `search_tools`."""

    support = Support()

    def __init__(self, new_id: MakeId, settings: SurfaceSettings) -> None:
        self._new_id = new_id
        self._settings = settings

    def can_run(self, tool: Tool) -> bool:
        """Returns True for the search tool alone."""
        return tool.tool_id == SEARCH_TOOL.tool_id

    def prepare(self, tool: Tool) -> Run:
        """Returns the search over the surface of each call."""
        return self._run

    def _run(self, arguments: JsonObject, context: Context) -> JsonObject:
        handle = context.session
        return run_search(handle, arguments, new_id=lambda: self._new_id("sea"), limit=self._settings.max_matches)

    async def aclose(self) -> None:
        """Does nothing: nothing is open."""
