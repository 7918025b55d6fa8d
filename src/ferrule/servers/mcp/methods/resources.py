"""`resources/list`, `resources/templates/list` and `resources/read` (section 19).

Two kinds: what a workspace's functions give (`@ferrule.resource`), read by a governed call each; and stored results of
the caller's own calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from ferrule.contracts.payloads import PayloadGone
from ferrule.definitions.formats.mcp_words import icons_of
from ferrule.model.exposure import ResourceExposure
from ferrule.model.surface import SurfaceEntry
from ferrule.runtime.functions.uri_template import is_address
from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.methods import stored, views
from ferrule.servers.mcp.methods.asking import Retry
from ferrule.servers.mcp.methods.listing import Item, Kind, lists_of
from ferrule.servers.mcp.methods.reading import MISFIT, UNKNOWN, Asks, Unreadable, exposed_value
from ferrule.servers.mcp.server import McpServer, params_of
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError, encode
from ferrule.servers.mcp.wire.projection import OLDEST, SECOND

RESOURCES = Kind("resources/list", "resources", longest_ms=1000)  # any call may add a stored result
TEMPLATES = Kind("resources/templates/list", "resourceTemplates")
_STORED = {
    "uriTemplate": stored.TEMPLATE,
    "name": "stored_result",
    "description": "What a call of yours gave, where it was too large for its result: whole, or a range of its bytes.",
}


class ReadParams(Retry, gc=False):
    """Parameters of `resources/read`."""

    uri: str = ""


async def list_resources(server: McpServer, exchange: Exchange, params: bytes) -> bytes:
    """Resources of the workspace, then the newest results of the caller's (MCP-193)."""
    key, items = resources_of(server, exchange)
    view = views.of(exchange, server.settings)
    own = [entry.tool.tool_id for entry in (*view.resources.values(), *view.templates.values(), *view.prompts.values())]
    recent = await stored.recent(server, exchange, frozenset(own))
    results: list[Item] = [(one["uri"], encode(_of_revision(one, exchange.revision))) for one in recent]
    if not results:
        return lists_of(server).page(exchange, RESOURCES, key, items, params)
    key = sha256(key + b"".join(text for _, text in results)).digest()
    return lists_of(server).page(exchange, RESOURCES, key, lambda: [*items(), *results], params)


async def list_templates(server: McpServer, exchange: Exchange, params: bytes) -> bytes:
    """Templates of the workspace, and that of stored results (MCP-194)."""
    return lists_of(server).page(exchange, TEMPLATES, *templates_of(server, exchange), params)


def resources_of(server: McpServer, exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """What makes the caller's list of declared resources what it is, and the resources."""
    view = views.of(exchange, server.settings)
    return _keyed(view.resources), lambda: _items(view.resources, "uri", exchange.revision)


def templates_of(server: McpServer, exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """The same of templates."""
    view = views.of(exchange, server.settings)
    is_kept = server.app.services.payloads is not None
    own: list[Item] = [(stored.TEMPLATE, encode(_STORED))] if is_kept else []
    return _keyed(view.templates) + bytes(is_kept), lambda: [
        *_items(view.templates, "uriTemplate", exchange.revision),
        *own,
    ]


def _keyed(entries: dict[str, SurfaceEntry]) -> bytes:
    return sha256("\n".join(entry.digest for entry in entries.values()).encode()).digest()


def _items(entries: dict[str, SurfaceEntry], member: str, revision: str) -> list[Item]:
    return [(uri, encode(_shown(member, entry, revision))) for uri, entry in entries.items()]


def _shown(member: str, entry: SurfaceEntry, revision: str) -> dict[str, Any]:
    tool, exposure = entry.tool, entry.tool.exposed_as
    assert isinstance(exposure, ResourceExposure)
    shown: dict[str, Any] = {member: exposure.uri, "name": tool.name, "description": tool.description}
    if tool.title:
        shown["title"] = tool.title
    if exposure.mime_type:
        shown["mimeType"] = exposure.mime_type
    if exposure.size is not None and member == "uri":
        shown["size"] = exposure.size
    if exposure.annotations:
        shown["annotations"] = exposure.annotations
    if icons := icons_of(exposure.icons):
        shown["icons"] = icons
    return _of_revision(shown, revision)


def _of_revision(shown: dict[str, Any], revision: str) -> dict[str, Any]:
    """A resource without what its revision does not have."""
    newer = {OLDEST: ("title", "icons"), SECOND: ("icons",)}.get(revision, ())
    kept = {name: value for name, value in shown.items() if name not in newer and value is not None}
    if revision == OLDEST and "annotations" in kept:
        kept["annotations"] = {name: note for name, note in kept["annotations"].items() if name != "lastModified"}
    return kept


async def read_resource(server: McpServer, exchange: Exchange, params: bytes) -> dict[str, Any]:
    """`resources/read`: the contents at an address; an error, never emptiness, where there is nothing (MCP-195 to MCP-198)."""
    asked: ReadParams = params_of(params, ReadParams)
    uri = asked.uri
    is_retry = asked.request_state is not None
    if not is_address(uri):
        raise not_found(exchange, uri)
    if stored.is_stored(uri):
        try:
            contents = [await stored.read_stored(server, exchange, uri)]
        except (PayloadGone, ValueError):
            raise not_found(exchange, uri) from None
        return _read(server, exchange, contents, server.settings.ttl_ms)
    found = views.of(exchange, server.settings).resource(uri)
    if found is None:
        raise not_found(exchange, uri)
    entry, variables = found
    try:
        value = await exposed_value(server, exchange, "resources/read", uri, entry, dict(variables), asked)
    except Asks as asks:
        return asks.result
    except Unreadable as error:
        if error.error_class in UNKNOWN | MISFIT:
            raise not_found(exchange, uri) from None
        raise
    contents = [_content(one, uri, entry, exchange.revision) for one in _contents(value)]
    if not contents:
        raise not_found(exchange, uri)
    return _read(server, exchange, contents, 0 if is_retry else server.settings.ttl_ms)


def _read(server: McpServer, exchange: Exchange, contents: list[dict[str, Any]], ttl_ms: int) -> dict[str, Any]:
    hints = {"ttlMs": ttl_ms, "cacheScope": "private"} if exchange.is_modern else {}
    return {"contents": contents, **hints}


def _contents(value: Any) -> Iterable[dict[str, Any]]:
    """The contents that a function gave; or what hooks made of them, as far as that can be told."""
    given = value.get("contents") if isinstance(value, dict) else None
    if isinstance(given, list):
        yield from (one for one in given if isinstance(one, dict) and ("text" in one or "blob" in one))
        return
    for block in value.get("blocks", ()) if isinstance(value, dict) else ():
        match block.get("type"):
            case "text":
                yield {"text": block.get("text", "")}
            case "image" | "audio":
                yield {"blob": block.get("data", ""), "mimeType": block.get("mimeType")}
            case "resource" if isinstance(block.get("resource"), dict):
                yield block["resource"]


def _content(given: dict[str, Any], uri: str, entry: SurfaceEntry, revision: str) -> dict[str, Any]:
    exposure = entry.tool.exposed_as
    assert isinstance(exposure, ResourceExposure)
    content = {"uri": given.get("uri") or uri, "mimeType": given.get("mimeType") or exposure.mime_type or "text/plain"}
    content |= {"text": str(given["text"])} if "text" in given else {"blob": given["blob"]}
    if isinstance(given.get("_meta"), dict) and revision != OLDEST:
        content["_meta"] = given["_meta"]
    return content


async def is_readable(server: McpServer, exchange: Exchange, uri: str) -> bool:
    """True for an address where the caller may look: a declared resource it can see, or a stored result of its own."""
    if not is_address(uri):
        return False
    if stored.is_stored(uri):
        try:
            await stored.found(server, exchange, stored.range_of(uri).uri)
        except (PayloadGone, RpcError):
            return False
        return True
    return views.of(exchange, server.settings).resource(uri) is not None


def not_found(exchange: Exchange, uri: str) -> RpcError:
    """There is nothing at an address, for this caller (MCP-197, MCP-198)."""
    code = INVALID_PARAMS if exchange.is_modern else RESOURCE_NOT_FOUND
    return RpcError(code, "there is no such resource", {"uri": uri}, status=200)
