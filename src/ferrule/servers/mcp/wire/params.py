"""Parameters of requests as they are read: what a request says about itself, and what calls of tools say.

One reading serves the transport, which compares it with the headers, and the method. Transports and methods stand above; below is
the reading of whole messages.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.servers.mcp.wire.messages import (
    CLEAN_CAPABILITIES,
    INVALID_PARAMS,
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_VERSION,
    OWN,
    Message,
    RpcError,
    encode,
    refuse_doubled_params,
)

RUN = OWN + "run"
"""In `_meta`: the piece of agent work that a call belongs to."""
IDEMPOTENCY_KEY = OWN + "idempotency-key"
"""In `_meta`: calls with the same one are one call."""
_LONGEST_RUN = 200
_NULL = msgspec.Raw(b"null")


class RequestMeta(msgspec.Struct, gc=False, omit_defaults=True):
    """Members of a request's `_meta`. What makes no sense is as good as unsaid."""

    progress_token: Any = msgspec.field(default=None, name="progressToken")
    run: Any = msgspec.field(default="", name=RUN)
    """The run that the request belongs to; empty for none."""
    idempotency_key: Any = msgspec.field(default=None, name=IDEMPOTENCY_KEY)
    traceparent: Any = None
    version: Any = msgspec.field(default=msgspec.UNSET, name=META_VERSION)
    capabilities: msgspec.Raw = msgspec.field(default=_NULL, name=META_CAPABILITIES)
    log_level: Any = msgspec.field(default=None, name=META_LOG_LEVEL)

    def __post_init__(self) -> None:
        """Forgets what makes no sense."""
        # type(), not isinstance(): `true` is an int in Python, and no token.
        if self.progress_token is not None and type(self.progress_token) not in (str, int):
            self.progress_token = None
        if self.run != "" and (type(self.run) is not str or len(self.run) > _LONGEST_RUN):
            self.run = ""
        if self.idempotency_key is not None and (type(self.idempotency_key) is not str or not self.idempotency_key):
            self.idempotency_key = None
        if self.traceparent is not None and type(self.traceparent) is not str:
            self.traceparent = None


NO_META = RequestMeta()


class Retry(msgspec.Struct, gc=False):
    """The members of a request that goes on with an earlier one."""

    input_responses: Any = msgspec.field(default=msgspec.UNSET, name="inputResponses")
    request_state: Any = msgspec.field(default=None, name="requestState")

    def responses(self) -> dict[str, Any]:
        """Returns what the client gave. Raises RpcError for what is no object of objects (MCP-222)."""
        given = self.input_responses
        if given is msgspec.UNSET:
            return {}
        if not isinstance(given, dict):
            raise RpcError(INVALID_PARAMS, "params.inputResponses is an object")
        return given


class CallParams(Retry, gc=False):
    """Parameters of `tools/call`; others are ignored (MCP-25, MCP-140)."""

    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class RoutedParams(msgspec.Struct, gc=False):
    """The members that any request may have: what headers repeat, and `_meta`."""

    meta: RequestMeta | msgspec.UnsetType | None = msgspec.field(default=msgspec.UNSET, name="_meta")
    name: Any = None
    uri: Any = None
    task_id: Any = msgspec.field(default=None, name="taskId")


class RequestParams(CallParams, gc=False, omit_defaults=True):
    """The same, and what a call of a tool says: read at once, since most requests are calls."""

    meta: RequestMeta | msgspec.UnsetType | None = msgspec.field(default=msgspec.UNSET, name="_meta")
    name: Any = None
    uri: Any = None
    task_id: Any = msgspec.field(default=None, name="taskId")


_decode = msgspec.json.Decoder(RequestParams).decode
_decode_routed = msgspec.json.Decoder(RoutedParams).decode
_NO_PARAMS, _NOT_READ = RequestParams(), RoutedParams()
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Raised for what is no JSON of that shape; also for numbers that nobody can hold."""


def read_params(message: Message) -> RequestParams | RoutedParams:
    """Reads the parameters of a request: only those that decide where it goes, or none, when others cannot be read. Its method
    says what is wrong with them."""
    raw = message.params
    if isinstance(raw, msgspec.UnsetType):
        return _NO_PARAMS
    try:
        return _decode(raw)
    except _UNREADABLE:
        try:
            return _decode_routed(raw)
        except _UNREADABLE:
            return _NOT_READ


def refuse_doubles(message: Message, params: RequestParams | RoutedParams) -> None:
    """Raises RpcError (-32600) for parameters that say something twice. What a tool is called with is looked at by its call."""
    if not isinstance(params, RequestParams) or not _holds_all_of(params, message.params):
        refuse_doubled_params(message)


def _holds_all_of(params: RequestParams, raw: msgspec.Raw | msgspec.UnsetType) -> bool:
    """True for parameters that are written as these are encoded: with as many bytes there is room for nothing else. Texts and
    whole numbers never get longer when they are encoded again, so that no other member hides behind one."""
    meta = params.meta
    return (
        isinstance(meta, RequestMeta)
        and isinstance(raw, msgspec.Raw)
        and type(params.name) is str
        and params.uri is None
        and params.task_id is None
        and params.request_state is None
        and params.input_responses is msgspec.UNSET
        and type(meta.version) is str
        and (meta.log_level is None or type(meta.log_level) is str)
        and bytes(meta.capabilities) in CLEAN_CAPABILITIES
        and len(encode(params)) == len(raw)  # last: what stands in other members may be no value that can be encoded
    )


def params_of(params: bytes, kind: type[Any]) -> Any:
    """Reads parameters as a record. Raises RpcError (-32602), which names the member that does not fit."""
    try:
        return msgspec.json.decode(params, type=kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"params: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RpcError(INVALID_PARAMS, "params cannot be read") from None
