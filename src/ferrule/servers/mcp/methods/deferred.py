"""Deferred tools over MCP: found with the search tool, then called, by their own names or through one tool that calls others.

Clients that never refresh their list can use them all the same: the search shows how a tool is called, and either
`tools/call` with its name, or `call_tool`, reaches it. `call_tool` is only another way to write a call: what is judged, limited
and recorded is the tool that was meant. A schema that another process of the workspace showed counts, too: what a
search loaded is in the ledger (docs/decisions/0029-mcp-lists.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.model.surface import SurfaceEntry
from ferrule.servers.mcp.methods.views import lists_all, of
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.projection import ALWAYS_LOAD

_DESCRIPTION = (
    "Calls a tool that search_tools found: give its name, and its arguments as its input_schema wants them. Use it when the"
    " tool is not in your own list of tools; load it with search_tools first (`select:<name>`), which shows its schema."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 512, "description": "The tool's name."},
        "arguments": {"type": "object", "description": "Its arguments.", "additionalProperties": True},
    },
    "required": ["name"],
    "additionalProperties": False,
}
_ROWS_LOOKED_AT = 200
_FRESH_MICROSECONDS = 500_000


class _Wrapped(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class Misdirected(Exception):
    """`call_tool` was called in a way that means no tool. The message is for the model (MCP-151)."""


class CallTarget(NamedTuple):
    """What a call means."""

    name: str
    """The tool, as the caller's surface knows it."""
    arguments: bytes
    entry: SurfaceEntry
    through: str = ""
    """The name that `call_tool` was given for it; empty for a tool that was called itself."""


def misdirected(name: str) -> Misdirected:
    """`call_tool` was given the name of a tool that is not there, or that the caller may not know of."""
    return Misdirected(f"Unknown tool: {name[:200]}. search_tools finds tools by what they do.")


def call_tool_shown(name: str, revision: str) -> dict[str, Any]:
    """The tool that calls others, as it is listed."""
    shown: dict[str, Any] = {"name": name, "description": _DESCRIPTION, "inputSchema": _SCHEMA}
    if revision != "2025-03-26":
        shown = {"name": name, "title": "Call a tool", **shown, "_meta": {ALWAYS_LOAD: True}}
    return shown


async def target_of(exchange: Exchange, name: str, arguments: bytes = b"{}") -> CallTarget | None:
    """The tool that a call means and its arguments; None for a name that leads to nothing the caller may know of.

    A deferred tool whose schema the caller was shown is loaded on the way. One that was not stays as it is: calling it gives
    `schema_not_loaded`, which says what to do. Raises Misdirected for a `call_tool` that means no tool.
    """
    handle = exchange.surface
    view = of(exchange, exchange.server.settings)
    is_wrapped = name == view.call_tool and bool(name)
    if is_wrapped:
        name, arguments = _unwrapped(arguments)
    meant = view.names.meant(name)
    if meant is None:
        if is_wrapped:
            raise misdirected(name)
        return None
    entry = handle.surface.find(meant)
    assert entry is not None  # a view shows nothing that its surface does not have
    if entry.standing == "deferred":
        await _load(exchange, handle, entry)
        entry = handle.surface.find(meant) or entry
    return CallTarget(meant, arguments, entry, name if is_wrapped else "")


def _unwrapped(arguments: bytes) -> tuple[str, bytes]:
    try:
        wrapped = msgspec.json.decode(arguments, type=_Wrapped)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = f": {error}" if isinstance(error, msgspec.ValidationError) else ""
        raise Misdirected(f"The arguments are the name of another tool and its arguments, as an object{why}") from None
    return wrapped.name, bytes(wrapped.arguments)


async def _load(exchange: Exchange, handle: SurfaceHandle, entry: SurfaceEntry) -> None:
    """Load a tool whose schema this caller has seen: in its list, or by a search that another process answered."""
    tool_id = entry.tool.tool_id
    if lists_all(exchange, exchange.server.settings):
        handle.select([tool_id])
        return
    search_id = await _found_elsewhere(exchange.server, handle, tool_id)
    if search_id:
        handle.select([tool_id], search_id)


async def _found_elsewhere(server: McpService, handle: SurfaceHandle, tool_id: str) -> str:
    """The search of the same caller that loaded a tool, in any process of the workspace; empty when there was none of late."""
    request = handle.request
    for facts in await _loads(server):
        if (
            facts.get("principal") == request.principal
            and facts.get("agent") == request.agent
            and facts.get("tenant") == request.tenant
            and tool_id in facts.get("tools", ())
        ):
            return str(facts.get("search_id", ""))
    return ""


async def _loads(server: McpService) -> list[dict[str, Any]]:
    """The newest rows of the ledger that say what a search loaded. They are looked at twice a second at most."""
    now = server.app.services.wall()
    looked_at, known = server.kept.get("loads", (0, []))
    if now - looked_at > _FRESH_MICROSECONDS:
        try:
            rows = await server.app.store.rows_before(None, _ROWS_LOOKED_AT, kinds=("surface",), outcome="loaded")
        except FerruleError:
            return []
        known = [row.facts() for row in rows]
        server.kept["loads"] = (now, known)
    found: list[dict[str, Any]] = known
    return found
