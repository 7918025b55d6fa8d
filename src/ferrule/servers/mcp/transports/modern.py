"""The revision without sessions over HTTP: every request stands alone (sections 5 and 22).

An answer is one JSON object, unless something has to be told before: then it becomes a stream of events on the way.
A client that goes away cancels what it asked for (MCP-71).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import JSON, ClientGone, HttpAnswer, HttpRequest
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.progress import read_level
from ferrule.servers.mcp.server import SILENT, Exchange, McpService, RpcAnswer
from ferrule.servers.mcp.transports.http_back import HttpBack, encode_answer, get_waiting_requests
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.headers import NAME, NAMED_BY, VERSION, McpHead, check_headers, read_plain_header
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_CAPABILITIES,
    META_VERSION,
    MODERN,
    SUPPORTED,
    UNSUPPORTED_VERSION,
    Message,
    RequestId,
    RpcError,
    client_of,
    error_text,
    id_of,
    read_message,
)
from ferrule.servers.mcp.wire.params import RequestMeta, RequestParams, RoutedParams, read_params, refuse_doubles

_log = logging.getLogger("ferrule.mcp")
_WITHOUT_META = f"params._meta has to say {META_VERSION} and {META_CAPABILITIES}"


_UNKNOWN: Any = msgspec.UNSET
"""Stands for the surface of a request that is still being checked: making a surface costs more than the checks."""


def open_exchange(
    server: McpService,
    caller: Caller,
    message: Message,
    params: RequestParams | RoutedParams,
    headers: Mapping[bytes, bytes] | None = None,
) -> Exchange:
    """Opens the exchange of a request by what it says about itself and its client in `_meta` (MCP-99, MCP-101). It gets its
    surface after the checks (`set_surface`). Raises RpcError."""
    meta = params.meta
    if isinstance(meta, RequestMeta) and type(meta.version) is str:
        capabilities = bytes(meta.capabilities)
        if capabilities[:1] == b"{":
            try:
                client = client_of(capabilities)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # numbers that nobody can hold
                pass
            else:
                whole = params if isinstance(params, RequestParams) else None
                return Exchange(
                    server, caller, _UNKNOWN, MODERN, message.id, SILENT, client, meta, whole, None, headers
                )
    raise RpcError(INVALID_PARAMS, _WITHOUT_META, status=400)


def set_surface(exchange: Exchange, surface: SurfaceHandle) -> Exchange:
    """Gives a checked request its surface. Raises RpcError for a log level that is none (MCP-184)."""
    exchange.surface = surface
    if exchange.meta.log_level is not None:
        exchange.log_level = read_level(exchange.meta.log_level)
    return exchange


def names_version(params: RequestParams | RoutedParams) -> bool:
    """True for a request that names its revision itself, on a wire without headers (MCP-10)."""
    meta = params.meta
    return isinstance(meta, RequestMeta) and meta.version is not msgspec.UNSET


def refuse_unserved(version: str) -> None:
    """Raises RpcError for a version that is not served (MCP-5)."""
    if version not in SUPPORTED:
        data = {"supported": list(SUPPORTED), "requested": version[:200]}
        raise RpcError(UNSUPPORTED_VERSION, f"version {version[:200]!r} is not served here", data)


def check_request(exchange: Exchange, message: Message, params: RequestParams | RoutedParams) -> None:
    """Checks what a wire without headers can check (MCP-35). Raises RpcError."""
    refuse_unserved(exchange.meta.version)
    refuse_doubles(message, params)


def _check_headers(exchange: Exchange, head: McpHead, message: Message, params: RequestParams | RoutedParams) -> None:
    """Raises RpcError for a request that is not what its headers say, or cannot be served, in the order of MCP-55."""
    version, method = exchange.meta.version, message.method
    said = (version, method, params.name, params.uri, params.task_id)
    # A remembered head has agreed with a message of the same method and name before.
    if said != head.agreed:
        name = _find_repeated_name(method, params)
        if name is params.task_id and NAME not in head.headers and not exchange.server.settings.task_names:
            name = None  # what is there still has to agree
        check_headers(head.headers, version, method, name)
        refuse_unserved(version)
        if params.uri is None and params.task_id is None and type(params.name) is str:  # nothing large is kept
            head.agreed = said
    refuse_doubles(message, params)
    if not head.accepted.events and method == "subscriptions/listen":
        raise RpcError(INVALID_REQUEST, "its answer is a stream of events, which Accept excludes", status=406)


def _find_repeated_name(method: str, params: RequestParams | RoutedParams) -> object:
    """Returns what `Mcp-Name` has to repeat; None where there is nothing."""
    match NAMED_BY.get(method):
        case "name":
            return params.name
        case "uri":
            return params.uri
        case "taskId":
            return params.task_id
    return None


def answer_modern(
    server: McpService, request: HttpRequest, caller: Caller, body: bytes, head: McpHead
) -> HttpAnswer | Awaitable[HttpAnswer]:
    """Answers one POST by the rules of 2026-07-28; returns something to await when it has to wait."""
    message: Message | None = None
    try:
        message = read_message(body, server.edge.settings.limits.depth)
        kind = message.kind
        if kind != "request":
            return _answer_no_request(head.headers, kind)
        params = read_params(message)
        exchange = open_exchange(server, caller, message, params, head.headers)
        _check_headers(exchange, head, message, params)
        surface = server.edge.surface(caller, exchange.meta.run, "mcp")
        if not isinstance(surface, SurfaceHandle):
            return _answer_on(request, head.accepted, message, exchange, surface)
        set_surface(exchange, surface)
    except RpcError as error:
        return encode_error(message, error)
    except FerruleError as error:
        return _refuse_surface(message.id if message is not None else None, error)
    return _answer(request, head.accepted, message, exchange)


async def _answer_on(
    request: HttpRequest,
    accepted: Accepted,
    message: Message,
    exchange: Exchange,
    surface: Awaitable[SurfaceHandle],
) -> HttpAnswer:
    """Answers a request whose surface has to be waited for."""
    try:
        set_surface(exchange, await surface)
    except RpcError as error:
        return encode_error(message, error)
    except FerruleError as error:
        return _refuse_surface(message.id, error)
    return await resolve(_answer(request, accepted, message, exchange))


def _answer(
    request: HttpRequest, accepted: Accepted, message: Message, exchange: Exchange
) -> HttpAnswer | Awaitable[HttpAnswer]:
    answered = exchange.server.answer(exchange, message)
    if isinstance(answered, RpcAnswer):
        return encode_answer(answered, accepted)
    return _wait_for(request, accepted, exchange, answered)


async def _wait_for(
    request: HttpRequest, accepted: Accepted, exchange: Exchange, work: Awaitable[RpcAnswer]
) -> HttpAnswer:
    """Waits for the answer, while somebody watches over it."""
    task = asyncio.current_task()
    assert task is not None
    back = exchange.back = HttpBack(request, accepted, task)
    patience = get_waiting_requests(exchange.server)
    patience.add(back)
    try:
        answered = await work
    except asyncio.CancelledError:
        # Our own watch cancelled this task (`HttpBack`); any other cancellation is not ours to answer.
        if back.is_gone:
            raise ClientGone from None
        raise
    finally:
        patience.remove(back)
    return back.end(answered)


def _refuse_surface(request_id: RequestId | None, error: FerruleError) -> HttpAnswer:
    _log.warning("a caller has nothing here: %s", error)
    failed = RpcError(INTERNAL_ERROR, "there is nothing to serve to this caller here")
    return HttpAnswer(failed.status, error_text(request_id, failed), [JSON])


def encode_error(message: Message | None, error: RpcError) -> HttpAnswer:
    """Encodes an error before anything was done. It is JSON, so that a client that tries eras learns which this is (MCP-12)."""
    return HttpAnswer(error.status, error_text(id_of(message, error), error), [JSON])


def _answer_no_request(headers: Mapping[bytes, bytes], kind: str) -> HttpAnswer:
    """Answers a message that is no request: takes a notification, which means nothing here (MCP-66), and refuses a response,
    as nothing was asked (MCP-23)."""
    if kind == "response":
        return encode_error(None, RpcError(INVALID_REQUEST, "nothing was asked that this could answer"))
    refuse_unserved(read_plain_header(VERSION, headers.get(VERSION, b"")))
    return HttpAnswer(202)
