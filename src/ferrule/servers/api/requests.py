"""Reads requests strictly: queries, bodies and headers match the OpenAPI document, or they are refused.

An invalid body is explained in our words: which member, and what to write instead. `endpoint` stands above it. It knows
no routes.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from ferrule.model.hints import nearest
from ferrule.model.misfits import Misfit, members_at, name_kinds, read_misfit
from ferrule.model.value import JsonObject, is_deeper
from ferrule.runtime.pipeline.arguments.hostile_json import find_repeated_name
from ferrule.schema.pointers import write_pointer
from ferrule.servers.api.replies import Member, Problem
from ferrule.servers.asgi import HttpRequest, pause_garbage_collection

_KIND_WORDS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}
_LONGEST_NAME = 60


def explain_invalid_body(error: msgspec.ValidationError, shape: type[msgspec.Struct]) -> Problem:
    """Returns the problem for a body that does not have the expected shape."""
    misfit = read_misfit(error)
    name, text = _explain_member(misfit, shape)
    pointer = write_pointer((*misfit.steps, *name))
    return Problem(400, "invalid_request", f"the body is not as it must be: {text}", errors=[Member(pointer, text)])


def _explain_member(misfit: Misfit, shape: type[msgspec.Struct]) -> tuple[tuple[str, ...], str]:
    """Returns the name of the member at fault, if there is one, and the explanation."""
    name, steps = misfit.key, misfit.steps
    if misfit.kind == "unknown_key":
        known = members_at(shape, steps)
        hint = nearest(name, known) or (f"known: {', '.join(known)}" if known else "leave it out")
        if len(name) > _LONGEST_NAME:  # a client may send megabytes as a name
            return (), f"there is no member {name[:_LONGEST_NAME] + '…'!r} here; {hint}"
        return (name,), f"there is no member {name!r} here; {hint}"
    if misfit.kind == "missing_key":
        return (name,), f"the member {name!r} is missing; add it"
    if misfit.kind == "type":
        what = repr(steps[-1]) if steps and not steps[-1].isdecimal() else "this" if steps else "it"
        return (
            (),
            f"{what} must be {name_kinds(misfit.kinds, _KIND_WORDS)}, and is {name_kinds([misfit.got], _KIND_WORDS)}",
        )
    return (), misfit.text


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_MOST_PARAMETERS = 50
_TAKEN = {"int": "a whole number", "str": "a text", "bool": "true or false"}
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
Shape = TypeVar("Shape", bound=msgspec.Struct)


def pairs_of(query: bytes) -> list[tuple[str, str]]:
    """Returns the names and values of a query in order. Raises Problem."""
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise Problem(400, "invalid_query", "the query cannot be read: it is no text, or much too long") from None


def query_of(pairs: list[tuple[str, str]], shape: type[Shape] | None) -> Shape | None:
    """Returns a query as a record; refuses unknown and repeated names. Raises Problem."""
    kinds = {} if shape is None else _kinds_of(shape)
    found: JsonObject = {}
    for name, text in pairs:
        if name not in kinds:
            hint = nearest(name, kinds) or (f"known: {', '.join(kinds)}" if kinds else "leave it out")
            raise Problem(400, "unknown_parameter", f"there is no parameter {name[:60]!r} here; {hint}")
        if name in found:
            raise Problem(400, "invalid_query", f"the parameter {name!r} is given twice")
        found[name] = _parse_value(name, text, kinds[name])
    if shape is None:
        return None
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise _explain_parameter(error) from None


def _explain_parameter(error: msgspec.ValidationError) -> Problem:
    misfit = read_misfit(error)
    name = misfit.place.removeprefix(".") or "query"
    wanted = _TAKEN.get(misfit.kinds[0]) if len(misfit.kinds) == 1 else None
    limit = f" {misfit.limit}" if misfit.limit else f", got `{misfit.got}`"
    text = f"takes {wanted}{limit}" if wanted else f"is not as it must be: {misfit.text}"
    return Problem(400, "invalid_query", f"the parameter {name!r} {text}")


def _parse_value(name: str, text: str, kind: type) -> Any:
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int and _INTEGER.fullmatch(text):
        return int(text)
    if kind is str:
        return text
    raise Problem(400, "invalid_query", f"the parameter {name!r} takes {_TAKEN[kind.__name__]}")


def _kinds_of(shape: type[msgspec.Struct]) -> dict[str, type]:
    """Returns the plain type of each field by its name on the wire."""
    kinds = _KIND_CACHE.get(shape)
    if kinds is None:
        hints = get_type_hints(shape, include_extras=True)
        names = zip(shape.__struct_encode_fields__, shape.__struct_fields__, strict=True)
        kinds = _KIND_CACHE[shape] = {wire: _unwrap_hint(hints[name]) for wire, name in names}
    return kinds


_KIND_CACHE: dict[type, dict[str, type]] = {}


def _unwrap_hint(hint: object) -> type:
    if get_origin(hint) is Annotated:
        return _unwrap_hint(get_args(hint)[0])
    for kind in (bool, int):
        if kind is hint or kind in get_args(hint):
            return kind
    for inner in get_args(hint):
        if get_origin(inner) is Annotated:
            return _unwrap_hint(inner)
    return str


def decode_body(request: HttpRequest, body: bytes, shape: type[Shape], *, depth: int, is_optional: bool) -> Shape:
    """Decodes the body of a request into a record. Raises Problem."""
    if not body and is_optional:
        return shape()
    _demand_json(request, has_body=bool(body))
    try:
        if not body.isascii():
            body.decode()  # msgspec.Raw members are not decoded, so their UTF-8 is not checked yet
        with pause_garbage_collection(body):
            found = msgspec.json.decode(body, type=shape)
            if is_deeper(body, depth):
                raise _too_deep(depth)
            refuse_repeated_names(body)
        return found
    except msgspec.ValidationError as error:
        raise explain_invalid_body(error, shape) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(400, "invalid_json", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise _too_deep(depth) from None


def _demand_json(request: HttpRequest, *, has_body: bool) -> None:
    types = request.all_headers(b"content-type")
    essence, _, parameters = (types[0].decode("latin-1") if len(types) == 1 else "").partition(";")
    charset = re.fullmatch(r'\s*charset="?([\w-]+)"?\s*', parameters, re.IGNORECASE)
    is_text = not parameters.strip() or (charset is not None and charset[1].lower() in ("utf-8", "utf8", "us-ascii"))
    if has_body and (essence.strip().lower() != "application/json" or not is_text):
        accept = (b"accept", b"application/json")
        raise Problem(415, "unsupported_media_type", "send application/json, in UTF-8", headers=[accept])
    if (request.header(b"content-encoding") or "identity").lower() != "identity":
        raise Problem(415, "unsupported_media_type", "send the body as it is, without a content encoding")


def refuse_repeated_names(body: bytes) -> None:
    """Raises Problem for JSON with a repeated name: two parsers would read two different requests."""
    name = None if _is_plain(body) else find_repeated_name(body)
    if name is not None:
        detail = f"one object gives the name {name[:60]!r} twice"
        raise Problem(400, "repeated_member", detail, errors=[Member("", detail)])


def _is_plain(body: bytes) -> bool:
    """Returns True when a text certainly repeats no name.

    The decoder keeps the last of two equal names, so a repeated one costs a colon when the value is encoded again.
    """
    if b"\\" in body:
        return False
    try:
        return body.count(b":") == _encode(_decode(body)).count(b":")
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return False


def _too_deep(depth: int) -> Problem:
    return Problem(400, "too_deep", f"the body is nested more than {depth} levels deep")


def choose_media_type(request: HttpRequest, offered: tuple[str, ...]) -> str | None:
    """Returns the media type that the client prefers (`Accept`); None when it accepts none of them.

    Of equal ones the first wins, unless another is named and not just matched by a wildcard.
    """
    headers = request.all_headers(b"accept")
    if not headers:
        return offered[0]
    ranges = [_parse_media_range(one) for one in b",".join(headers).decode("latin-1").lower().split(",") if one.strip()]
    best: tuple[float, int, str] | None = None
    for kind in offered:
        fits = [
            (rank, quality) for name, rank, quality in ranges if name in (kind, f"{kind.partition('/')[0]}/*", "*/*")
        ]
        # The most specific range decides, even where a wildcard has a higher quality (RFC 9110, 12.5.1).
        rank, quality = max(fits, default=(0, 0.0))
        if quality > 0 and (best is None or (quality, rank) > best[:2]):
            best = (quality, rank, kind)
    return best[2] if best is not None else (offered[0] if not ranges else None)


def _parse_media_range(text: str) -> tuple[str, int, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            quality = float(parameter[2:]) if re.fullmatch(r"[01](\.\d{0,3})?", parameter[2:]) else 0.0
    return name, 0 if name == "*/*" else 1 if name.endswith("/*") else 2, quality


class Preference(msgspec.Struct, frozen=True):
    """The preferences of a client (RFC 7240); unknown ones are ignored."""

    is_async: bool = False
    wait: float | None = None
    """Seconds to wait for the end."""

    @property
    def header_value(self) -> str:
        """The value of `Preference-Applied`."""
        said = ["respond-async"] if self.is_async else []
        return ", ".join([*said, *([f"wait={self.wait:g}"] if self.wait is not None else [])])


NO_PREFERENCE = Preference()
"""The preference of a client that stated none."""


def preference_of(request: HttpRequest) -> Preference:
    """Returns the preferences of a request; of a repeated one the first counts."""
    headers = request.all_headers(b"prefer")
    if not headers:
        return NO_PREFERENCE
    is_async, wait = False, None
    for header in headers:
        for part in header.decode("latin-1").lower().split(","):
            name, _, value = (word.strip() for word in part.partition(";")[0].partition("="))
            if name == "respond-async":
                is_async = True
            elif name == "wait" and wait is None and re.fullmatch(r"[0-9]{1,9}", value.strip('"')):
                wait = float(value.strip('"'))
    return Preference(is_async, wait)
