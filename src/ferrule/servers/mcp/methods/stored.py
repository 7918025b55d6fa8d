"""Stored results as resources: what calls of this very caller gave that was too large, or too binary, for their results.

Their addresses are those that results name. Who may read is looked up at each read; what is another's does not exist (MCP-202).
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from ferrule.contracts.payloads import SCHEME, Kept
from ferrule.errors import FerruleError
from ferrule.model.journal import StoredEntry, header_of
from ferrule.model.timestamps import parse_iso
from ferrule.runtime.pipeline.payload_access import find_payload
from ferrule.servers.mcp.exchange import Exchange
from ferrule.servers.mcp.server import McpServer
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, OWN, RpcError

TEMPLATE = SCHEME + "{invocation}/{number}{?offset,limit}"
MOST_BYTES = 4 * 1024**2
"""Of one read; the rest is read by ranges."""
_ROWS_LOOKED_AT = 400
_MOST_LISTED = 50
_FRESH_SECONDS = 0.1
_KEPT_LISTS = 256
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/javascript", "application/sql")
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")


class Range(NamedTuple):
    """A part of a payload."""

    uri: str
    offset: int = 0
    limit: int | None = None


def is_stored(uri: str) -> bool:
    """True for the address of a stored result, whether or not there is one."""
    return uri.startswith(SCHEME)


def range_of(uri: str) -> Range:
    """What an address asks for: `…?offset=0&limit=1000`. Raises RpcError for numbers that are none."""
    bare, mark, query = uri.partition("?")
    if not mark:
        return Range(bare)
    asked = dict(parse_qsl(query, keep_blank_values=True))
    if not asked.keys() <= {"offset", "limit"} or not all(
        value.isdecimal() and len(value) < 16 for value in asked.values()
    ):
        raise RpcError(INVALID_PARAMS, "a range is written ?offset=0&limit=1000", {"uri": uri})
    return Range(bare, int(asked.get("offset", 0)), int(asked["limit"]) if "limit" in asked else None)


async def found(server: McpServer, exchange: Exchange, uri: str) -> Kept:
    """What is known of a payload of the caller's. Raises PayloadGone."""
    request = exchange.surface.request
    return await find_payload(server.app.services, uri, principal=request.principal, tenant=request.tenant)


async def read_stored(server: McpServer, exchange: Exchange, uri: str) -> dict[str, Any]:
    """The contents at an address, or the range that it asks for. Raises PayloadGone, and RpcError."""
    asked = range_of(uri)
    kept = await found(server, exchange, asked.uri)
    limit = min(MOST_BYTES, MOST_BYTES if asked.limit is None else asked.limit)
    data = await exchange.surface.payload(kept.uri, asked.offset, limit)
    content: dict[str, Any] = {"uri": uri, "mimeType": kept.media_type}
    text = _text(data, asked.offset, kept) if _is_text(kept.media_type) else None
    if text is not None:
        content["text"], read = text, len(text.encode())
    else:
        content["blob"], read = b64encode(data).decode(), len(data)
    end = asked.offset + read
    if asked.offset or end < kept.size:
        rest = {f"{OWN}next": f"{kept.uri}?offset={end}&limit={limit}"} if end < kept.size and read else {}
        if exchange.revision != "2025-03-26":
            content["_meta"] = {f"{OWN}size": kept.size, f"{OWN}offset": asked.offset, **rest}
    return content


def _is_text(media_type: str) -> bool:
    bare = media_type.partition(";")[0].strip().lower()
    return bare.startswith("text/") or bare in _TEXTS or bare.endswith(_TEXT_ENDINGS)


def _text(data: bytes, offset: int, kept: Kept) -> str | None:
    """The bytes as text; a character that was cut off at the end of a range is left for the next one."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        is_cut = offset + len(data) < kept.size and error.start > 0 and error.start >= len(data) - 3
        return data[: error.start].decode() if is_cut else None


async def recent(server: McpServer, exchange: Exchange, hidden: frozenset[str]) -> list[dict[str, Any]]:
    """The newest stored results of the caller's, as resources. `hidden`: tools whose copies are no results of their own."""
    if server.app.services.payloads is None:
        return []
    request = exchange.surface.request
    kept: dict[Any, tuple[float, list[dict[str, Any]]]] = server.kept.setdefault("recent", {})
    who, now = (request.tenant, request.principal), server.app.services.wall() / 1e6
    known = kept.get(who)
    if known is not None and now - known[0] < _FRESH_SECONDS:
        return known[1]
    try:
        rows = await server.app.store.rows_before(None, _ROWS_LOOKED_AT, kinds=("call", "ended"))
    except FerruleError:
        return []
    listed = [one for row in rows for one in _of_row(row, who, hidden, now)][:_MOST_LISTED]
    kept[who] = (now, listed)
    if len(kept) > _KEPT_LISTS:
        del kept[next(iter(kept))]
    return listed


def _of_row(row: StoredEntry, who: tuple[str, str], hidden: frozenset[str], now: float) -> list[dict[str, Any]]:
    if row.tool in hidden:
        return []
    segment = row.segment()
    records = segment.notes.get("persistence", ())
    if not records:
        return []
    header = header_of(segment)
    if (header.tenant, header.principal) != who:
        return []
    return [
        _resource(ref, header.tool_name) for record in records if _is_listed(ref := record.get("persisted_ref"), now)
    ]


def _is_listed(ref: Any, now: float) -> bool:
    if not isinstance(ref, dict) or ref.get("access") != "owner":
        return False
    expires = ref.get("expires_at")
    return expires is None or parse_iso(expires) / 1e6 > now


def _resource(ref: dict[str, Any], tool: str) -> dict[str, Any]:
    uri = str(ref["uri"])
    return {
        "uri": uri,
        "name": str(ref.get("name") or uri.removeprefix(SCHEME)),
        "description": f"What {tool} gave.",
        "mimeType": str(ref.get("media_type")),
        "size": ref.get("size"),
    }
