"""The revision without sessions over HTTP: every request stands alone (sections 5 and 22).

An answer is one JSON object, unless something has to be told before: then it becomes a stream of events on the way.
A client that goes away cancels what it asked for (MCP-71).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import JSON, Answer, ClientGone, Request
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.progress import level_named
from ferrule.servers.mcp.server import Answered, Exchange, McpServer, RequestMeta
from ferrule.servers.mcp.transports.http_back import HttpBack, encode_answered, patience_of
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.headers import NAME, NAMED_BY, VERSION, agree_on, plain_text_of
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_CAPABILITIES,
    META_LOG_LEVEL,
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
    refuse_doubled_params,
)

_log = logging.getLogger("ferrule.mcp")
_WITHOUT_META = f"params._meta has to say {META_VERSION} and {META_CAPABILITIES}"


class _Meta(RequestMeta, gc=False):
    version: Any = msgspec.field(default=None, name=META_VERSION)
    capabilities: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name=META_CAPABILITIES)
    log_level: Any = msgspec.field(default=None, name=META_LOG_LEVEL)


class _Params(msgspec.Struct, gc=False):
    meta: _Meta | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="_meta")
    name: Any = None
    uri: Any = None
    task_id: Any = msgspec.field(default=None, name="taskId")


_decode_params = msgspec.json.Decoder(_Params).decode


class ModernRequest(NamedTuple):
    """A request with what it says about itself and its client."""

    message: Message
    params: _Params
    meta: _Meta
    client: frozenset[str]

    @property
    def name(self) -> Any:
        """What `Mcp-Name` has to repeat; None where there is nothing."""
        match NAMED_BY.get(self.message.method):
            case "name":
                return self.params.name
            case "uri":
                return self.params.uri
            case "taskId":
                return self.params.task_id
        return None

    def make_exchange(
        self, caller: Caller, surface: SurfaceHandle, headers: Mapping[bytes, bytes] | None = None
    ) -> Exchange:
        """Makes the exchange of it. Raises RpcError for a log level that is none (MCP-184)."""
        meta = self.meta
        return Exchange(
            caller,
            surface,
            MODERN,
            self.message.id,
            client=self.client,
            progress_token=meta.progress_token,
            idempotency_key=meta.idempotency_key,
            traceparent=meta.traceparent,
            log_level=None if meta.log_level is None else level_named(meta.log_level),
            headers=headers,
        )


def read_request(message: Message) -> ModernRequest:
    """Reads what a request says about itself and its client in `_meta` (MCP-99, MCP-101). Raises RpcError."""
    try:
        params = _decode_params(message.params) if isinstance(message.params, msgspec.Raw) else _Params()
        meta = params.meta
        if isinstance(meta, _Meta) and type(meta.version) is str and bytes(meta.capabilities)[:1] == b"{":
            return ModernRequest(message, params, meta, client_of(bytes(meta.capabilities)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # also numbers that nobody can hold
        pass
    raise RpcError(INVALID_PARAMS, _WITHOUT_META, status=400)


class _Version(msgspec.Struct, gc=False):
    version: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name=META_VERSION)


class _VersionedParams(msgspec.Struct, gc=False):
    meta: _Version | None = msgspec.field(default=None, name="_meta")


_decode_version = msgspec.json.Decoder(_VersionedParams).decode
_MARK = META_VERSION.encode()


def names_version(message: Message) -> bool:
    """True for a request that names its revision itself, on a wire without headers (MCP-10)."""
    params = message.params
    if isinstance(params, msgspec.UnsetType) or _MARK not in bytes(params):
        return False
    try:
        meta = _decode_version(params).meta
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return meta is not None and meta.version is not msgspec.UNSET


def refuse_unserved(version: str) -> None:
    """Raises RpcError for a version that is not served (MCP-5)."""
    if version not in SUPPORTED:
        data = {"supported": list(SUPPORTED), "requested": version[:200]}
        raise RpcError(UNSUPPORTED_VERSION, f"version {version[:200]!r} is not served here", data)


def check_request(message: Message) -> ModernRequest:
    """Reads a request and checks what a wire without headers can check (MCP-35). Raises RpcError."""
    asked = read_request(message)
    refuse_unserved(asked.meta.version)
    refuse_doubled_params(message)
    return asked


def _check_headers(server: McpServer, headers: Mapping[bytes, bytes], accepted: Accepted, asked: ModernRequest) -> None:
    """Raises RpcError for a request that is not what its headers say, or cannot be served, in the order of MCP-55."""
    message, version, name = asked.message, asked.meta.version, asked.name
    if name is asked.params.task_id and NAME not in headers and not server.settings.task_names:
        name = None  # what is there still has to agree
    agree_on(headers, version, message.method, name)
    refuse_unserved(version)
    refuse_doubled_params(message)
    if not accepted.events and message.method == "subscriptions/listen":
        raise RpcError(INVALID_REQUEST, "its answer is a stream of events, which Accept excludes", status=406)


def answer_modern(
    server: McpServer,
    request: Request,
    headers: Mapping[bytes, bytes],
    caller: Caller,
    body: bytes,
    accepted: Accepted,
) -> Answer | Awaitable[Answer]:
    """Answers one POST by the rules of 2026-07-28; returns something to await when it has to wait."""
    message: Message | None = None
    try:
        message = read_message(body, server.edge.settings.limits.depth)
        kind = message.kind
        if kind != "request":
            return _unasked(headers, kind)
        asked = read_request(message)
        _check_headers(server, headers, accepted, asked)
        surface = server.edge.surface(caller, asked.meta.run, "mcp")
        if not isinstance(surface, SurfaceHandle):
            return _answer_on(server, request, headers, caller, accepted, asked, surface)
        return _answer(server, request, accepted, message, asked.make_exchange(caller, surface, headers))
    except RpcError as error:
        return refused(message, error)
    except FerruleError as error:
        return _nothing(message.id if message is not None else None, error)


async def _answer_on(
    server: McpServer,
    request: Request,
    headers: Mapping[bytes, bytes],
    caller: Caller,
    accepted: Accepted,
    asked: ModernRequest,
    surface: Awaitable[SurfaceHandle],
) -> Answer:
    """Answers a request whose surface has to be waited for."""
    message = asked.message
    try:
        exchange = asked.make_exchange(caller, await surface, headers)
    except RpcError as error:
        return refused(message, error)
    except FerruleError as error:
        return _nothing(message.id, error)
    return await resolve(_answer(server, request, accepted, message, exchange))


def _answer(
    server: McpServer, request: Request, accepted: Accepted, message: Message, exchange: Exchange
) -> Answer | Awaitable[Answer]:
    answered = server.answer(exchange, message)
    if isinstance(answered, Answered):
        return encode_answered(answered, accepted)
    return _wait_for(server, request, accepted, exchange, answered)


async def _wait_for(
    server: McpServer, request: Request, accepted: Accepted, exchange: Exchange, work: Awaitable[Answered]
) -> Answer:
    """Waits for the answer, while somebody watches over it."""
    task = asyncio.current_task()
    assert task is not None
    back = exchange.back = HttpBack(request, accepted, task)
    patience = patience_of(server)
    patience.add(back)
    try:
        answered = await work
    except asyncio.CancelledError:
        if back.is_gone:
            raise ClientGone from None
        raise
    finally:
        patience.remove(back)
    return back.end(answered)


def _nothing(request_id: RequestId | None, error: FerruleError) -> Answer:
    _log.warning("a caller has nothing here: %s", error)
    failed = RpcError(INTERNAL_ERROR, "there is nothing to serve to this caller here")
    return Answer(failed.status, error_text(request_id, failed), [JSON])


def refused(message: Message | None, error: RpcError) -> Answer:
    """An error before anything was done. It is JSON, so that a client that tries eras learns which this is (MCP-12)."""
    return Answer(error.status, error_text(id_of(message, error), error), [JSON])


def _unasked(headers: Mapping[bytes, bytes], kind: str) -> Answer:
    """What is no request: notifications are taken and mean nothing here (MCP-66); responses have nothing to answer (MCP-23)."""
    if kind == "response":
        return refused(None, RpcError(INVALID_REQUEST, "nothing was asked that this could answer"))
    refuse_unserved(plain_text_of(VERSION, headers.get(VERSION, b"")))
    return Answer(202)
