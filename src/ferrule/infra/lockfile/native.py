"""Definitions of tools as a server gave them: their digest, and texts written so that nothing in them stays unseen."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

Native = dict[str, Any]
"""One entry of `tools/list`, as it came."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by their class, and nothing to a reader."""
_SELECTORS = ((0xFE00, 0xFE0F), (0x180B, 0x180F), (0xE0100, 0xE01EF))
"""They change how the letter before looks, if at all; long runs of them hide texts."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")


def is_usable_name(name: object) -> bool:
    """True for a name that can be called and written anywhere."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def digest(definition: Native) -> str:
    """The same for equal definitions, in whatever order their members come."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def is_unseen(character: str) -> bool:
    """True for what a person does not see: zero width, direction marks, tags, control characters, odd blanks."""
    if character in _BLANK or not character.isprintable():
        return True
    code = ord(character)
    return any(first <= code <= last for first, last in _SELECTORS)


def has_unseen(value: Any) -> bool:
    """True when a text in a definition holds such a character; line breaks and tabs are expected."""
    text = json.dumps(value, ensure_ascii=False, indent=None)
    return any(map(is_unseen, text))


def shown(value: Any) -> str:
    """A value as JSON on one line, with everything unseen escaped."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(text: str) -> str:
    """A JSON text in which whatever a person does not see stands as its number. It still is the same JSON."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_number(character) if _is_hidden_in_json(character) else character for character in text)


def _is_hidden_in_json(character: str) -> bool:
    return character != "\n" and is_unseen(character)


def _number(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
