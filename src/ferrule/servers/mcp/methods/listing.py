"""The lists: pages from bytes that are encoded once (MCP-127, MCP-165).

A list follows from its caller's surface and from the revision, so callers with equal surfaces share the bytes. A page
is the whole result, ready to be put between a request's id and the end of its response.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.guidance import describe_tool
from ferrule.model.surface import SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.render import render
from ferrule.runtime.surface.search_tool import SEARCH_TOOL
from ferrule.servers.mcp.methods import views
from ferrule.servers.mcp.methods.deferred import describe_call_tool
from ferrule.servers.mcp.methods.result_lookup import LOOKUP, describe_lookup
from ferrule.servers.mcp.methods.views import McpView, lists_all
from ferrule.servers.mcp.server import Exchange, McpService
from ferrule.servers.mcp.wire.cursors import CursorPosition, Cursors, hash_name
from ferrule.servers.mcp.wire.messages import encode
from ferrule.servers.mcp.wire.params import params_of
from ferrule.servers.mcp.wire.projection import ALWAYS_LOAD, DEFER_LOADING, OLDEST, project_tool

Item = tuple[str, bytes]
"""One member of a list: its name, and its JSON."""
Hints = tuple[tuple[str, Any], ...]
"""Members of a tool's `_meta`."""
_KEPT_BYTES = 128 * 1024**2
_KEPT_TOOLS = 50_000
_AT_ONCE = 250
"""Tools to encode before yielding to other requests."""
_ALWAYS: Hints = ((ALWAYS_LOAD, True),)
_DEFER: Hints = ((DEFER_LOADING, True),)


class ListParams(msgspec.Struct, gc=False):
    """The parameters of every list."""

    cursor: str | None = None


class Listing(NamedTuple):
    """One whole list."""

    pages: tuple[bytes, ...]
    starts: dict[bytes, int]
    """The number of the item after each, by the hash of its name."""
    fingerprint: bytes
    """Of all items: equal for equal lists."""
    size: int


class ListKind(NamedTuple):
    """One of the lists there are."""

    method: str
    member: str
    longest_ms: int | None = None
    """The longest a client may cache it, where more than the workspace changes it."""


TOOLS = ListKind("tools/list", "tools")


class Lists:
    """The lists of one process, kept as bytes. The least recently used one goes first."""

    def __init__(self, server: McpService) -> None:
        self._server = server
        self._cursors = Cursors(server.app.services.sealing)
        self._kept: OrderedDict[tuple[Any, ...], Listing] = OrderedDict()
        self._bytes = 0
        self._tools: dict[tuple[str, str, str, Hints], bytes] = {}

    def encode_tool(self, entry: SurfaceEntry, name: str, revision: str, hints: Hints) -> bytes:
        """Returns one tool as a revision lists it, cached for other lists with the same tool."""
        key = (entry.digest, name, revision, hints)
        text = self._tools.get(key)
        if text is None:
            if len(self._tools) >= _KEPT_TOOLS:
                self._tools.clear()
            meta = dict(hints) if revision != OLDEST else {}
            text = self._tools[key] = encode(project_tool(entry.tool, name, revision, **meta))
        return text

    def get_page(
        self, exchange: Exchange, kind: ListKind, key: bytes, items: Callable[[], Sequence[Item]], params: bytes
    ) -> bytes:
        """Returns the requested page. `key`: equal for equal items, in this revision. Raises RpcError."""
        cursor = params_of(params, ListParams).cursor
        listing = self.get_listing(exchange, kind, key, items)
        if cursor is None:
            return listing.pages[0]
        at = self._cursors.decode(cursor, kind.method, self._scope(exchange))
        size = self._server.settings.page_size
        if at.view == listing.fingerprint[:8] and at.start % size == 0 and at.start // size < len(listing.pages):
            return listing.pages[at.start // size]
        # The list has changed since the cursor was made: go on after the item it names (MCP-168).
        # The cursor only says where to go on; the page is made of what its caller sees now.
        every = items()
        return self._encode_page(exchange, kind, every, listing.starts.get(at.after, at.start), listing.fingerprint)

    def get_listing(
        self, exchange: Exchange, kind: ListKind, key: bytes, items: Callable[[], Sequence[Item]]
    ) -> Listing:
        """Returns the whole list, cached for the next caller."""
        where = (kind.method, exchange.revision, self._scope(exchange), key)
        listing = self._kept.get(where)
        if listing is None:
            listing = self._kept[where] = self._make_listing(exchange, kind, items())
            self._bytes += listing.size
            # The newest stays, however large: it is the one that is returned.
            while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].size
        else:
            self._kept.move_to_end(where)
        return listing

    def _make_listing(self, exchange: Exchange, kind: ListKind, items: Sequence[Item]) -> Listing:
        said = sha256()
        for name, text in items:
            said.update(name.encode(errors="backslashreplace") + b"\0" + text + b"\0")
        fingerprint = said.digest()
        step = self._server.settings.page_size
        pages = tuple(
            self._encode_page(exchange, kind, items, start, fingerprint) for start in range(0, max(len(items), 1), step)
        )
        starts = {hash_name(name): number + 1 for number, (name, _) in enumerate(items)}
        return Listing(pages, starts, fingerprint, sum(map(len, pages)))

    def _scope(self, exchange: Exchange) -> bytes:
        return views.get_view(exchange).scope

    def _encode_page(
        self, exchange: Exchange, kind: ListKind, items: Sequence[Item], start: int, fingerprint: bytes
    ) -> bytes:
        """Returns one page: the items, the cursor of the next page, and the members its revision wants."""
        end = start + self._server.settings.page_size
        rest: JsonObject = {}
        if end < len(items):
            position = CursorPosition(
                kind.method, self._scope(exchange), fingerprint[:8], end, hash_name(items[end - 1][0])
            )
            rest["nextCursor"] = self._cursors.encode(position)
        if exchange.is_modern:
            ttl_ms = self._server.settings.ttl_ms
            rest |= {
                "ttlMs": ttl_ms if kind.longest_ms is None else min(ttl_ms, kind.longest_ms),
                "cacheScope": "private",
            }
        rest = self._server.complete_result(exchange, rest)
        # Items are joined as bytes, so that they are not encoded again for each page.
        members = b",".join(text for _, text in items[start:end])
        tail = encode(rest)[1:] if rest else b"}"
        return encode({kind.member: []})[:-2] + members + b"]" + (b"," if rest else b"") + tail


def get_lists(server: McpService) -> Lists:
    """Returns the lists of a server, made on first use."""
    lists = server.kept.get("lists")
    if lists is None:
        lists = server.kept["lists"] = Lists(server)
    found: Lists = lists
    return found


def list_tools(exchange: Exchange, params: bytes) -> bytes | Awaitable[bytes]:
    """Lists the tools of the caller's surface (MCP-127); returns something to await when a long list has to be written."""
    writing = write_tools(exchange)
    return _list_page(exchange, params) if writing is None else _list_after(writing, exchange.server, exchange, params)


def _list_page(exchange: Exchange, params: bytes) -> bytes:
    key, items = collect_tools(exchange)
    return get_lists(exchange.server).get_page(exchange, TOOLS, key, items, params)


async def _list_after(writing: Awaitable[None], server: McpService, exchange: Exchange, params: bytes) -> bytes:
    await writing
    return _list_page(exchange, params)


def write_tools(exchange: Exchange) -> Awaitable[None] | None:
    """Returns an awaitable that encodes the caller's list first; None unless it is long and not encoded yet."""
    view = views.get_view(exchange)
    which = (exchange.revision, lists_all(exchange))
    if which in view.written_lists:
        return None
    shown = _select_tools(exchange, view)
    if len(shown) > _AT_ONCE:
        return _write_in_parts(exchange, view, shown)
    view.written_lists.add(which)
    return None


async def _write_in_parts(exchange: Exchange, view: McpView, shown: list[tuple[SurfaceEntry, Hints]]) -> None:
    """Encodes tools a part at a time, and yields to other requests in between."""
    lists, revision = get_lists(exchange.server), exchange.revision
    for start in range(0, len(shown), _AT_ONCE):
        for entry, hints in shown[start : start + _AT_ONCE]:
            lists.encode_tool(entry, view.names.name_of(entry), revision, hints)
        await asyncio.sleep(0)
    view.written_lists.add((revision, lists_all(exchange)))


def collect_tools(exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """Returns the key of the caller's list of tools, and a function that encodes them."""
    view = views.get_view(exchange)
    # The search tool's description names what is deferred, so a list with it depends on that.
    key = view.list_key("all") if view.deferred else view.list_key("loaded")
    if view.deferred and lists_all(exchange):
        key = b"whole" + key
    return key, lambda: _encode_tools(exchange, view)


def _select_tools(exchange: Exchange, view: McpView) -> list[tuple[SurfaceEntry, Hints]]:
    """Returns the tools to list, with their hints. A client that defers by itself gets every tool with its schema; it
    needs neither our search nor our calls."""
    if not view.deferred:
        return [(entry, ()) for entry in view.listed]
    if not lists_all(exchange):
        return [(entry, _ALWAYS) for entry in view.listed]
    return [
        (entry, _ALWAYS if entry.standing == "loaded" else _DEFER)
        for entry in view.surface.entries.values()
        if entry.is_visible
        and entry.is_offered
        and entry.tool is not SEARCH_TOOL
        and entry.loading_state not in ("pending_provider", "unavailable")
    ]


def _encode_tools(exchange: Exchange, view: McpView) -> list[Item]:
    lists, revision, found = get_lists(exchange.server), exchange.revision, []
    for entry, hints in _select_tools(exchange, view):
        name = view.names.name_of(entry)
        if entry.tool is SEARCH_TOOL:
            said = project_tool(entry.tool, name, revision, _describe_search(exchange.server, view), **dict(hints))
            found.append((name, encode(said)))
        else:
            found.append((name, lists.encode_tool(entry, name, revision, hints)))
    if view.call_tool and not lists_all(exchange):
        found.append((view.call_tool, encode(describe_call_tool(view.call_tool, revision))))
    if view.needs_lookup:
        found.append((LOOKUP, encode(describe_lookup(revision))))
    return found


def _describe_search(server: McpService, view: McpView) -> str:
    rendering = render(view.surface, server.app.surface_settings)
    return next(
        (one.description for one in rendering.tools if one.tool_id == SEARCH_TOOL.tool_id), describe_tool(SEARCH_TOOL)
    )
