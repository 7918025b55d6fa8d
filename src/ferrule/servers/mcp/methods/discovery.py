"""The server's description of itself: `server/discover`, and the same facts for `initialize`.

Its `instructions` tell models when to use a tool, when not, and what it does to the world. Each tool's description says
it, too. Both are bounded, and cut off between lines, never inside one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.definitions.content.guidance import format_guidance, take_fitting_lines
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods import views
from ferrule.servers.mcp.methods.views import AgentPrompt, McpView, find_agent_prompts
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.messages import SUPPORTED, TASKS

MOST_INSTRUCTIONS = 12_000


def write_instructions(tools: Iterable[tuple[str, Tool]], opening: Iterable[str] = ()) -> str:
    """Returns the instructions of a server with these tools, by the names they are listed under; empty when there are
    none."""
    lines = list(opening)
    for name, tool in tools:
        guidance = format_guidance(tool)
        if guidance:
            lines += ["", f"## {name}", *guidance] if lines else [f"## {name}", *guidance]
    kept = take_fitting_lines(lines, MOST_INSTRUCTIONS)
    if len(kept) < len(lines):
        kept.append("(Descriptions of tools say the rest.)")
    return "\n".join(kept).strip()


def list_capabilities(exchange: Exchange) -> JsonObject:
    """Returns the capabilities served to this client (MCP-98, MCP-111). Changes are announced only where they are sent
    (MCP-113)."""
    changes = {"listChanged": True} if exchange.server.settings.changes else {}
    capabilities: JsonObject = {"tools": dict(changes), "logging": {}}
    if has_resources(exchange):
        capabilities["resources"] = {**changes, **({"subscribe": True} if changes else {})}
    if has_prompts(exchange):
        capabilities["prompts"] = dict(changes)
    if has_completions(exchange):
        capabilities["completions"] = {}
    if exchange.is_modern:
        capabilities["extensions"] = {TASKS: {}}
    return capabilities


def has_resources(exchange: Exchange) -> bool:
    """True when there is something to read: results are kept, or the caller's surface has resources."""
    view = views.get_view(exchange)
    return exchange.server.app.services.payloads is not None or bool(view.resources or view.templates)


def has_prompts(exchange: Exchange) -> bool:
    """True when the caller's surface has prompts, or an agent's file has one."""
    view = views.get_view(exchange)
    return bool(view.prompts or get_agent_prompts(exchange.server, view))


def has_completions(exchange: Exchange) -> bool:
    """True when there are prompts or templates, whose arguments can be completed."""
    return has_prompts(exchange) or bool(views.get_view(exchange).templates)


def get_agent_prompts(server: McpService, view: McpView) -> dict[str, AgentPrompt]:
    """Returns the prompts of the agents that the caller may call as."""
    if view.agent_prompts is None:
        view.agent_prompts = find_agent_prompts(server.app.catalog, view.surface.request.agent)
    return view.agent_prompts


def tells_changes(exchange: Exchange) -> bool:
    """True when clients are notified of changes."""
    return exchange.server.settings.changes


def tells_resource_changes(exchange: Exchange) -> bool:
    """True when clients are notified of changes of resources."""
    return exchange.server.settings.changes and has_resources(exchange)


def get_instructions(exchange: Exchange) -> str:
    """Returns the instructions for models about this server; empty when there are none."""
    view = views.get_view(exchange)
    if view.instructions is None:
        opening = []
        if view.deferred:
            opening.append(
                f"{len(view.deferred)} further tools are not listed: search_tools finds them, and loads them with"
                f" `select:<name>`. Then call them by name, or with {view.call_tool or 'call_tool'}."
            )
        tools = [(view.names.name_of(entry), entry.tool) for entry in view.listed]
        view.instructions = write_instructions(tools, opening)
    return view.instructions


async def discover(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `server/discover` (MCP-97)."""
    told = get_instructions(exchange)
    return {
        "supportedVersions": list(SUPPORTED),
        "capabilities": list_capabilities(exchange),
        **({"instructions": told} if told else {}),
        "ttlMs": exchange.server.settings.ttl_ms,
        "cacheScope": "private",
    }
