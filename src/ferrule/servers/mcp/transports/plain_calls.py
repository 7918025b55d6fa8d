"""The short way in: reads a `tools/call` that is plainly right in one go, with and without a session, headers included.

Most messages of most clients are that. Anything unusual (an escape, a member that is not known, a header spelled
otherwise) takes the long way (`modern`, `session_http`, `stdio`), which checks everything in its order and says what is
wrong. The short way takes nothing that the long way would refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.methods.tools_call import METHOD, NO_ARGUMENTS, Begun, CallParams, finished
from ferrule.servers.mcp.server import IDEMPOTENCY_KEY, RUN, Answered, Back, Exchange, McpServer
from ferrule.servers.mcp.transports.sessions import Session
from ferrule.servers.mcp.wire.headers import NAME, VERSION
from ferrule.servers.mcp.wire.messages import (
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_VERSION,
    Message,
    RpcError,
    client_of,
    refuse_doubles,
)

LONGEST_RUN = 200
_LONGEST = 4096
"""A longer body is looked at more closely."""
_KEPT = 256


class _CallMeta(msgspec.Struct, gc=False):
    """What almost every call says: exactly this revision, and nothing in the way of the short way."""

    version: Literal["2026-07-28"] = msgspec.field(name=META_VERSION)
    capabilities: msgspec.Raw = msgspec.field(name=META_CAPABILITIES)
    log_level: None = msgspec.field(default=None, name=META_LOG_LEVEL)
    progress_token: str | int | None = msgspec.field(default=None, name="progressToken")
    run: str | None = msgspec.field(default=None, name=RUN)
    idempotency_key: str | None = msgspec.field(default=None, name=IDEMPOTENCY_KEY)
    traceparent: str | None = None


class _CallParams(CallParams, gc=False, kw_only=True):
    meta: msgspec.Raw = msgspec.field(name="_meta")


class Call(msgspec.Struct, gc=False):
    """A whole `tools/call`, read at once."""

    jsonrpc: Literal["2.0"]
    id: str | int
    method: Literal["tools/call"]
    params: _CallParams


_read_call = msgspec.json.Decoder(Call).decode
_read_call_meta = msgspec.json.Decoder(_CallMeta).decode


class PlainMeta(msgspec.Struct, frozen=True):
    """A `_meta` that was read before: clients say the same with every call."""

    said: _CallMeta
    client: frozenset[str]
    is_bare: bool
    """True when it says nothing about the call itself, but perhaps its run."""
    quotes: int
    brackets: int


_metas: dict[bytes, PlainMeta] = {}


def _plain_meta(raw: bytes) -> PlainMeta | None:
    try:
        said = _read_call_meta(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    capabilities = bytes(said.capabilities)
    if capabilities[:1] != b"{" or (said.run is not None and len(said.run) > LONGEST_RUN):
        return None
    try:
        refuse_doubles(raw)
        client = client_of(capabilities)
    except (RpcError, msgspec.MsgspecError, RecursionError):
        return None
    is_bare = said.progress_token is None and said.traceparent is None and said.idempotency_key is None
    meta = PlainMeta(said, client, is_bare, raw.count(b'"'), raw.count(b"{") + raw.count(b"["))
    if is_bare:
        if len(_metas) >= _KEPT:
            _metas.clear()
        _metas[raw] = meta
    return meta


def plain_call(body: bytes, headers: Mapping[bytes, bytes], depth: int) -> tuple[Call, PlainMeta] | None:
    """A call that is plainly right, headers included; None for anything that has to be looked at more closely. Nothing is
    taken here that would be refused there."""
    found = plain_line(body, depth)
    is_right = found is not None and (
        headers.get(VERSION) == b"2026-07-28" and headers.get(NAME) == found[0].params.name.encode()
    )
    return found if is_right else None


def plain_line(body: bytes, depth: int) -> tuple[Call, PlainMeta] | None:
    """The same where there are no headers: over a pipe."""
    if len(body) > _LONGEST or not body.isascii() or 92 in body:
        return None
    try:
        call = _read_call(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    params = call.params
    raw = bytes(params.meta)
    meta = _metas.get(raw) or _plain_meta(raw)
    if meta is None:
        return None
    arguments = bytes(params.arguments)
    if meta.brackets + 3 > depth or (
        len(arguments) > depth and arguments.count(b"{") + arguments.count(b"[") + 2 > depth
    ):
        return None
    # Without escapes, quotes count texts: any member beside the usual ones, or one of them twice, makes more of them.
    quotes = meta.quotes + (18 if params.arguments is NO_ARGUMENTS else 20 + arguments.count(b'"'))
    if not params.name or body.count(b'"') != (quotes + 2 if type(call.id) is str else quotes):
        return None
    return call, meta


_LONGEST_PLAIN = 64 * 1024
_LONGEST_RUN = 200
_QUOTES = 16
"""Of a call without arguments and with a number for its id: jsonrpc, 2.0, id, method, tools/call, params, name and the name."""


class PlainCall(msgspec.Struct, gc=False):
    """A whole `tools/call`."""

    jsonrpc: Literal["2.0"]
    id: str | int
    method: Literal["tools/call"]
    params: CallParams


_read_session_call = msgspec.json.Decoder(PlainCall).decode


def plain_session_call(body: bytes) -> PlainCall | None:
    """A call that is plainly right; None for anything that has to be looked at more closely. Nothing is taken here that would
    be refused there."""
    if len(body) > _LONGEST_PLAIN or 92 in body or not body.isascii():
        return None
    try:
        call = _read_session_call(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    # Without escapes, quotes count texts: any member beside the usual ones, or one of them twice, makes more of them.
    arguments = call.params.arguments
    quotes = _QUOTES if arguments is NO_ARGUMENTS else _QUOTES + 2 + bytes(arguments).count(b'"')
    is_plain = call.params.name and body.count(b'"') == (quotes + 2 if type(call.id) is str else quotes)
    return call if is_plain else None


async def answer_plain(
    server: McpServer,
    session: Session,
    caller: Caller,
    surface: SurfaceHandle,
    call: PlainCall,
    back: Back,
    begun: Begun | None = None,
) -> Answered:
    """Answer a call that is plainly right. Its surface need not be that of this moment: it is looked at when it is called."""
    exchange = Exchange(
        caller,
        surface,
        session.revision,
        call.id,
        back,
        session.client,
        log_level=session.log_level,
        session=session,
    )
    return await server.answered(exchange, METHOD, finished(server, exchange, call.params, begun))


class _Asked(msgspec.Struct, gc=False):
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


_asked = msgspec.json.Decoder(_Asked).decode


def meta_of(message: Message) -> dict[str, Any] | None:
    """The `_meta` of a request, where it has one."""
    params = message.params
    if not isinstance(params, msgspec.Raw) or b'"_meta"' not in bytes(params):
        return None
    try:
        return _asked(params).meta
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads the parameters says what is wrong with them


async def exchange_of(edge: Edge, session: Session, caller: Caller, message: Message, back: Back) -> Exchange:
    """A request of a session, to be answered. Raises Refused."""
    meta = meta_of(message)
    return Exchange(
        caller,
        await session.surface(edge, caller, "" if meta is None else _run_of(meta)),
        session.revision,
        message.id,
        back,
        client=session.client,
        meta=meta,
        log_level=session.log_level,
        session=session,
    )


def _run_of(meta: dict[str, Any]) -> str:
    """The run that a request belongs to; empty for that of its session."""
    run = meta.get(RUN)
    return run if type(run) is str and len(run) <= _LONGEST_RUN else ""
