"""One request being answered: who asks, by which revision's rules, and the way back while it is worked on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, MODERN, OWN, Params, RequestId, RpcError

RUN = OWN + "run"
"""In `_meta`: the piece of agent work that a call belongs to."""
IDEMPOTENCY_KEY = OWN + "idempotency-key"
"""In `_meta`: calls with the same one are one call."""

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_NO_TRACE = "0" * 32


class Back(Protocol):
    """The way back to the client, for one request: its own stream, and nothing else (MCP-53, MCP-83)."""

    async def tell(self, text: bytes) -> None:
        """Send a notification about this request. Over HTTP the first one makes the answer a stream of events."""

    async def ask(self, method: str, params: Params | None) -> Any:
        """Ask the client and wait for its result; sessions only. Raises RpcError when it cannot, answers with an error, or
        takes too long."""


class Silent:
    """No way back but the response: for requests that are answered at once."""

    async def tell(self, text: bytes) -> None:
        """Nobody hears it."""

    async def ask(self, method: str, params: Params | None) -> Any:
        """Nobody can be asked."""
        raise RpcError(INVALID_REQUEST, "this client cannot be asked here")


class Exchange(msgspec.Struct, eq=False):
    """One request. Nothing in it outlives its answer (MCP-27).

    The garbage collector has to see it: what is cancelled leads back to it through the frames of its exception.
    """

    caller: Caller
    surface: SurfaceHandle
    revision: str
    request_id: RequestId
    back: Back
    client: frozenset[str] = frozenset()
    """What the client declared: for this request (modern), or for its session. Also names of extensions."""
    meta: dict[str, Any] | msgspec.Raw | None = None
    """The `_meta` of the request, as an object or as its JSON. What is known of it stands in the members below; of an object
    they are read from it."""
    progress_token: Any = None
    idempotency_key: Any = None
    traceparent: Any = None
    log_level: str | None = None
    """The least level of log messages to be sent; None for none at all."""
    headers: Mapping[bytes, bytes] | None = None
    """Those that have to agree with the body; None on a wire without any (MCP-35)."""
    session: Any = None
    """The session, in the revisions that have them."""
    is_modern: bool = False
    """True in the revision without sessions."""

    def __post_init__(self) -> None:
        """What a client says is taken if it makes sense, and is as good as unsaid if not."""
        if self.revision == MODERN:
            self.is_modern = True
        meta = self.meta
        if type(meta) is dict:
            self.progress_token, self.traceparent = meta.get("progressToken"), meta.get("traceparent")
            self.idempotency_key = meta.get(IDEMPOTENCY_KEY)
        if self.progress_token is not None and type(self.progress_token) not in (str, int):
            self.progress_token = None
        if self.idempotency_key is not None and (type(self.idempotency_key) is not str or not self.idempotency_key):
            self.idempotency_key = None

    @property
    def trace_id(self) -> str | None:
        """The trace that the client counts this request among; None when it names none that can be one (MCP-104)."""
        found = _TRACEPARENT.fullmatch(self.traceparent) if type(self.traceparent) is str else None
        return found[1] if found is not None and found[1] != _NO_TRACE else None
