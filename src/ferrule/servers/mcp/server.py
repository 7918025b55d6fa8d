"""The MCP server behind every transport: a table of methods, each a function from an exchange to a result, or to something to
await for it.

An exchange is one request being answered: who asks, by which revision's rules, and the way back while it is worked on.
Transports stand above it, the methods are handed to it. It knows neither sockets nor tools.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from ferrule import __version__
from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    META_SERVER,
    METHOD_NOT_FOUND,
    MODERN,
    TOO_MANY,
    Message,
    Params,
    RequestId,
    RpcError,
    encode,
    error_text,
    refuse_doubled_params,
    result_text,
)
from ferrule.servers.mcp.wire.params import RequestMeta, RequestParams

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_NO_TRACE = "0" * 32


class Back(Protocol):
    """The way back to the client, for one request: its own stream, and nothing else (MCP-53, MCP-83)."""

    @property
    def is_pipe(self) -> bool:
        """True where all requests share one way back, and a client has to be told which of them ended."""

    async def tell(self, text: bytes) -> None:
        """Send a notification about this request. Over HTTP the first one makes the answer a stream of events."""

    async def ask(self, method: str, params: Params | None) -> Any:
        """Ask the client and wait for its result; sessions only. Raises RpcError when it cannot, answers with an error, or
        takes too long."""


class Silent:
    """No way back but the response: for requests that are answered without waiting for anything."""

    is_pipe = False

    async def tell(self, text: bytes) -> None:
        """Tells nobody."""

    async def ask(self, method: str, params: Params | None) -> Any:
        """Asks nobody."""
        raise RpcError(INVALID_REQUEST, "this client cannot be asked here")


SILENT = Silent()


class Exchange(msgspec.Struct, eq=False):
    """One request, and the server that answers it. Nothing in it outlives its answer (MCP-27).

    The garbage collector has to see it: what is cancelled leads back to it through the frames of its exception.
    """

    server: McpService
    caller: Caller
    surface: SurfaceHandle
    revision: str
    request_id: RequestId
    back: Back = SILENT
    """A transport that has one puts it here before anything awaits."""
    client: frozenset[str] = frozenset()
    """What the client declared: for this request (modern), or for its session. Also names of extensions."""
    meta: RequestMeta = msgspec.field(default_factory=RequestMeta)
    """What the request says about itself."""
    params: RequestParams | None = None
    """Its parameters, where its transport has read all of them."""
    log_level: str | None = None
    """The least level of log messages to be sent; None for none at all."""
    headers: Mapping[bytes, bytes] | None = None
    """Those that have to agree with the body; None on a wire without any (MCP-35)."""
    session: Any = None
    """The session, in the revisions that have them."""

    @property
    def is_modern(self) -> bool:
        """True in the revision without sessions."""
        return self.revision == MODERN

    @property
    def trace_id(self) -> str | None:
        """The trace that the client counts this request among; None when it names none that can be one (MCP-104)."""
        said = self.meta.traceparent
        found = _TRACEPARENT.fullmatch(said) if said is not None else None
        return found[1] if found is not None and found[1] != _NO_TRACE else None


_log = logging.getLogger("ferrule.mcp")

RpcResult = bytes | dict[str, Any]
"""A result: an object, or its JSON as bytes (then complete, with everything its revision wants)."""
Handle = Callable[[Exchange, bytes], RpcResult | Awaitable[RpcResult]]
"""Returns a result, or something to await for it. Raises RpcError. The last argument is the JSON of `params`, `{}` when there
are none."""


class Method(NamedTuple):
    """One method of the protocol."""

    handle: Handle
    is_modern: bool = True
    is_sessioned: bool = True
    is_declared: Callable[[Exchange], bool] | None = None
    """Whether the capability behind it is declared to this client; else the method does not exist (MCP-114). None: always."""


class RpcAnswer(msgspec.Struct, frozen=True, gc=False):
    """A response, and the HTTP status it has while nothing was sent before."""

    text: bytes
    status: int = 200
    retry_after: float | None = None
    """Seconds, for a caller who has to wait."""


class McpService:
    """One workspace over MCP."""

    def __init__(self, edge: Edge, methods: dict[str, Method]) -> None:
        self.edge = edge
        self.app = edge.app
        self.settings = edge.settings.mcp
        self._methods = methods
        self.meta = encode({META_SERVER: self.info})[1:-1]
        """What every modern result says about who answers: the inside of its `_meta`, as JSON (MCP-105)."""
        self.kept: dict[str, Any] = {}
        """What parts of the server keep for as long as it serves: lists, listeners."""

    @property
    def info(self) -> dict[str, Any]:
        """The name, title and version of this server, as clients see them."""
        return {"name": self.app.name, "title": f"{self.app.name} (Ferrule)", "version": __version__}

    def answer(self, exchange: Exchange, message: Message) -> RpcAnswer | Coroutine[Any, Any, RpcAnswer]:
        """Answers one request, whatever goes wrong with it; returns something to await when its method has to wait."""
        try:
            method, is_modern = self._methods.get(message.method), exchange.revision == MODERN
            if (
                method is None
                or not (method.is_modern if is_modern else method.is_sessioned)
                or (method.is_declared is not None and not method.is_declared(exchange))
            ):
                raise RpcError(METHOD_NOT_FOUND, f"there is no method {message.method[:200]!r}")
            if not is_modern:  # there it was looked at before, in the order of its checks
                refuse_doubled_params(message)
            params = message.params
            result = method.handle(exchange, b"{}" if params is msgspec.UNSET else bytes(params))
            if isinstance(result, bytes):  # a call of a tool, nearly always
                return RpcAnswer(result_text(exchange.request_id, result))
            if isinstance(result, dict):
                return self._encode(exchange, result)
            return self._wait_for(exchange, message.method, result)
        except Exception as error:
            return encode_failure(exchange.request_id, message.method, error)

    async def _wait_for(self, exchange: Exchange, method: str, work: Awaitable[RpcResult]) -> RpcAnswer:
        try:
            return self._encode(exchange, await work)
        except Exception as error:
            return encode_failure(exchange.request_id, method, error)

    def _encode(self, exchange: Exchange, result: RpcResult) -> RpcAnswer:
        if not isinstance(result, bytes):
            result = encode(self.complete_result(exchange, result))
        return RpcAnswer(result_text(exchange.request_id, result))

    def complete_result(self, exchange: Exchange, result: dict[str, Any]) -> dict[str, Any]:
        """Completes a result with what its revision wants of every one (MCP-14, MCP-26, MCP-105)."""
        if not exchange.is_modern:
            return result
        meta = {META_SERVER: self.info, **result.get("_meta", {})}
        return {"resultType": "complete", **result, "_meta": meta}


def encode_failure(request_id: RequestId, method: str, error: Exception) -> RpcAnswer:
    """Encodes the response to a request that could not be answered."""
    if isinstance(error, RpcError):
        return RpcAnswer(error_text(request_id, error), error.status)
    if isinstance(error, Refused):
        code = TOO_MANY if error.status == 429 else INTERNAL_ERROR
        return RpcAnswer(error_text(request_id, RpcError(code, error.reason)), error.status, error.retry_after)
    if isinstance(error, FerruleError):
        _log.warning("%s could not be answered: %s", method, error)
    else:  # a mistake of ours: the client learns that there was one, the log what it was
        _log.error("%s could not be answered", method, exc_info=error)
    return RpcAnswer(error_text(request_id, RpcError(INTERNAL_ERROR, "the server failed; its log tells why")))
