"""The revision without sessions over HTTP: every request stands alone (sections 5 and 22).

A request is answered in the task it came in. Its answer is one JSON object, unless something has to be told before: then it
becomes a stream of events on the way. A client that goes away cancels what it asked for (MCP-71).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.servers.asgi import JSON, Answer, ClientGone, Request
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.progress import level_named
from ferrule.servers.mcp.methods.tools_call import Begun, answered_at_once, finished
from ferrule.servers.mcp.server import IDEMPOTENCY_KEY, RUN, Answered, Back, Exchange, McpServer
from ferrule.servers.mcp.transports.http_back import HttpBack, patience_of
from ferrule.servers.mcp.transports.plain_calls import LONGEST_RUN, Call, PlainMeta, plain_call
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.headers import METHOD, NAME, NAMED_BY, VERSION, agree_on, plain_text_of
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
    decoded,
    error_text,
    id_of,
    refuse_doubled_params,
)

_log = logging.getLogger("ferrule.mcp")
_WITHOUT_META = f"params._meta has to say {META_VERSION} and {META_CAPABILITIES}"


class _Params(msgspec.Struct, gc=False):
    meta: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="_meta")
    name: Any = None
    uri: Any = None
    task_id: Any = msgspec.field(default=None, name="taskId")


class _Meta(msgspec.Struct, gc=False):
    version: Any = msgspec.field(default=None, name=META_VERSION)
    capabilities: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name=META_CAPABILITIES)
    log_level: Any = msgspec.field(default=None, name=META_LOG_LEVEL)
    progress_token: Any = msgspec.field(default=None, name="progressToken")
    run: Any = msgspec.field(default=None, name=RUN)
    idempotency_key: Any = msgspec.field(default=None, name=IDEMPOTENCY_KEY)
    traceparent: Any = None


_read_params = msgspec.json.Decoder(_Params).decode
_read_meta = msgspec.json.Decoder(_Meta).decode


class Said(NamedTuple):
    """What a request says about itself."""

    params: _Params
    meta: _Meta
    raw_meta: msgspec.Raw
    client: frozenset[str]

    def name(self, method: str) -> Any:
        """What `Mcp-Name` has to repeat; None where there is nothing."""
        match NAMED_BY.get(method):
            case "name":
                return self.params.name
            case "uri":
                return self.params.uri
            case "taskId":
                return self.params.task_id
        return None

    @property
    def run_id(self) -> str:
        """The run it belongs to; empty for none."""
        run = self.meta.run
        return run if type(run) is str and len(run) <= LONGEST_RUN else ""

    @property
    def log_level(self) -> str | None:
        """The least level of log messages that are wanted. Raises RpcError (MCP-184)."""
        level = self.meta.log_level
        return None if level is None else level_named(level)


def said_in(message: Message) -> Said:
    """What a request's `_meta` says about its client (MCP-99, MCP-101). Raises RpcError."""
    try:
        params = _read_params(message.params) if isinstance(message.params, msgspec.Raw) else _Params()
        raw = params.meta
        meta = _read_meta(raw) if isinstance(raw, msgspec.Raw) else _Meta()
    except msgspec.MsgspecError:
        raise RpcError(INVALID_PARAMS, _WITHOUT_META, status=400) from None
    capabilities = bytes(meta.capabilities)
    if type(meta.version) is not str or capabilities[:1] != b"{" or not isinstance(raw, msgspec.Raw):
        raise RpcError(INVALID_PARAMS, _WITHOUT_META, status=400)
    try:
        return Said(params, meta, raw, client_of(capabilities))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # numbers that nobody can hold
        raise RpcError(INVALID_PARAMS, _WITHOUT_META, status=400) from None


def refuse_unserved(version: str) -> None:
    """Raises RpcError for a version that is not served (MCP-5)."""
    if version not in SUPPORTED:
        data = {"supported": list(SUPPORTED), "requested": version[:200]}
        raise RpcError(UNSUPPORTED_VERSION, f"version {version[:200]!r} is not served here", data)


def checked(message: Message) -> Said:
    """What a request says about itself, on a wire without headers (MCP-35). Raises RpcError."""
    said = said_in(message)
    refuse_unserved(said.meta.version)
    refuse_doubled_params(message)
    return said


def exchange_of(
    message: Message,
    said: Said,
    caller: Caller,
    surface: SurfaceHandle,
    back: Back,
    headers: Mapping[bytes, bytes] | None = None,
) -> Exchange:
    """A request of this revision, to be answered. Raises RpcError."""
    meta = said.meta
    return Exchange(
        caller,
        surface,
        MODERN,
        message.id,
        back,
        client=said.client,
        meta=said.raw_meta,
        progress_token=meta.progress_token,
        idempotency_key=meta.idempotency_key,
        traceparent=meta.traceparent,
        headers=headers,
        log_level=said.log_level,
    )


async def answer_modern(
    server: McpServer,
    request: Request,
    headers: Mapping[bytes, bytes],
    caller: Caller,
    body: bytes,
    accepted: Accepted,
) -> Answer:
    """Answer one POST by the rules of 2026-07-28, in the order of MCP-55."""
    depth = server.edge.settings.limits.depth
    if headers.get(METHOD) == b"tools/call" and (plain := plain_call(body, headers, depth)) is not None:
        return await _called(server, request, headers, caller, accepted, *plain)
    message: Message | None = None
    try:
        message = decoded(body, depth)
        kind = message.kind
        if kind != "request":
            return _unasked(headers, kind)
        said = said_in(message)
        name = said.name(message.method)
        if name is said.params.task_id and NAME not in headers and not server.settings.task_names:
            name = None  # what is there still has to agree
        agree_on(headers, said.meta.version, message.method, name)
        refuse_unserved(said.meta.version)
        refuse_doubled_params(message)
        if not accepted.events and message.method == "subscriptions/listen":
            raise RpcError(INVALID_REQUEST, "its answer is a stream of events, which Accept excludes", status=406)
        surface = await server.edge.surface(caller, said.run_id, "mcp")
        back = HttpBack(request, accepted, asyncio.current_task())
        exchange = exchange_of(message, said, caller, surface, back, headers)
    except RpcError as error:
        return refused(message, error)
    except FerruleError as error:
        return _nothing(message.id if message is not None else None, error)
    return await _answered(server, back, server.answer(exchange, message))


def called_at_once(
    server: McpServer,
    request: Request,
    headers: Mapping[bytes, bytes],
    caller: Caller,
    body: bytes,
    accepted: Accepted,
) -> Answer | Awaitable[Answer] | None:
    """Answer a call that is plainly right: gives the answer, or what is left to be awaited for it. None for what has to be looked
    at more closely. Its client takes JSON."""
    plain = plain_call(body, headers, server.edge.settings.limits.depth)
    if plain is None:
        return None
    call, meta = plain
    surface = server.edge.handle(caller, meta.said.run or "", "mcp")
    begun = None
    if surface is not None and meta.is_bare:
        begun = answered_at_once(server, caller, surface, MODERN, call.id, call.params)
    if isinstance(begun, bytes):
        return Answer(200, begun, (JSON,))
    return _called(server, request, headers, caller, accepted, call, meta, begun)


async def _called(
    server: McpServer,
    request: Request,
    headers: Mapping[bytes, bytes],
    caller: Caller,
    accepted: Accepted,
    call: Call,
    meta: PlainMeta,
    begun: Begun | None = None,
) -> Answer:
    """Answer a call that is plainly right, or the rest of it."""
    said = meta.said
    run = said.run or ""
    surface = server.edge.handle(caller, run, "mcp")
    if surface is None:
        try:
            surface = await server.edge.surface(caller, run, "mcp")
        except FerruleError as error:
            return _nothing(call.id, error)
    back = HttpBack(request, accepted, asyncio.current_task())
    exchange = Exchange(
        caller, surface, MODERN, call.id, back, meta.client, None, said.progress_token, said.idempotency_key, said.traceparent,
        None, headers,
    )  # fmt: skip
    patience = patience_of(server)
    patience.add(back)
    try:
        answered = await server.answered(exchange, "tools/call", finished(server, exchange, call.params, begun))
    except asyncio.CancelledError:
        if back.is_gone:
            raise ClientGone from None
        raise
    finally:
        patience.remove(back)
    return back.ended(answered)


async def _answered(server: McpServer, back: HttpBack, work: Awaitable[Answered]) -> Answer:
    """Answer, while somebody watches over it."""
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
    return back.ended(answered)


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
