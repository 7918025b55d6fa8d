"""MCP over HTTP: one path, every revision. The era belongs to the request, or to its session; never to the connection (MCP-1)."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec

from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL
from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.methods.session_methods import sessions_off_error
from ferrule.servers.mcp.methods.table import METHODS
from ferrule.servers.mcp.server import McpService
from ferrule.servers.mcp.transports.modern import answer_modern
from ferrule.servers.mcp.transports.session_http import SessionEndpoint
from ferrule.servers.mcp.wire.answer_forms import is_json, read_accept
from ferrule.servers.mcp.wire.headers import VERSION, McpHead, find_repeated_header, mismatch
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    META_VERSION,
    SESSIONED,
    Message,
    RpcError,
    error_text,
    read_message,
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

    scope: str | None = CALL

    def __init__(self, edge: Edge) -> None:
        self.server = McpService(edge, METHODS)
        self.sessions = SessionEndpoint(self.server) if edge.settings.mcp.sessions else None

    def refuse_method(self, request: HttpRequest) -> HttpAnswer | None:
        """Refuses an HTTP method that is not served here, whoever asks (MCP-38, MCP-47, MCP-68); None for one that is."""
        if request.method == "POST":
            return None
        served = (
            ("POST",) if self.sessions is None or _is_modern(request.header(VERSION)) else ("GET", "POST", "DELETE")
        )
        return None if request.method in served else HttpAnswer(405, b"", [(b"allow", ", ".join(served).encode())])

    def encode_refusal(self, refused: Refused, request_id: str) -> HttpAnswer:
        """Encodes why a client is not let in: as an error that its library shows (MCP-12)."""
        code = _CODES.get(refused.status, refused.status)
        error = RpcError(code, refused.reason, {"code": refused.code})
        return HttpAnswer(refused.status, error_text(None, error), [JSON])

    def respond(
        self, request: HttpRequest, caller: Caller
    ) -> HttpAnswer | HttpStream | Awaitable[HttpAnswer | HttpStream]:
        """Answers one request of an authenticated caller; returns something to await when it has to wait."""
        if request.method != "POST":
            return self._respond_to_other(request, caller)
        seen = request.seen
        head = (seen.get("mcp") if seen else None) or _head_of(request)
        if not (head.accepted.json or head.accepted.events):
            return _refuse(RpcError(INVALID_REQUEST, "answers are application/json or text/event-stream", status=406))
        if not head.is_json:
            return _refuse(RpcError(INVALID_REQUEST, "a message is sent as application/json", status=415))
        body = request.read(self.server.edge.settings.limits.body_bytes)
        if isinstance(body, bytes):
            return self._respond_to_post(request, caller, head, body)
        return self._wait_for_body(request, caller, head, body)

    async def _wait_for_body(
        self, request: HttpRequest, caller: Caller, head: McpHead, body: Awaitable[bytes]
    ) -> HttpAnswer | HttpStream:
        return await resolve(self._respond_to_post(request, caller, head, await body))

    def _respond_to_post(
        self, request: HttpRequest, caller: Caller, head: McpHead, body: bytes
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Decides the era of a message, and hands it over (MCP-2)."""
        if head.twice is not None:
            return _refuse(mismatch(f"the header {head.twice.decode()} is sent more than once"), body)
        is_modern = head.is_modern
        # A look for the bytes is much cheaper than decoding, and nearly every body of a session lacks them.
        if not is_modern and _MARK in body:
            said = _version_in(body)
            if said is not None and head.version is None:
                is_modern = True  # the modern path says that the header is missing (MCP-2)
            elif said is not None and said not in SESSIONED:
                return _refuse(
                    mismatch("the header MCP-Protocol-Version and params._meta name different versions"), body
                )
        if is_modern:
            return answer_modern(self.server, request, caller, body, head)
        if self.sessions is None:
            return _refuse_sessions(head.version, body)
        return self.sessions.post(request, caller, body, head.accepted)

    def _respond_to_other(
        self, request: HttpRequest, caller: Caller
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Methods besides POST: only sessions have them (MCP-38, MCP-68)."""
        refused = self.refuse_method(request)
        if refused is not None or self.sessions is None:
            return refused or HttpAnswer(405)
        if request.method == "DELETE":
            return self.sessions.end(request, caller)
        if not _head_of(request).accepted.events:
            return _refuse(
                RpcError(INVALID_REQUEST, "a stream is text/event-stream, which Accept excludes", status=406)
            )
        return self.sessions.open_stream(request, caller)


def _head_of(request: HttpRequest) -> McpHead:
    headers = dict(request.headers)
    version = headers.get(VERSION)
    is_modern = version is not None and version.strip(b" \t") not in _SESSIONED
    twice = find_repeated_header(request.headers) if len(headers) != len(request.headers) else None
    accepted = read_accept(headers.get(b"accept"))
    head = McpHead(headers, version, is_modern, accepted, twice, is_json(headers.get(b"content-type")))
    if request.seen is not None:  # for other requests with the very same head
        request.seen["mcp"] = head
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


def _refuse_sessions(version: bytes | None, body: bytes) -> HttpAnswer:
    """The answer to a client of the revisions with sessions, where they are switched off."""
    try:
        message = read_message(body)
    except RpcError:
        message = Message()
    spoken = version.decode("latin-1") if version is not None else SESSIONED[-1]
    return _refuse(sessions_off_error(message, spoken), body)


def _refuse(error: RpcError, body: bytes = b"") -> HttpAnswer:
    """An error before anything was done; what is wrong with the message itself comes first (MCP-55)."""
    request_id = None
    if body:
        try:
            message = read_message(body)
            request_id = message.readable_id
            _ = message.kind
        except RpcError as unreadable:
            error, request_id = unreadable, request_id or unreadable.request_id
    return HttpAnswer(error.status, error_text(request_id, error), [JSON])
