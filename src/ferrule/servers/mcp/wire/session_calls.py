"""Calls of a session, read in one go where they are plainly right: most messages of most clients are that."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.exchange import RUN, Back, Exchange
from ferrule.servers.mcp.methods.tools_call import METHOD, NO_ARGUMENTS, Begun, CallParams, finished
from ferrule.servers.mcp.server import Answered, McpServer
from ferrule.servers.mcp.transports.sessions import Session
from ferrule.servers.mcp.wire.messages import Message

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


_read = msgspec.json.Decoder(PlainCall).decode


def plain_call(body: bytes) -> PlainCall | None:
    """A call that is plainly right; None for anything that has to be looked at more closely. Nothing is taken here that would
    be refused there."""
    if len(body) > _LONGEST_PLAIN or 92 in body or not body.isascii():
        return None
    try:
        call = _read(body)
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
