"""Writes keys and values as TOML, on one line. Reading is the standard library's, which writes none."""

from __future__ import annotations

import json
import re

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key(name: str) -> str:
    """Returns a key as TOML writes it."""
    return name if _BARE.fullmatch(name) else _text(name)


def value(member: object) -> str:
    """Returns a text, number, list or mapping as TOML writes it; of anything else its text."""
    match member:
        case dict():
            return "{ " + ", ".join(f"{key(name)} = {value(inner)}" for name, inner in member.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(value, member)) + "]"
        case bool() | int() | float():
            return json.dumps(member)
        case _:
            return _text(str(member))


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL and half a character, which TOML cannot hold at all.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
