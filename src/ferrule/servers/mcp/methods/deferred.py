"""Deferred tools over MCP: found with the search tool, then called by their own names or through one tool that calls
others.

Clients that never refresh their list can use them all the same: the search shows how a tool is called, and either
`tools/call` with its name or `call_tool` reaches it. `call_tool` is only another way to write a call: policy, limits
and records see the tool that it names. A schema that another process of the workspace showed counts, too: the ledger
has what a search loaded (docs/decisions/0029-mcp-lists.md).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.model.surface import SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods.views import get_view, lists_all
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


class MisdirectedCall(Exception):
    """A `call_tool` that names no tool. The message is for the model (MCP-151)."""


class CallTarget(NamedTuple):
    """The tool that a call names, and its arguments."""

    name: str
    """The tool, as the caller's surface knows it."""
    arguments: bytes
    entry: SurfaceEntry
    through: str = ""
    """The name that `call_tool` was given for it; empty for a tool that was called itself."""


def unknown_target_error(name: str) -> MisdirectedCall:
    """Returns the error of a `call_tool` whose tool is unknown, or hidden from the caller."""
    return MisdirectedCall(f"Unknown tool: {name[:200]}. search_tools finds tools by what they do.")


def describe_call_tool(name: str, revision: str) -> JsonObject:
    """Returns the tool that calls others, as lists show it."""
    shown: JsonObject = {"name": name, "description": _DESCRIPTION, "inputSchema": _SCHEMA}
    if revision != "2025-03-26":
        shown = {"name": name, "title": "Call a tool", **shown, "_meta": {ALWAYS_LOAD: True}}
    return shown


async def resolve_target(exchange: Exchange, name: str, arguments: bytes = b"{}") -> CallTarget | None:
    """Returns the tool that a call names and its arguments; None for a name that the caller cannot see.

    Loads a deferred tool whose schema the caller was shown. Others stay deferred: calling one gives
    `schema_not_loaded`, which says what to do. Raises MisdirectedCall for a `call_tool` that names no tool.
    """
    handle = exchange.surface
    view = get_view(exchange)
    is_wrapped = name == view.call_tool and bool(name)
    if is_wrapped:
        name, arguments = _unwrap(arguments)
    meant = view.names.resolve(name)
    if meant is None:
        if is_wrapped:
            raise unknown_target_error(name)
        return None
    entry = handle.surface.find(meant)
    assert entry is not None  # a view shows nothing that its surface does not have
    if entry.standing == "deferred":
        await _load(exchange, handle, entry)
        entry = handle.surface.find(meant) or entry
    return CallTarget(meant, arguments, entry, name if is_wrapped else "")


def _unwrap(arguments: bytes) -> tuple[str, bytes]:
    try:
        wrapped = msgspec.json.decode(arguments, type=_Wrapped)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = f": {error}" if isinstance(error, msgspec.ValidationError) else ""
        raise MisdirectedCall(
            f"The arguments are the name of another tool and its arguments, as an object{why}"
        ) from None
    return wrapped.name, bytes(wrapped.arguments)


async def _load(exchange: Exchange, handle: SurfaceHandle, entry: SurfaceEntry) -> None:
    """Loads a tool whose schema this caller has seen: in its list, or by a search that another process answered."""
    tool_id = entry.tool.tool_id
    if lists_all(exchange):
        handle.select([tool_id])
        return
    search_id = await _find_other_search(exchange.server, handle, tool_id)
    if search_id:
        handle.select([tool_id], search_id)


async def _find_other_search(server: McpService, handle: SurfaceHandle, tool_id: str) -> str:
    """Returns the recent search by which this caller loaded a tool in any process of the workspace; empty when there is
    none."""
    request = handle.request
    for facts in await _read_loads(server):
        if (
            facts.get("principal") == request.principal
            and facts.get("agent") == request.agent
            and facts.get("tenant") == request.tenant
            and tool_id in facts.get("tools", ())
        ):
            return str(facts.get("search_id", ""))
    return ""


async def _read_loads(server: McpService) -> list[JsonObject]:
    """Returns the newest rows of the ledger about searches that loaded tools. Reads at most twice a second."""
    now = server.app.services.wall()
    looked_at, known = server.kept.get("loads", (0, []))
    if now - looked_at > _FRESH_MICROSECONDS:
        try:
            rows = await server.app.store.rows_before(None, _ROWS_LOOKED_AT, kinds=("surface",), outcome="loaded")
        except FerruleError:
            # An unreadable ledger loads nothing: the model is told to search again.
            return []
        known = [row.facts() for row in rows]
        server.kept["loads"] = (now, known)
    found: list[JsonObject] = known
    return found
