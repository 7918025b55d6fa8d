"""OXP on the wire: bodies read as the closed schemas have them, answers as clients expect them. Knows no tools."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from ferrule.runtime.pipeline.arguments.hostile_json import is_deep, is_tame, repeated_name
from ferrule.servers.asgi import JSON, Answer, Header

SCHEMA = "urn:oxp:1.0"
"""The protocol version spoken here; every answer says it (OXP-48)."""
_SUPPORTED = ("1.0", "1.0.0")
_SHORTHAND = re.compile(r"urn:oxp:([0-9]+\.[0-9]+)", re.IGNORECASE)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_VERSION_PART = re.compile(r"(?<![^/:])v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)(?![^/?#])")
_LONGEST_ID = 1024


class BadRequest(Exception):
    """Something that is refused before the call and is not about its input: 400 (OXP-23)."""

    def __init__(self, message: str, **more: Any) -> None:
        super().__init__(message)
        self.message = message
        self.more = more
        """Other members of the answer: `missing_requirements`."""


class Token(msgspec.Struct, gc=False):
    """One of `context.authorization`."""

    id: str
    token: str


class Secret(msgspec.Struct, gc=False):
    """One of `context.secrets`."""

    id: str
    value: str


class CallContext(msgspec.Struct, gc=False):
    """`context`: open, so that other members are passed over."""

    authorization: tuple[Token, ...] = ()
    secrets: tuple[Secret, ...] = ()
    user_id: str = ""

    def __repr__(self) -> str:
        return "CallContext(…)"  # it holds secrets, and tracebacks print it


class CallRequest(msgspec.Struct, gc=False, forbid_unknown_fields=True):
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
_decode_request = msgspec.json.Decoder(CallRequest).decode
_decode_names = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def demand_json(content_type: str | None, *, is_optional: bool = False) -> None:
    """Raises BadRequest for a body that does not say that it is JSON (OXP-25)."""
    if content_type is None and is_optional:
        return
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadRequest("the body has to be JSON: Content-Type: application/json")


def read_list(body: bytes, header: str | None) -> None:
    """The body of `GET /tools`, which says nothing but the version. Raises BadRequest."""
    if body.strip():
        asked: _List = _decoded(_decode_list, body)
        _demand_tame(body)
        demand_version(asked.schema, header)
    else:
        demand_version(msgspec.UNSET, header)


def read_call(body: bytes, header: str | None, *, is_compat: bool) -> tuple[CallRequest, bool]:
    """A call, and whether it came without its envelope, as later drafts have it (OXP-49). Raises BadRequest."""
    wrapped: _Call = _decoded(_decode_call, body)
    _demand_tame(body)
    is_bare = not wrapped.request and is_compat
    if not wrapped.request and not is_bare:
        raise BadRequest("the body has no member `request`, which holds the call")
    request = _request(_unwrapped(body) if is_bare else bytes(wrapped.request))
    demand_version(wrapped.schema, header)
    return request, is_bare


def demand_version(schema: Any, header: str | None) -> None:
    """Raises BadRequest for another version of the protocol than is spoken here. None said: ours (OXP-48)."""
    said = header if schema is msgspec.UNSET else schema
    if said is None and schema is msgspec.UNSET:
        return
    if not isinstance(said, str):
        raise BadRequest("`$schema` has to be a URI")
    if schema is msgspec.UNSET and said in _SUPPORTED:  # the header of later drafts may hold the bare number
        return
    if not _URI.fullmatch(said):
        raise BadRequest("`$schema` has to be a URI, such as urn:oxp:1.0")
    short = _SHORTHAND.fullmatch(said)
    named = [short[1]] if short else [] if said.lower().startswith("urn:") else _VERSION_PART.findall(said)
    if not named or any(version not in _SUPPORTED for version in named):
        raise BadRequest(f"this version of the protocol is not spoken here; {SCHEMA} is")


def answer(status: int, members: dict[str, Any], headers: tuple[Header, ...] = ()) -> Answer:
    """An answer with the protocol's version in it."""
    return Answer(status, encoded({"$schema": SCHEMA, **members}), (JSON, *headers))


def encoded(value: Any) -> bytes:
    """JSON; also of whole numbers past 64 bits, which tools may give."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value, separators=(",", ":")).encode()


def _decoded(decode: Any, body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not fit: {_place(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadRequest("the body is no JSON that can be read") from None


def _demand_tame(body: bytes) -> None:
    """Raises BadRequest for what is nested too deep, or gives a name twice: who knows what was meant then."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadRequest("the body is no JSON that can be read") from None
    if is_tame(body, value):
        return
    if is_deep(value):
        raise BadRequest("the body is nested too deep")
    if repeated_name(body) is not None:
        raise BadRequest("the body gives a name twice in one object; give it once")


def _unwrapped(body: bytes) -> bytes:
    """The call of a body that is the call itself; what belongs around it is taken off."""
    members = _decoded(_decode_names, body)
    members.pop("$schema", None)
    return msgspec.json.encode(members)


def _request(written: bytes) -> CallRequest:
    try:
        request = _decode_request(written)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the call does not fit: {_place(error)}{_hint(written)}") from None
    if not bytes(request.input).lstrip().startswith(b"{"):
        raise BadRequest("the call does not fit: `input` has to be an object")
    for name in ("call_id", "trace_id"):
        if len(getattr(request, name)) > _LONGEST_ID:
            raise BadRequest(f"the call does not fit: `{name}` has more than {_LONGEST_ID} characters")
    return request


def _hint(written: bytes) -> str:
    """The protocol's own pages call `input` by another name (OXP-27)."""
    try:
        members = _decode_names(written)
    except msgspec.MsgspecError:
        return ""
    return "; did you mean `input`?" if "inputs" in members and "input" not in members else ""


def _place(error: msgspec.ValidationError) -> str:
    """What does not fit and where: names of ours and types, no value of the caller's."""
    text = str(error)
    return text if len(text) <= 300 else f"{text[:300]}…"
