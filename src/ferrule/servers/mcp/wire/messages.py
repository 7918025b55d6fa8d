"""JSON-RPC as MCP speaks it: messages in, messages out, and the errors between.

Revision 2025-03-26 takes several messages in one body or line, and no other revision does (MCP-21, MCP-22). The module
does not know methods, or how messages travel.
"""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from typing import Any, Literal

import msgspec

from ferrule.model.value import is_deeper
from ferrule.servers.asgi import pause_garbage_collection

MODERN = "2026-07-28"
SESSIONED = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The revisions with sessions, newest first."""
SUPPORTED = (MODERN,)
"""What `server/discover` and version errors list (MCP-6)."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
TOO_MANY = 429
"""Ours, outside of what JSON-RPC and MCP reserve (MCP-126): the caller has to wait."""
RESOURCE_NOT_FOUND = -32002
"""Of the revisions with sessions only (MCP-123)."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
TASKS = "io.modelcontextprotocol/tasks"
"""The Tasks extension."""
OWN = "dev.ferrule/"
"""The prefix of our own keys in `_meta` (MCP-107)."""

RequestId = str | int
Params = dict[str, Any]
Kind = Literal["request", "notification", "response"]

encode = msgspec.json.Encoder().encode
_STATUS = {METHOD_NOT_FOUND: 404, PARSE_ERROR: 400, INVALID_REQUEST: 400, HEADER_MISMATCH: 400, MISSING_CAPABILITY: 400,
           UNSUPPORTED_VERSION: 400}  # fmt: skip


def is_reserved(name: str) -> bool:
    """True for a name in `_meta` that is the protocol's: the second label of its prefix says so (MCP-107)."""
    labels = name.partition("/")[0].split(".") if "/" in name else ()
    return len(labels) > 1 and labels[1] in ("modelcontextprotocol", "mcp")


class RpcError(Exception):
    """An error that is answered. The message is for the client: no paths, no secrets, no traces (MCP-289)."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status or _STATUS.get(code, 200)
        """The HTTP status in the modern revision, while nothing was sent; sessions answer 200 (MCP-76)."""
        self.request_id: RequestId | None = None
        """Of a message that cannot be taken, where its id can be read all the same (MCP-18)."""


class SaidTwice(RpcError):
    """An object has a member twice: readers would not agree on what it says."""

    def __init__(self, name: str) -> None:
        super().__init__(INVALID_REQUEST, f"{name[:60]!r} is said twice")
        self.name = name


class Message(msgspec.Struct, gc=False):
    """One message as it came. Members beyond these are ignored (MCP-25)."""

    jsonrpc: Any = None
    id: Any = msgspec.UNSET
    method: Any = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def kind(self) -> Kind:
        """The kind of message. Raises RpcError for what is no JSON-RPC message, bad ids included (MCP-16, MCP-24)."""
        if self.jsonrpc != "2.0":
            raise RpcError(INVALID_REQUEST, 'a message says "jsonrpc": "2.0"')
        # type(), not isinstance(): `true` is no id, although Python calls it an int.
        id_kind, is_method = type(self.id), type(self.method) is str
        is_named = id_kind is int or id_kind is str
        if is_method and is_named:
            return "request"
        if not is_named and self.id is not msgspec.UNSET:
            raise RpcError(INVALID_REQUEST, "an id is a string or an integer")
        if is_method:
            return "notification"
        if is_named and (self.result is not msgspec.UNSET) != (self.error is not msgspec.UNSET):
            return "response"
        raise RpcError(INVALID_REQUEST, "a message has a method, or is the answer to one")

    @property
    def readable_id(self) -> RequestId | None:
        """The id to name in an error; None when it could not be read (MCP-18)."""
        return self.id if type(self.id) is str or type(self.id) is int else None


_decode = msgspec.json.Decoder(Message).decode
DEPTH = 128
"""How deep a message may be nested, unless the settings say otherwise."""
_NO_JSON = "this is no JSON"
_HALF = b"\\ud"
"""How half a character is written."""
_TWO_NAMES = 4
"""Quotes: with fewer of them nothing is said twice."""
_SPACE = 64
"""How far from its name a value is looked for."""
_LARGE = 16 * 1024
_COMPARED = 4 * 1024
"""Bytes of parameters, at most, that are encoded again: beyond it, looking at members without the arguments takes less time."""
_NOTHING = nullcontext()


def read_message(body: bytes, depth: int = DEPTH) -> Message:
    """Reads one message, whatever wire it came by. Raises RpcError for what is no JSON, too deep, no message, or says its id,
    method or parameters twice; `refuse_doubled_params` looks inside of the parameters."""
    try:
        # msgspec keeps members as `Raw` without checking that their bytes are UTF-8.
        if not body.isascii():
            body.decode()
        if body.count(b"{") + body.count(b"[") > depth and is_deeper(body, depth):  # most messages are not asked about
            raise RpcError(PARSE_ERROR, f"a message is nested at most {depth} levels deep")
        message = _decode(body)
    except msgspec.ValidationError:
        raise _no_message(body) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _no_json(body) from None
    # What is encoded in as many bytes has no other members; most messages are written that way.
    if len(encode(message)) != len(body) and _may_say_twice(body):
        try:
            refuse_doubles(body, "params", message.params)
        except SaidTwice as error:
            error.request_id = message.readable_id if error.name != "id" else None
            raise
    return message


def _may_say_twice(body: bytes) -> bool:
    # 92 is a backslash: a name that is written with escapes hides from the counts.
    return 92 in body or body.count(b'"id"') > 1 or body.count(b'"method"') > 1 or body.count(b'"params"') > 1


def _no_json(body: bytes) -> RpcError:
    """Says why a body cannot be read. Half a character is allowed by JSON's grammar, and by no encoding: whoever
    sent it learns that, under the id that it gave."""
    error = RpcError(PARSE_ERROR, _NO_JSON)
    if _HALF not in body.lower():
        return error
    try:
        with pause_garbage_collection(body):
            said = json.loads(body, parse_constant=float.fromhex)
    except (ValueError, RecursionError):
        return error
    error.message = "a text holds half a character: a surrogate without its other half"
    if isinstance(said, dict):
        with suppress(UnicodeEncodeError):  # it may be the id that holds it
            encode(said.get("id"))
            error.request_id = Message(id=said.get("id")).readable_id
    return error


def id_of(message: Message | None, error: RpcError) -> RequestId | None:
    """The id that an error names: that of the message, if it was read at all."""
    return error.request_id if message is None else message.readable_id


def _no_message(body: bytes) -> RpcError:
    """Says why a body does not begin as a message does: it is another JSON value, or no JSON (MCP-115)."""
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RpcError(PARSE_ERROR, _NO_JSON)
    return RpcError(INVALID_REQUEST, "a message is one JSON object")


def refuse_doubled_params(message: Message) -> None:
    """Raises RpcError (-32600) for parameters that say something twice. What a tool is called with is looked at by its call."""
    params = message.params
    if isinstance(params, msgspec.UnsetType):
        return
    text = bytes(params)
    if text.count(b'"') >= _TWO_NAMES and not _is_as_encoded(text):
        is_call = message.method == "tools/call" and b'"arguments"' in text
        refuse_doubles(text, "arguments", _arguments(params) if is_call else msgspec.UNSET)


_decode_any = msgspec.json.Decoder().decode


def _is_as_encoded(text: bytes) -> bool:
    """True for a text that its own value is encoded as: then nothing in it is said twice, since a dict has each name once.

    Most clients write JSON without spaces and escapes, as the encoder does. A text that is written in another way says nothing
    by that: somebody has to look at its members.
    """
    if len(text) > _COMPARED:
        return False
    try:
        return encode(_decode_any(text)) == text
    except (msgspec.MsgspecError, OverflowError, UnicodeError, RecursionError):
        return False


class _Arguments(msgspec.Struct, gc=False):
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_read_arguments = msgspec.json.Decoder(_Arguments).decode


def _arguments(params: msgspec.Raw) -> msgspec.Raw | msgspec.UnsetType:
    try:
        return _read_arguments(params).arguments
    except (msgspec.MsgspecError, RecursionError):
        return msgspec.UNSET


def refuse_doubles(text: bytes, name: str = "", apart: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET) -> None:
    """Raises SaidTwice for an object that has a member twice. `apart`: the value of the member `name`, whose inside somebody else
    looks at."""
    if not isinstance(apart, msgspec.UnsetType):
        text = _without(text, b'"%b"' % name.encode(), bytes(apart))
    try:
        with pause_garbage_collection(text) if len(text) > _LARGE else _NOTHING:
            _look_for_doubles(text.decode())
    except _TwiceError as error:
        raise SaidTwice(str(error)) from None
    except (ValueError, RecursionError):  # in a member that nobody has read yet
        raise RpcError(PARSE_ERROR, _NO_JSON) from None


def _without(text: bytes, name: bytes, value: bytes) -> bytes:
    """A text with `0` for the object or list that a member has. Names that are written with escapes are not found: then all of
    it stays, as it does for any other value."""
    at = text.find(name) if value[:1] in (b"{", b"[") else -1
    while at >= 0:
        after = text[at + len(name) : at + len(name) + _SPACE]
        begins = at + len(name) + len(after) - len(after.lstrip(b" \t\r\n:"))
        if b":" in text[at + len(name) : begins] and text.startswith(value, begins):
            return b"%b0%b" % (text[:begins], text[begins + len(value) :])
        at = text.find(name, at + 1)
    return text


class _TwiceError(Exception):
    """Unwinds the reading."""


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) < 2:
        return
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise _TwiceError(name)
        seen.add(name)


# `len` instead of int and float: nobody looks at the numbers, and int() refuses very long ones.
_look_for_doubles = json.JSONDecoder(object_pairs_hook=_distinct, parse_int=len, parse_float=len, strict=False).decode


def id_text(request_id: RequestId) -> bytes:
    """Writes an id as JSON, with its type (MCP-16)."""
    return str(request_id).encode() if type(request_id) is int else encode(request_id)


def result_text(request_id: RequestId, result: bytes) -> bytes:
    """Writes a response with a result that is JSON already."""
    if type(request_id) is int:  # nearly always, so without a call for it
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_text(request_id), result)


def error_text(request_id: RequestId | None, error: RpcError) -> bytes:
    """Writes an error response; without an id when it could not be read (MCP-18)."""
    said: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        said["data"] = error.data
    named = b"" if request_id is None else b'"id":%b,' % id_text(request_id)
    return b'{"jsonrpc":"2.0",%b"error":%b}' % (named, encode(said))


def notification_text(method: str, params: Params | None = None) -> bytes:
    """Writes a notification."""
    said: Params = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        said["params"] = params
    return encode(said)


def request_text(request_id: RequestId, method: str, params: Params | None = None) -> bytes:
    """Writes a request to the client; the modern revision has none (MCP-23)."""
    said: Params = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        said["params"] = params
    return encode(said)


def features_of(capabilities: Any) -> frozenset[str]:
    """Reads what a client declares that it can be asked for, in the words of `Context.client`, and its extensions."""
    if not isinstance(capabilities, dict):
        return frozenset()
    found = {name for name in ("sampling", "roots") if isinstance(capabilities.get(name), dict)}
    elicitation = capabilities.get("elicitation")
    if isinstance(elicitation, dict):
        if "form" in elicitation or "url" not in elicitation:
            found.add("elicitation")  # an empty object means forms only (MCP-112)
        if "url" in elicitation:
            found.add("elicitation.url")
    if "sampling" in found and isinstance(capabilities["sampling"].get("tools"), dict):
        found.add("sampling.tools")
    extensions = capabilities.get("extensions")
    if isinstance(extensions, dict):
        found |= {name for name, settings in extensions.items() if isinstance(settings, dict)}
    return frozenset(found)


_FEATURES_KEPT = 256
_features: dict[bytes, frozenset[str]] = {}
CLEAN_CAPABILITIES: set[bytes] = set()
"""Those of them that are known to say nothing twice."""


def client_of(capabilities: bytes) -> frozenset[str]:
    """Reads what capabilities mean, once: the same ones come with every request of a client."""
    client = _features.get(capabilities)
    if client is None:
        client = features_of(msgspec.json.decode(capabilities))
        if len(_features) >= _FEATURES_KEPT:
            _features.clear()
            CLEAN_CAPABILITIES.clear()
        if len(capabilities) <= 4096:
            _features[capabilities] = client
            if _is_as_encoded(capabilities):
                CLEAN_CAPABILITIES.add(capabilities)
    return client


BATCHES = "2025-03-26"
_MOST_MESSAGES = 100


def is_batch(body: bytes) -> bool:
    """True for what begins as an array."""
    first = body[:1]
    return first == b"[" or (first != b"{" and body.lstrip(b" \t\r\n")[:1] == b"[")


def read_batch(body: bytes, revision: str | None, depth: int) -> list[Message]:
    """Reads the messages of a batch, each well-formed. Raises RpcError for the first that is not, and where there are none."""
    try:
        raws = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read_message(body, depth)  # says what is wrong with it
        raise RpcError(INVALID_REQUEST, "a message is one JSON object") from None
    if revision != BATCHES:
        raise RpcError(INVALID_REQUEST, "a message is one JSON object")
    if not 0 < len(raws) <= _MOST_MESSAGES:
        raise RpcError(INVALID_REQUEST, f"a batch has 1 to {_MOST_MESSAGES} messages")
    messages = [read_message(bytes(raw), depth) for raw in raws]
    asked = [message for message in messages if message.kind == "request"]
    if any(message.method == "initialize" for message in asked):
        raise RpcError(INVALID_REQUEST, "initialize stands alone")
    if len({(type(message.id), message.id) for message in asked}) < len(asked):
        raise RpcError(INVALID_REQUEST, "two requests have the same id")
    return messages
