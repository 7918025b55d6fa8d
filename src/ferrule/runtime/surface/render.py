"""Renders a surface for a model: loaded tools with their schemas, the search tool, and the names of deferred tools.

Internal fields are gone from every schema (AT-56), nothing of a deferred schema is shown, and the whole is bounded:
the surface decides how many tools are loaded, and the list of deferred names has a budget (AT-66, AT-179). Dialects
for providers and MCP are made from this, so none of them can show more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ferrule.model.surface import Surface, SurfaceEntry, SurfaceSettings
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.search_tool import SEARCH_TOOL
from ferrule.schema.internal_fields import model_schema

_LONGEST_HINT = 120
_MOST_NAMESPACES = 20


class ShownTool(msgspec.Struct, frozen=True):
    """A tool a model can call."""

    name: str
    """The name to call it by; it leads to this tool alone."""
    description: str
    input_schema: msgspec.Raw
    """JSON Schema without internal fields; the tool's own bytes when it has none."""
    tool_id: str
    title: str | None = None
    strict: bool = True


class DeferredName(msgspec.Struct, frozen=True):
    """A tool a model can ask for."""

    name: str
    hint: str = ""


class Rendering(msgspec.Struct, frozen=True, kw_only=True):
    """The tools and texts that a model is shown."""

    tools: tuple[ShownTool, ...]
    deferred: tuple[DeferredName, ...] = ()
    """As many as fit; search finds the rest."""
    unlisted: int = 0
    """How many deferred tools are not listed."""
    tool_choice: str = "auto"
    instructions: str = ""

    def to_json(self) -> JsonObject:
        """Returns the rendering as plain JSON values."""
        return {
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": msgspec.json.decode(tool.input_schema),
                    "strict": tool.strict,
                }
                for tool in self.tools
            ],
            "deferred_tools": [msgspec.to_builtins(name) for name in self.deferred],
            "unlisted_deferred_tools": self.unlisted,
            "tool_choice": self.tool_choice,
            "instructions": self.instructions,
        }


def render(surface: Surface, settings: SurfaceSettings = SurfaceSettings()) -> Rendering:  # noqa: B008  # frozen
    """Renders a surface for its model."""
    loaded = [entry for entry in surface.entries.values() if entry.standing == "loaded" and entry.is_offered]
    waiting = [entry for entry in surface.entries.values() if entry.standing == "deferred" and entry.is_offered]
    listed = _list_deferred(surface, waiting, settings.max_listed_chars)
    rest = waiting[len(listed) :]
    return Rendering(
        tools=tuple(_make_shown_tool(surface, entry, listed, rest) for entry in loaded),
        deferred=listed,
        unlisted=len(rest),
        tool_choice=_resolve_tool_choice(surface),
        instructions=_filter_guidance(surface.instructions, {entry.tool.name for entry in loaded}),
    )


def _filter_guidance(instructions: str, names: set[str]) -> str:
    """Keeps the compiled guidance about tools the model is shown: it has one section per tool, headed by its name."""
    sections = f"\n\n{instructions}".split("\n\n## ")[1:]
    return "\n\n".join(f"## {section}" for section in sections if section.partition("\n")[0] in names)


def _resolve_tool_choice(surface: Surface) -> str:
    """Replaces a chosen tool by the name it is shown under; one that cannot be called leaves the choice free."""
    entry = None if surface.tool_choice in ("auto", "none", "required") else surface.find(surface.tool_choice)
    if entry is not None:
        return surface.shown_name(entry) if entry.standing == "loaded" else "auto"
    return surface.tool_choice if surface.tool_choice in ("none", "required") else "auto"


def _list_deferred(surface: Surface, waiting: Sequence[SurfaceEntry], budget: int) -> tuple[DeferredName, ...]:
    """Lists names and hints as far as the budget goes; none for a model that finds deferred tools only by search
    (AT-73)."""
    listed: list[DeferredName] = []
    if surface.request.model_capabilities.get("deferred_refs", True) is not True:
        return ()
    for entry in waiting:
        shown = DeferredName(surface.shown_name(entry), _format_hint(entry))
        # 4 for the `- `, the `: ` and the line break around them, roughly.
        budget -= len(shown.name) + len(shown.hint) + 4
        if budget < 0:
            break
        listed.append(shown)
    return tuple(listed)


def _format_hint(entry: SurfaceEntry) -> str:
    hint = " ".join((entry.tool.search_hint or entry.tool.title or "").split())
    return hint if len(hint) <= _LONGEST_HINT else hint[: _LONGEST_HINT - 1] + "…"


def _make_shown_tool(
    surface: Surface, entry: SurfaceEntry, listed: Sequence[DeferredName], rest: Sequence[SurfaceEntry]
) -> ShownTool:
    tool = entry.tool
    description = tool.description
    if tool is SEARCH_TOOL:
        description = "\n\n".join(filter(None, (description, _format_names(listed), _format_rest(rest))))
    return ShownTool(
        surface.shown_name(entry), description, model_schema(tool), tool.tool_id, tool.title, tool.facts.strict
    )


def _format_names(listed: Sequence[DeferredName]) -> str:
    lines = (f"- {one.name}: {one.hint}" if one.hint else f"- {one.name}" for one in listed)
    return "Tools to select:\n" + "\n".join(lines) if listed else ""


def _format_rest(rest: Sequence[SurfaceEntry]) -> str:
    if not rest:
        return ""
    spaces = Counter(entry.tool.namespace for entry in rest).most_common(_MOST_NAMESPACES)
    counted = ", ".join(f"{namespace[:_LONGEST_HINT]} ({count})" for namespace, count in spaces)
    return f"{len(rest)} further tools can be found by keywords, in: {counted}"
