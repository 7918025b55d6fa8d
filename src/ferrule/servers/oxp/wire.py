"""OXP on the wire: reads bodies by the closed schemas, encodes answers as clients expect them. Knows no tools."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.hostile_json import find_repeated_name, is_deep, is_tame
from ferrule.servers.asgi import JSON, Header, HttpAnswer

SCHEMA = "urn:oxp:1.0"
"""The protocol version of this server; every answer has it (OXP-48)."""
_SUPPORTED = ("1.0", "1.0.0")
_SHORTHAND = re.compile(r"urn:oxp:([0-9]+\.[0-9]+)", re.IGNORECASE)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_VERSION_PART = re.compile(r"(?<![^/:])v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![^/?#])")
_LONGEST_ID = 1024


class OxpBadRequest(Exception):
    """A request that is refused before the call and not because of its input: 400 (OXP-23)."""

    def __init__(self, message: str, **more: object) -> None:
        super().__init__(message)
        self.message = message
        self.more = more
        """Other members of the answer: `missing_requirements`."""


class ContextToken(msgspec.Struct, gc=False):
    """One entry of `context.authorization`."""

    id: str
    token: str


class ContextSecret(msgspec.Struct, gc=False):
    """One entry of `context.secrets`."""

    id: str
    value: str


class CallContext(msgspec.Struct, gc=False):
    """`context`: open, so unknown members are ignored."""

    authorization: tuple[ContextToken, ...] = ()
    secrets: tuple[ContextSecret, ...] = ()
    user_id: str = ""

    def __repr__(self) -> str:
        return "CallContext(…)"  # it holds secrets, and tracebacks print reprs


class OxpCallRequest(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """`CallToolRequest`: closed (OXP-26)."""

    tool_id: str
    call_id: str = ""
    trace_id: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    context: CallContext = msgspec.field(default_factory=CallContext)


class _Call(msgspec.Struct, gc=False):
    schema: Any = msgspec.field(default=msgspec.UNSET, name="$schema")
    request: msgspec.Raw = msgspec.Raw(b"")


class _List(msgspec.Struct, gc=False):
    schema: Any = msgspec.field(default=msgspec.UNSET, name="$schema")


_decode_call = msgspec.json.Decoder(_Call).decode
_decode_list = msgspec.json.Decoder(_List).decode
_decode_request = msgspec.json.Decoder(OxpCallRequest).decode
_decode_names = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def require_json(content_type: str | None, *, is_optional: bool = False) -> None:
    """Raises OxpBadRequest unless the content type is JSON (OXP-25)."""
    if content_type is None and is_optional:
        return
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise OxpBadRequest("the body has to be JSON: Content-Type: application/json")


def read_list(body: bytes, header: str | None) -> None:
    """Reads the body of `GET /tools`, which holds only the version. Raises OxpBadRequest."""
    if body.strip():
        request: _List = _decode(_decode_list, body)
        _require_unambiguous(body)
        require_version(request.schema, header)
    else:
        require_version(msgspec.UNSET, header)


def read_call(body: bytes, header: str | None, *, is_compat: bool) -> tuple[OxpCallRequest, bool]:
    """Returns a call, and whether it came without its envelope, as in later drafts (OXP-49). Raises OxpBadRequest."""
    wrapped: _Call = _decode(_decode_call, body)
    _require_unambiguous(body)
    is_bare = not wrapped.request and is_compat
    if not wrapped.request and not is_bare:
        raise OxpBadRequest("the body has no member `request`, which holds the call")
    request = _parse_request(_strip_envelope(body) if is_bare else bytes(wrapped.request))
    require_version(wrapped.schema, header)
    return request, is_bare


def require_version(schema: object, header: str | None) -> None:
    """Raises OxpBadRequest for another protocol version; a request without one means ours (OXP-48)."""
    version = header if schema is msgspec.UNSET else schema
    if version is None and schema is msgspec.UNSET:
        return
    if not isinstance(version, str):
        raise OxpBadRequest("`$schema` has to be a URI")
    if schema is msgspec.UNSET and version in _SUPPORTED:  # in later drafts the header may hold the bare number
        return
    if not _URI.fullmatch(version):
        raise OxpBadRequest("`$schema` has to be a URI, such as urn:oxp:1.0")
    short = _SHORTHAND.fullmatch(version)
    named = [short[1]] if short else [] if version.lower().startswith("urn:") else _VERSION_PART.findall(version)
    if not named or any(number not in _SUPPORTED for number in named):
        raise OxpBadRequest(f"this version of the protocol is not spoken here; {SCHEMA} is")


def make_answer(status: int, members: JsonObject, headers: tuple[Header, ...] = ()) -> HttpAnswer:
    """Returns an answer that holds the protocol's version."""
    return HttpAnswer(status, encode_json({"$schema": SCHEMA, **members}), (JSON, *headers))


def encode_json(value: object) -> bytes:
    """Encodes a value as JSON, also whole numbers beyond 64 bits, which tools may return."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value, separators=(",", ":")).encode()


def _decode(decode: Any, body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise OxpBadRequest(f"the body does not fit: {_describe_error(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise OxpBadRequest("the body is no JSON that can be read") from None


def _require_unambiguous(body: bytes) -> None:
    """Raises OxpBadRequest for a body that is nested too deep or repeats a name, which parsers read differently."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise OxpBadRequest("the body is no JSON that can be read") from None
    if is_tame(body, value):
        return
    if is_deep(value):
        raise OxpBadRequest("the body is nested too deep")
    if find_repeated_name(body) is not None:
        raise OxpBadRequest("the body gives a name twice in one object; give it once")


def _strip_envelope(body: bytes) -> bytes:
    """Returns the call of a body without an envelope."""
    members = _decode(_decode_names, body)
    members.pop("$schema", None)
    return msgspec.json.encode(members)


def _parse_request(written: bytes) -> OxpCallRequest:
    try:
        request = _decode_request(written)
    except msgspec.ValidationError as error:
        raise OxpBadRequest(f"the call does not fit: {_describe_error(error)}{_hint(written)}") from None
    if not bytes(request.input).lstrip().startswith(b"{"):
        raise OxpBadRequest("the call does not fit: `input` has to be an object")
    for name in ("call_id", "trace_id"):
        if len(getattr(request, name)) > _LONGEST_ID:
            raise OxpBadRequest(f"the call does not fit: `{name}` has more than {_LONGEST_ID} characters")
    return request


def _hint(written: bytes) -> str:
    """Returns a hint for clients that follow the protocol's own pages, which call `input` by another name (OXP-27)."""
    try:
        members = _decode_names(written)
    except msgspec.MsgspecError:
        return ""
    return "; did you mean `input`?" if "inputs" in members and "input" not in members else ""


def _describe_error(error: msgspec.ValidationError) -> str:
    """Returns what is invalid and where: our names and types, no value of the caller's."""
    text = str(error)
    return text if len(text) <= 300 else f"{text[:300]}…"
