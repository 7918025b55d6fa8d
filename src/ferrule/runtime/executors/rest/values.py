"""Writes arguments as text in a path, query, form, header or cookie, so that no value can break out of its place.

Lists and objects are written in the styles that OpenAPI took from RFC 6570, chosen once per tool. `templates.py`,
`bodies.py`, `plan.py` and `mapping.py` are above; this module knows no tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote as _quote
from urllib.parse import quote_plus as _quote_plus

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.rest.settings import PlacedStyle

Quote = Callable[[str], str]
_SEPARATORS = {"comma": ",", "space": "%20", "pipe": "%7C", "form": ","}
_RESERVED = ":/?@!$'()*,;="
"""Characters that RFC 3986 reserves and that have no meaning within a query value."""
_OPENED = frozenset({"deep", "form", "form-exploded"})
"""Styles that write each member of an object separately."""
_LONGEST_WHOLE = 1e15
_NO_HEADER = frozenset(map(chr, (*range(9), *range(10, 32), 127)))


def unsendable(name: str, why: str) -> ExecutionFailed:
    """Builds the failure for an argument that cannot be sent. Does not repeat its value."""
    return ExecutionFailed("invalid_arguments", f"the argument {name!r} {why}", code="unsendable_argument")


def quote(text: str) -> str:
    """Percent-encodes all but letters, digits and `-._~`. Raises UnicodeEncodeError for a lone surrogate."""
    return _quote(text, safe="")


def quote_form(text: str) -> str:
    """Encodes as HTML forms do: a blank becomes a plus sign."""
    return _quote_plus(text, safe="")


def quote_reserved(text: str) -> str:
    """Percent-encodes, but keeps slashes and other reserved characters that would not end the value."""
    return _quote(text, safe=_RESERVED)


def quote_form_reserved(text: str) -> str:
    """Encodes as HTML forms do, but keeps reserved characters."""
    return _quote_plus(text, safe=_RESERVED)


def json_text(value: object) -> bytes:
    """Encodes compact JSON. Raises UnicodeEncodeError for a lone surrogate."""
    try:
        return msgspec.json.encode(value)
    except OverflowError:  # a number past 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(name: str, value: object) -> str:
    """Writes a single value as text. Raises ExecutionFailed for a list or an object."""
    if type(value) is str:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_WHOLE:
        return str(int(value))  # JSON Schema takes 3.0 for an integer, servers often do not
    if isinstance(value, int | float | str):
        return str(value)
    raise unsendable(name, "must be a text, a number or a boolean where it is sent")


def segment_of(name: str, value: object) -> str:
    """Writes a value within one segment of a path; joins a list with commas. Raises ExecutionFailed."""
    if type(value) is list and value:
        return ",".join(segment_of(name, item) for item in value)
    if value is None or value == "" or value == []:
        raise unsendable(name, "must not be empty: it is part of the path")
    return encode_text(name, text_of(name, value), quote)


def header_value(name: str, value: object) -> str:
    """Writes a value for a header; joins a list with commas. Raises ExecutionFailed."""
    text = ",".join(text_of(name, item) for item in value) if type(value) is list else text_of(name, value)
    return require_header_text(name, text)


def require_header_text(name: str, text: str) -> str:
    """Returns the text if a header can hold it. Raises ExecutionFailed."""
    if not _NO_HEADER.isdisjoint(text) or text.strip() != text:
        raise unsendable(name, "has line breaks, control characters or blanks around it, which no header can hold")
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        raise unsendable(name, "has letters that no header can hold") from None
    return text


def pairs_of(key: str, name: str, value: object, style: PlacedStyle, quote_with: Quote) -> Iterator[str]:
    """Yields `key=value` for a query or a form; nothing for null and an empty list. `key` must be encoded already."""
    if style == "json-text":
        yield f"{key}={encode_text(name, json_of(name, value), quote_with)}"
        return
    if value is None:
        return
    if isinstance(value, dict) and style in _OPENED:
        yield from _members(key, name, value, style, quote_with)
    elif isinstance(value, list) and style != "json":
        texts = [encode_text(name, _item(name, item), quote_with) for item in value if item is not None]
        if texts and style in _SEPARATORS:
            yield f"{key}={_SEPARATORS[style].join(texts)}"
        else:
            for text in texts:
                yield f"{key}={text}"
    else:
        yield f"{key}={encode_text(name, _item(name, value), quote_with)}"


def _members(key: str, name: str, value: JsonObject, style: PlacedStyle, quote_with: Quote) -> Iterator[str]:
    """Yields the pairs of an object, member by member."""
    if style == "form":
        flat = [each for pair in value.items() if pair[1] is not None for each in pair]
        if flat:
            yield f"{key}={','.join(encode_text(name, _item(name, each), quote_with) for each in flat)}"
        return
    for inner, member in value.items():
        own = encode_text(name, inner, quote_with)
        if style == "deep":
            yield from pairs_of(f"{key}%5B{own}%5D", name, member, style, quote_with)
        else:
            yield from pairs_of(own, name, member, "repeat", quote_with)


def encode_text(name: str, text: str, quote_with: Quote) -> str:
    """Encodes text with `quoted`. Raises ExecutionFailed for a lone surrogate."""
    try:
        return quote_with(text)
    except UnicodeEncodeError:
        raise unsendable(name, "has half a character, which nobody can be sent") from None


def json_of(name: str, value: object) -> str:
    """Writes a value as JSON text. Raises ExecutionFailed for a lone surrogate."""
    try:
        return json_text(value).decode()
    except UnicodeEncodeError:
        raise unsendable(name, "has half a character, which nobody can be sent") from None


def _item(name: str, value: object) -> str:
    return json_of(name, value) if isinstance(value, dict | list) else text_of(name, value)


Writer = Callable[[str, Any], str]
"""Writes an argument, given its name and its value."""

_PATH_RESERVED = ":/@!$&'()*+,="
_COOKIE_SAFE = "!#$&'()*+-./:<=>?@[]^_`{|}~"
_NO_COOKIE = re.compile(r"[^!#-+\--:<-\[\]-~]")


class _Shape(NamedTuple):
    """How a style joins the parts of a value."""

    before: str
    """The prefix of the complete value."""
    between: str
    """The separator of items, and of the pairs of an object."""
    equals: str
    """The separator of a member's name and its value."""
    is_named: bool = False
    """True when the name of the parameter is written."""
    is_exploded: bool = False
    """True when each item repeats the name."""


_SHAPES: dict[PlacedStyle, _Shape] = {
    "simple": _Shape("", ",", ","),
    "simple-exploded": _Shape("", ",", "="),
    "label": _Shape(".", ",", ","),
    "label-exploded": _Shape(".", ".", "="),
    "matrix": _Shape(";", ",", ",", is_named=True),
    "matrix-exploded": _Shape(";", ";", "=", is_named=True, is_exploded=True),
}
PATH_STYLES = frozenset(_SHAPES)
HEADER_STYLES = frozenset({"simple", "simple-exploded"})
QUERY_STYLES = frozenset({"repeat", "comma", "space", "pipe", "deep", "json", "form", "form-exploded"})
COOKIE_STYLES = frozenset({"repeat", "comma", "json", "form", "form-exploded", "cookie"})


def path_writer(key: str, style: PlacedStyle, is_reserved: bool) -> Writer:
    """Returns the writer of an argument in a segment of a path. `key`: its name there."""
    quote_with = _quote_path if is_reserved else quote
    if style == "json-text":
        return lambda name, value: encode_text(name, json_of(name, value), quote_with)
    shape = _SHAPES.get(style)
    if shape is None and not is_reserved:
        return segment_of
    own = quote(key)
    return lambda name, value: _segment(name, own, value, shape or _SHAPES["simple"], quote_with)


def header_writer(style: PlacedStyle) -> Writer:
    """Returns the writer of an argument in a header."""
    if style == "json-text":
        return lambda name, value: require_header_text(name, _ascii(json_of(name, value)))
    shape = _SHAPES.get(style)
    if shape is None:
        return header_value
    return lambda name, value: require_header_text(name, _join_parts(name, value, shape, str))


def cookies_of(key: str, name: str, value: object, style: PlacedStyle) -> list[str]:
    """Writes an argument as cookies, `key=value` each. Raises ExecutionFailed."""
    if style == "cookie":
        text = text_of(name, value)
        if _NO_COOKIE.search(text):
            raise unsendable(name, "has blanks, commas, semicolons or other characters that no cookie can hold")
        return [f"{key}={text}"]
    return list(pairs_of(key, name, value, style, _quote_cookie))


def is_cookie_value(text: str) -> bool:
    """Returns True for text that a cookie can hold unencoded."""
    return not _NO_COOKIE.search(text)


def _segment(name: str, key: str, value: object, shape: _Shape, quote_with: Quote) -> str:
    if value is None or value in ("", [], {}):
        raise unsendable(name, "must not be empty: it is part of the path")
    if not shape.is_named:
        return shape.before + _join_parts(name, value, shape, quote_with)
    if shape.is_exploded and isinstance(value, dict):
        return shape.before + _join_parts(name, value, shape, quote_with)
    if shape.is_exploded and isinstance(value, list):
        return "".join(f"{shape.before}{key}={_text(name, item, quote_with)}" for item in value)
    return f"{shape.before}{key}={_join_parts(name, value, shape, quote_with)}"


def _join_parts(name: str, value: object, shape: _Shape, quote_with: Quote) -> str:
    if isinstance(value, list):
        return shape.between.join(_text(name, item, quote_with) for item in value)
    if isinstance(value, dict):
        pairs = [
            f"{_text(name, key, quote_with)}{shape.equals}{_text(name, member, quote_with)}"
            for key, member in value.items()
            if member is not None
        ]
        return shape.between.join(pairs)
    return _text(name, value, quote_with)


def _text(name: str, value: object, quote_with: Quote) -> str:
    return encode_text(name, text_of(name, value), quote_with)


def _quote_path(text: str) -> str:
    # Slashes are kept: `PathSegment.fill` checks the parts between them for `.` and `..`.
    return _quote(text, safe=_PATH_RESERVED)


def _quote_cookie(text: str) -> str:
    """Percent-encodes characters that a cookie cannot hold."""
    return _quote(text, safe=_COOKIE_SAFE)


def _ascii(text: str) -> str:
    """Escapes JSON text to ASCII, which a header can hold."""
    return "".join(letter if letter < "\x7f" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
