"""Writes arguments as text: in a path, query, form, header or cookie. One value never becomes two, nor part of another.

Lists and objects are written in the styles that OpenAPI took from RFC 6570, chosen once per tool. Stands below
`templates.py`, `bodies.py`, `plan.py` and `mapping.py`; knows no tool.
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
from ferrule.runtime.executors.rest.settings import PlacedStyle

Quote = Callable[[str], str]
_SEPARATORS = {"comma": ",", "space": "%20", "pipe": "%7C", "form": ","}
_RESERVED = ":/?@!$'()*,;="
"""What RFC 3986 reserves and no part of a query takes for its own."""
_OPENED = frozenset({"deep", "form", "form-exploded"})
"""Styles that write the members of an object one by one."""
_LONGEST_WHOLE = 1e15
_NO_HEADER = frozenset(map(chr, (*range(9), *range(10, 32), 127)))


def refused(name: str, why: str) -> ExecutionFailed:
    """The failure of an argument that cannot be sent. Its value is not repeated."""
    return ExecutionFailed("invalid_arguments", f"the argument {name!r} {why}", code="unsendable_argument")


def quote(text: str) -> str:
    """Percent-encoded, everything but letters, digits and `-._~`. Raises UnicodeEncodeError for half a character."""
    return _quote(text, safe="")


def quote_form(text: str) -> str:
    """As HTML forms write it: a blank is a plus sign."""
    return _quote_plus(text, safe="")


def quote_reserved(text: str) -> str:
    """The same, with slashes and other reserved characters as they are, but for those that would end the value."""
    return _quote(text, safe=_RESERVED)


def quote_form_reserved(text: str) -> str:
    """As HTML forms write it, with reserved characters as they are."""
    return _quote_plus(text, safe=_RESERVED)


def json_text(value: Any) -> bytes:
    """Compact JSON. Raises UnicodeEncodeError for half a character."""
    try:
        return msgspec.json.encode(value)
    except OverflowError:  # a number past 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(name: str, value: Any) -> str:
    """A single value as text. Raises ExecutionFailed for a list or an object."""
    if type(value) is str:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_WHOLE:
        return str(int(value))  # 3.0 is a whole number to JSON Schema
    if isinstance(value, int | float | str):
        return str(value)
    raise refused(name, "must be a text, a number or a boolean where it is sent")


def segment_of(name: str, value: Any) -> str:
    """A value inside one segment of a path; a list is joined with commas. Raises ExecutionFailed."""
    if type(value) is list and value:
        return ",".join(segment_of(name, item) for item in value)
    if value is None or value == "" or value == []:
        raise refused(name, "must not be empty: it is part of the path")
    return encoded(name, text_of(name, value), quote)


def header_value(name: str, value: Any) -> str:
    """A value as it may stand in a header; a list is joined with commas. Raises ExecutionFailed."""
    text = ",".join(text_of(name, item) for item in value) if type(value) is list else text_of(name, value)
    return checked_header(name, text)


def checked_header(name: str, text: str) -> str:
    """A text that may stand in a header. Raises ExecutionFailed."""
    if not _NO_HEADER.isdisjoint(text) or text.strip() != text:
        raise refused(name, "has line breaks, control characters or blanks around it, which no header can hold")
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        raise refused(name, "has letters that no header can hold") from None
    return text


def pairs_of(key: str, name: str, value: Any, style: PlacedStyle, quoted: Quote) -> Iterator[str]:
    """`key=value` for a query or a form; nothing for null and for an empty list. `key` is encoded already."""
    if style == "json-text":
        yield f"{key}={encoded(name, json_of(name, value), quoted)}"
        return
    if value is None:
        return
    if isinstance(value, dict) and style in _OPENED:
        yield from _members(key, name, value, style, quoted)
    elif isinstance(value, list) and style != "json":
        texts = [encoded(name, _item(name, item), quoted) for item in value if item is not None]
        if texts and style in _SEPARATORS:
            yield f"{key}={_SEPARATORS[style].join(texts)}"
        else:
            for text in texts:
                yield f"{key}={text}"
    else:
        yield f"{key}={encoded(name, _item(name, value), quoted)}"


def _members(key: str, name: str, value: dict[str, Any], style: PlacedStyle, quoted: Quote) -> Iterator[str]:
    """An object, member by member."""
    if style == "form":
        flat = [each for pair in value.items() if pair[1] is not None for each in pair]
        if flat:
            yield f"{key}={','.join(encoded(name, _item(name, each), quoted) for each in flat)}"
        return
    for inner, member in value.items():
        own = encoded(name, inner, quoted)
        if style == "deep":
            yield from pairs_of(f"{key}%5B{own}%5D", name, member, style, quoted)
        else:
            yield from pairs_of(own, name, member, "repeat", quoted)


def encoded(name: str, text: str, quoted: Quote) -> str:
    """Text, encoded. Raises ExecutionFailed for half a character."""
    try:
        return quoted(text)
    except UnicodeEncodeError:
        raise refused(name, "has half a character, which nobody can be sent") from None


def json_of(name: str, value: Any) -> str:
    """A value as JSON text. Raises ExecutionFailed for half a character."""
    try:
        return json_text(value).decode()
    except UnicodeEncodeError:
        raise refused(name, "has half a character, which nobody can be sent") from None


def _item(name: str, value: Any) -> str:
    return json_of(name, value) if isinstance(value, dict | list) else text_of(name, value)


Writer = Callable[[str, Any], str]
"""What writes an argument: its name and its value."""

_PATH_RESERVED = ":/@!$&'()*+,="
_COOKIE_SAFE = "!#$&'()*+-./:<=>?@[]^_`{|}~"
_NO_COOKIE = re.compile(r"[^!#-+\--:<-\[\]-~]")


class _Shape(NamedTuple):
    """How a style joins things."""

    before: str
    """What stands before the whole."""
    between: str
    """Between items, and between the pairs of an object."""
    equals: str
    """Between the name of a member and its value."""
    is_named: bool = False
    """True when the name of the parameter is written."""
    is_exploded: bool = False
    """True when each item has the name again."""


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
    """What writes an argument into a segment of a path. `key`: what it is called there."""
    quoted = _quote_path if is_reserved else quote
    if style == "json-text":
        return lambda name, value: encoded(name, json_of(name, value), quoted)
    shape = _SHAPES.get(style)
    if shape is None and not is_reserved:
        return segment_of
    own = quote(key)
    return lambda name, value: _segment(name, own, value, shape or _SHAPES["simple"], quoted)


def header_writer(style: PlacedStyle) -> Writer:
    """What writes an argument into a header."""
    if style == "json-text":
        return lambda name, value: checked_header(name, _ascii(json_of(name, value)))
    shape = _SHAPES.get(style)
    if shape is None:
        return header_value
    return lambda name, value: checked_header(name, _joined(name, value, shape, str))


def cookies_of(key: str, name: str, value: Any, style: PlacedStyle) -> list[str]:
    """`key=value` for each cookie that an argument is. Raises ExecutionFailed."""
    if style == "cookie":
        text = text_of(name, value)
        if _NO_COOKIE.search(text):
            raise refused(name, "has blanks, commas, semicolons or other characters that no cookie can hold")
        return [f"{key}={text}"]
    return list(pairs_of(key, name, value, style, _quote_cookie))


def is_cookie_value(text: str) -> bool:
    """True for what a cookie can hold as it is."""
    return not _NO_COOKIE.search(text)


def _segment(name: str, key: str, value: Any, shape: _Shape, quoted: Quote) -> str:
    if value is None or value in ("", [], {}):
        raise refused(name, "must not be empty: it is part of the path")
    if not shape.is_named:
        return shape.before + _joined(name, value, shape, quoted)
    if shape.is_exploded and isinstance(value, dict):
        return shape.before + _joined(name, value, shape, quoted)
    if shape.is_exploded and isinstance(value, list):
        return "".join(f"{shape.before}{key}={_text(name, item, quoted)}" for item in value)
    return f"{shape.before}{key}={_joined(name, value, shape, quoted)}"


def _joined(name: str, value: Any, shape: _Shape, quoted: Quote) -> str:
    if isinstance(value, list):
        return shape.between.join(_text(name, item, quoted) for item in value)
    if isinstance(value, dict):
        pairs = [
            f"{_text(name, key, quoted)}{shape.equals}{_text(name, member, quoted)}"
            for key, member in value.items()
            if member is not None
        ]
        return shape.between.join(pairs)
    return _text(name, value, quoted)


def _text(name: str, value: Any, quoted: Quote) -> str:
    return encoded(name, text_of(name, value), quoted)


def _quote_path(text: str) -> str:
    """With slashes: whoever joins a path looks at what stands between them."""
    return _quote(text, safe=_PATH_RESERVED)


def _quote_cookie(text: str) -> str:
    """Whatever a cookie cannot hold, percent-encoded."""
    return _quote(text, safe=_COOKIE_SAFE)


def _ascii(text: str) -> str:
    """JSON text whose letters a header can hold."""
    return "".join(letter if letter < "\x7f" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
