"""`resources/list`, `resources/templates/list` and `resources/read` (section 19).

There are two kinds: functions of the workspace (`@ferrule.resource`), each read by a governed call; and stored results
of the caller's own calls, too large or too binary for their results. Results name the addresses of the latter. Each
read checks the reader; results of other callers look like unknown ones (MCP-202).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from ferrule.contracts.payloads import SCHEME, PayloadGone, StoredPayload
from ferrule.definitions.formats.mcp_words import list_icons
from ferrule.errors import FerruleError
from ferrule.model.journal import StoredEntry, header_of
from ferrule.model.surface import SurfaceEntry
from ferrule.model.timestamps import parse_iso
from ferrule.model.tool import ResourceExposure
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.uri_template import is_address
from ferrule.runtime.pipeline.results.payload_access import find_payload
from ferrule.servers.mcp.methods import views
from ferrule.servers.mcp.methods.exposed_tools import (
    MISFIT,
    UNKNOWN,
    ExposedCallFailed,
    InputRequired,
    call_exposed_tool,
)
from ferrule.servers.mcp.methods.listing import Item, ListKind, get_lists
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, OWN, RESOURCE_NOT_FOUND, RpcError, encode
from ferrule.servers.mcp.wire.params import Retry, params_of
from ferrule.servers.mcp.wire.projection import OLDEST, SECOND

TEMPLATE = SCHEME + "{invocation}/{number}{?offset,limit}"
MOST_BYTES = 4 * 1024**2
"""The most that one read returns; the rest is read by ranges."""
_ROWS_LOOKED_AT = 400
_MOST_LISTED = 50
_FRESH_SECONDS = 0.1
_KEPT_LISTS = 256
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/javascript", "application/sql")
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")


class PayloadRange(NamedTuple):
    """A part of a payload."""

    uri: str
    offset: int = 0
    limit: int | None = None


def is_stored(uri: str) -> bool:
    """True for the address of a stored result, whether or not there is one."""
    return uri.startswith(SCHEME)


def parse_range(uri: str) -> PayloadRange:
    """Returns the range that an address names: `…?offset=0&limit=1000`. Raises RpcError for invalid numbers."""
    bare, mark, query = uri.partition("?")
    if not mark:
        return PayloadRange(bare)
    asked = dict(parse_qsl(query, keep_blank_values=True))
    if not asked.keys() <= {"offset", "limit"} or not all(
        value.isdecimal() and len(value) < 16 for value in asked.values()
    ):
        raise RpcError(INVALID_PARAMS, "a range is written ?offset=0&limit=1000", {"uri": uri})
    return PayloadRange(bare, int(asked.get("offset", 0)), int(asked["limit"]) if "limit" in asked else None)


async def find_stored(exchange: Exchange, uri: str) -> StoredPayload:
    """Returns the record of a payload of the caller's. Raises PayloadGone."""
    request = exchange.surface.request
    return await find_payload(exchange.server.app.services, uri, principal=request.principal, tenant=request.tenant)


async def read_stored(exchange: Exchange, uri: str) -> JsonObject:
    """Returns the contents at an address, or the range that it names. Raises PayloadGone, and RpcError."""
    asked = parse_range(uri)
    kept = await find_stored(exchange, asked.uri)
    limit = min(MOST_BYTES, MOST_BYTES if asked.limit is None else asked.limit)
    data = await exchange.surface.payload(kept.uri, asked.offset, limit)
    content: JsonObject = {"uri": uri, "mimeType": kept.media_type}
    text = _decode_text(data, asked.offset, kept) if _is_text(kept.media_type) else None
    if text is not None:
        # Less than was read where the range cut a character in two: the next range begins with it.
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


def _decode_text(data: bytes, offset: int, kept: StoredPayload) -> str | None:
    """Returns bytes as text; a character cut off at the end of a range is left for the next one."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        # A character of UTF-8 has at most four bytes, so a cut one misses at most the last three.
        is_cut = offset + len(data) < kept.size and error.start > 0 and error.start >= len(data) - 3
        return data[: error.start].decode() if is_cut else None


async def list_recent(exchange: Exchange, hidden: frozenset[str]) -> list[JsonObject]:
    """Lists the caller's newest stored results as resources. `hidden`: tools whose stored copies are not listed."""
    if exchange.server.app.services.payloads is None:
        return []
    request = exchange.surface.request
    kept: dict[Any, tuple[float, list[JsonObject]]] = exchange.server.kept.setdefault("recent", {})
    who, now = (request.tenant, request.principal), exchange.server.app.services.wall() / 1e6
    known = kept.get(who)
    if known is not None and now - known[0] < _FRESH_SECONDS:
        return known[1]
    try:
        rows = await exchange.server.app.store.rows_before(None, _ROWS_LOOKED_AT, kinds=("call", "ended"))
    except FerruleError:
        return []
    listed = [one for row in rows for one in _list_results_of_row(row, who, hidden, now)][:_MOST_LISTED]
    kept[who] = (now, listed)
    if len(kept) > _KEPT_LISTS:
        del kept[next(iter(kept))]
    return listed


def _list_results_of_row(
    row: StoredEntry, who: tuple[str, str], hidden: frozenset[str], now: float
) -> list[JsonObject]:
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
        _describe_result(ref, header.tool_name)
        for record in records
        if _is_listed(ref := record.get("persisted_ref"), now)
    ]


def _is_listed(ref: object, now: float) -> bool:
    if not isinstance(ref, dict) or ref.get("access") != "owner":
        return False
    expires = ref.get("expires_at")
    return expires is None or parse_iso(expires) / 1e6 > now


def _describe_result(ref: JsonObject, tool: str) -> JsonObject:
    uri = str(ref["uri"])
    return {
        "uri": uri,
        "name": str(ref.get("name") or uri.removeprefix(SCHEME)),
        "description": f"A result of {tool}.",
        "mimeType": str(ref.get("media_type")),
        "size": ref.get("size"),
    }


RESOURCES = ListKind("resources/list", "resources", longest_ms=1000)  # any call may add a stored result
TEMPLATES = ListKind("resources/templates/list", "resourceTemplates")
_STORED = {
    "uriTemplate": TEMPLATE,
    "name": "stored_result",
    "description": "A result of one of your calls that was too large to return: whole, or a range of its bytes.",
}


class ReadParams(Retry, gc=False):
    """The parameters of `resources/read`."""

    uri: str = ""


async def list_resources(exchange: Exchange, params: bytes) -> bytes:
    """Lists the workspace's resources, then the caller's newest results (MCP-193)."""
    key, items = collect_resources(exchange)
    view = views.get_view(exchange)
    own = [entry.tool.tool_id for entry in (*view.resources.values(), *view.templates.values(), *view.prompts.values())]
    recent = await list_recent(exchange, frozenset(own))
    results: list[Item] = [(one["uri"], encode(_fit_revision(one, exchange.revision))) for one in recent]
    if not results:
        return get_lists(exchange.server).get_page(exchange, RESOURCES, key, items, params)
    key = sha256(key + b"".join(text for _, text in results)).digest()
    return get_lists(exchange.server).get_page(exchange, RESOURCES, key, lambda: [*items(), *results], params)


async def list_templates(exchange: Exchange, params: bytes) -> bytes:
    """Lists the workspace's templates, and that of stored results (MCP-194)."""
    return get_lists(exchange.server).get_page(exchange, TEMPLATES, *collect_templates(exchange), params)


def collect_resources(exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """Returns the key of the caller's list of declared resources, and a function that encodes them."""
    view = views.get_view(exchange)
    return _digest_entries(view.resources), lambda: _encode_entries(view.resources, "uri", exchange.revision)


def collect_templates(exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """Returns the same for templates."""
    view = views.get_view(exchange)
    is_kept = exchange.server.app.services.payloads is not None
    own: list[Item] = [(TEMPLATE, encode(_STORED))] if is_kept else []
    return _digest_entries(view.templates) + bytes(is_kept), lambda: [
        *_encode_entries(view.templates, "uriTemplate", exchange.revision),
        *own,
    ]


def _digest_entries(entries: dict[str, SurfaceEntry]) -> bytes:
    return sha256("\n".join(entry.digest for entry in entries.values()).encode()).digest()


def _encode_entries(entries: dict[str, SurfaceEntry], member: str, revision: str) -> list[Item]:
    return [(uri, encode(_describe_entry(member, entry, revision))) for uri, entry in entries.items()]


def _describe_entry(member: str, entry: SurfaceEntry, revision: str) -> JsonObject:
    tool, exposure = entry.tool, entry.tool.exposed_as
    assert isinstance(exposure, ResourceExposure)
    shown: JsonObject = {member: exposure.uri, "name": tool.name, "description": tool.description}
    if tool.title:
        shown["title"] = tool.title
    if exposure.mime_type:
        shown["mimeType"] = exposure.mime_type
    if exposure.size is not None and member == "uri":
        shown["size"] = exposure.size
    if exposure.annotations:
        shown["annotations"] = exposure.annotations
    if icons := list_icons(exposure.icons):
        shown["icons"] = icons
    return _fit_revision(shown, revision)


def _fit_revision(shown: JsonObject, revision: str) -> JsonObject:
    """Returns a resource without members that its revision does not have."""
    newer = {OLDEST: ("title", "icons"), SECOND: ("icons",)}.get(revision, ())
    kept = {name: value for name, value in shown.items() if name not in newer and value is not None}
    if revision == OLDEST and "annotations" in kept:
        kept["annotations"] = {name: note for name, note in kept["annotations"].items() if name != "lastModified"}
    return kept


async def read_resource(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `resources/read`: the contents at an address; an error, never an empty list, where there are none
    (MCP-195 to MCP-198)."""
    asked: ReadParams = params_of(params, ReadParams)
    uri = asked.uri
    is_retry = asked.request_state is not None
    if not is_address(uri):
        raise not_found_error(exchange, uri)
    if is_stored(uri):
        try:
            contents = [await read_stored(exchange, uri)]
        except (PayloadGone, ValueError):
            raise not_found_error(exchange, uri) from None
        return _encode_contents(exchange, contents, exchange.server.settings.ttl_ms)
    found = views.get_view(exchange).find_resource(uri)
    if found is None:
        raise not_found_error(exchange, uri)
    entry, variables = found
    try:
        value = await call_exposed_tool(exchange, "resources/read", uri, entry, dict(variables), asked)
    except InputRequired as asks:
        return asks.result
    except ExposedCallFailed as error:
        if error.error_class in UNKNOWN | MISFIT:
            raise not_found_error(exchange, uri) from None
        raise
    contents = [_encode_content(one, uri, entry, exchange.revision) for one in _list_contents(value)]
    if not contents:
        raise not_found_error(exchange, uri)
    return _encode_contents(exchange, contents, 0 if is_retry else exchange.server.settings.ttl_ms)


def _encode_contents(exchange: Exchange, contents: list[JsonObject], ttl_ms: int) -> JsonObject:
    hints = {"ttlMs": ttl_ms, "cacheScope": "private"} if exchange.is_modern else {}
    return {"contents": contents, **hints}


def _list_contents(value: object) -> Iterable[JsonObject]:
    """Lists the contents that a function returned, or what hooks turned them into, as far as they are readable."""
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


def _encode_content(given: JsonObject, uri: str, entry: SurfaceEntry, revision: str) -> JsonObject:
    exposure = entry.tool.exposed_as
    assert isinstance(exposure, ResourceExposure)
    content = {"uri": given.get("uri") or uri, "mimeType": given.get("mimeType") or exposure.mime_type or "text/plain"}
    content |= {"text": str(given["text"])} if "text" in given else {"blob": given["blob"]}
    if isinstance(given.get("_meta"), dict) and revision != OLDEST:
        content["_meta"] = given["_meta"]
    return content


async def is_readable(exchange: Exchange, uri: str) -> bool:
    """True for an address the caller may read: a declared resource it can see, or a stored result of its own."""
    if not is_address(uri):
        return False
    if is_stored(uri):
        try:
            await find_stored(exchange, parse_range(uri).uri)
        except (PayloadGone, RpcError):
            return False
        return True
    return views.get_view(exchange).find_resource(uri) is not None


def not_found_error(exchange: Exchange, uri: str) -> RpcError:
    """Returns the error for an address where this caller sees nothing (MCP-197, MCP-198)."""
    code = INVALID_PARAMS if exchange.is_modern else RESOURCE_NOT_FOUND
    return RpcError(code, "there is no such resource", {"uri": uri}, status=200)
