"""MCP over HTTP: one path, every revision. The era belongs to the request, or to its session; never to the connection (MCP-1)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple

import msgspec

from ferrule.servers.asgi import JSON, Answer, Request, Stream
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.methods.session_methods import sessionless
from ferrule.servers.mcp.methods.table import METHODS
from ferrule.servers.mcp.server import McpServer
from ferrule.servers.mcp.transports.modern import answer_modern, called_at_once
from ferrule.servers.mcp.transports.session_http import SessionEndpoint
from ferrule.servers.mcp.wire.answer_forms import Accepted, accepted_by, is_json
from ferrule.servers.mcp.wire.headers import METHOD, VERSION, doubled, mismatch
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    META_VERSION,
    SESSIONED,
    Message,
    RpcError,
    decoded,
    error_text,
)

_CODES = {400: INVALID_REQUEST, 413: INVALID_REQUEST, 500: INTERNAL_ERROR}
"""Of what is refused before it is looked at. Other codes are the status: outside of what JSON-RPC and MCP reserve (MCP-126)."""
_SESSIONED = frozenset(version.encode() for version in SESSIONED)
_MARK = META_VERSION.encode()


class _Version(msgspec.Struct, gc=False):
    version: object = msgspec.field(default=None, name=META_VERSION)


class _Meta(msgspec.Struct, gc=False):
    meta: _Version | None = msgspec.field(default=None, name="_meta")


class _Body(msgspec.Struct, gc=False):
    params: _Meta | None = None


_body = msgspec.json.Decoder(_Body).decode


class McpEndpoint:
    """The MCP path of one process."""

    def __init__(self, edge: Edge) -> None:
        self.server = McpServer(edge, METHODS)
        self.sessions = SessionEndpoint(self.server) if edge.settings.mcp.sessions else None

    def refuses(self, request: Request) -> Answer | None:
        """The answer to an HTTP method that is not served here, whoever asks (MCP-38, MCP-47, MCP-68)."""
        served = (
            ("POST",) if self.sessions is None or _is_modern(request.header(VERSION)) else ("GET", "POST", "DELETE")
        )
        return None if request.method in served else Answer(405, b"", [(b"allow", ", ".join(served).encode())])

    async def __call__(self, request: Request, caller: Caller) -> Answer | Stream:
        """Answer one request of an authenticated caller."""
        if request.method != "POST":
            return await self._other(request, caller)
        headers, version, is_modern, accepted, twice, _ = _head_of(request)
        if not (accepted.json or accepted.events):
            return _refused(RpcError(INVALID_REQUEST, "answers are application/json or text/event-stream", status=406))
        if not is_json(headers.get(b"content-type")):
            return _refused(RpcError(INVALID_REQUEST, "a message is sent as application/json", status=415))
        body = await request.body(self.server.edge.settings.limits.body_bytes)
        if twice is not None:
            return _refused(mismatch(f"the header {twice.decode()} is sent more than once"), body)
        if not is_modern and _MARK in body:
            said = _version_in(body)
            if said is not None and version is None:
                is_modern = True  # the modern path says that the header is missing (MCP-2)
            elif said is not None and said not in SESSIONED:
                return _refused(
                    mismatch("the header MCP-Protocol-Version and params._meta name different versions"), body
                )
        if is_modern:
            return await answer_modern(self.server, request, headers, caller, body, accepted)
        if self.sessions is None:
            return _unserved(version, body)
        return await self.sessions(request, caller)

    def refusal(self, refused: Refused) -> Answer:
        """What a client is told that is not let in: an error that its library shows (MCP-12)."""
        code = _CODES.get(refused.status, refused.status)
        error = RpcError(code, refused.reason, {"code": refused.code})
        return Answer(refused.status, error_text(None, error), [JSON])

    def at_once(self, request: Request, caller: Caller) -> Answer | Awaitable[Answer | Stream] | None:
        """Answer a plain call: gives the answer, or what is left to be awaited for it. None when nothing was done."""
        head = _head_of(request)
        body = request.whole(self.server.edge.settings.limits.body_bytes) if head.is_plain else None
        if body is None:
            return None
        if head.is_modern:
            is_call = head.headers.get(METHOD) == b"tools/call"
            return called_at_once(self.server, request, head.headers, caller, body, head.accepted) if is_call else None
        if self.sessions is None or _MARK in body:
            return None
        return self.sessions.at_once(request, caller, body)

    async def _other(self, request: Request, caller: Caller) -> Answer | Stream:
        """Methods besides POST: only sessions have them (MCP-38, MCP-68)."""
        refused = self.refuses(request)
        if refused is not None or self.sessions is None:
            return refused or Answer(405)
        if request.method == "GET" and not accepted_by(dict(request.headers).get(b"accept")).events:
            return _refused(
                RpcError(INVALID_REQUEST, "a stream is text/event-stream, which Accept excludes", status=406)
            )
        return await self.sessions(request, caller)


class _Head(NamedTuple):
    """What the headers of a request say about its message."""

    headers: dict[bytes, bytes]
    version: bytes | None
    is_modern: bool
    accepted: Accepted
    twice: bytes | None
    """A header that may be sent once only, and was sent again."""
    is_plain: bool
    """True when nothing in the head speaks against a message that is answered by JSON."""


def _head_of(request: Request) -> _Head:
    seen = request.seen
    if seen is not None and "mcp" in seen:
        known: _Head = seen["mcp"]
        return known
    headers = dict(request.headers)
    version = headers.get(VERSION)
    is_modern = version is not None and version.strip(b" \t") not in _SESSIONED
    twice = doubled(request.headers) if len(headers) != len(request.headers) else None
    accepted = accepted_by(headers.get(b"accept"))
    is_plain = accepted.json and is_json(headers.get(b"content-type")) and twice is None
    head = _Head(headers, version, is_modern, accepted, twice, is_plain)
    if seen is not None:
        seen["mcp"] = head
    return head


def _is_modern(version: str | None) -> bool:
    """True for a header that names no revision with sessions, whatever it names (MCP-2)."""
    return version is not None and version not in SESSIONED


def _version_in(body: bytes) -> object:
    """The version that a body's `_meta` names; None when it names none."""
    try:
        params = _body(body).params
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads it says what is wrong with it
    return params.meta.version if params is not None and params.meta is not None else None


def _unserved(version: bytes | None, body: bytes) -> Answer:
    """The answer to a client of the revisions with sessions, where they are switched off."""
    try:
        message = decoded(body)
    except RpcError:
        message = Message()
    spoken = version.decode("latin-1") if version is not None else SESSIONED[-1]
    return _refused(sessionless(message, spoken), body)


def _refused(error: RpcError, body: bytes = b"") -> Answer:
    """An error before anything was done; what is wrong with the message itself comes first (MCP-55)."""
    request_id = None
    if body:
        try:
            message = decoded(body)
            request_id = message.readable_id
            _ = message.kind
        except RpcError as unreadable:
            error, request_id = unreadable, request_id or unreadable.request_id
    return Answer(error.status, error_text(request_id, error), [JSON])
