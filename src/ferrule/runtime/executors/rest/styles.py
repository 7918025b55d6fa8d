"""Lists and objects in a path, a header or a cookie, in the styles that OpenAPI took from RFC 6570. Chosen once per tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote as _quote

from ferrule.runtime.executors.rest.settings import PlacedStyle
from ferrule.runtime.executors.rest.values import (
    Quote,
    checked_header,
    encoded,
    header_value,
    json_of,
    pairs_of,
    quote,
    refused,
    segment_of,
    text_of,
)

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
