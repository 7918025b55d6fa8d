"""Detects hostile JSON: nested without end, numbers past 64 bits, one name twice in an object.

The limits are those of the definitions' reader, so that every later step may walk a value safely. Results and the
servers use it too; it knows neither schemas nor tools.
"""

from __future__ import annotations

import json

import msgspec

MAX_DEPTH = 100
MAX_BYTES = 1_000_000
"""The default limit for the length of arguments."""
TINY = 20
"""Shorter texts can hold no number past 64 bits and no dangerous nesting."""
_NESTING = (dict, list)
_SHALLOW = 2 * MAX_DEPTH
"""Shorter texts cannot be nested too deeply."""

_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode  # refuses what the ledger could not hold


def is_tame(raw: bytes, value: object) -> bool:
    """Returns True when a decoded text is certainly harmless; False when it needs a closer look.

    The decoder keeps the last of two members with one name. A text has at least as many colons as members, and one
    without escapes has exactly as many as its value encoded again: fewer in the value means that a member was lost.
    """
    size = len(raw)
    colons = raw.count(b":")
    if size > _SHALLOW and raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        return False
    try:
        if size >= TINY:
            _pack(value)
        return (type(value) is dict and colons == len(value)) or _has_all_members(raw, value)
    except (OverflowError, RecursionError):
        return False


def why_hostile(raw: bytes | str, value: object) -> str | None:
    """Explains to the sender why a decoded text is refused; None when it is harmless after all."""
    if is_deep(value):
        return f"they are nested more than {MAX_DEPTH} levels deep; send less nested ones"
    try:
        _pack(value)
    except OverflowError:
        return "they hold a whole number past 64 bits; send it as text, if the schema allows that, or a smaller one"
    name = None if _has_all_members(raw, value) else find_repeated_name(raw)
    return None if name is None else f"they give the name {name[:60]!r} twice in one object; give it once"


def _has_all_members(raw: bytes | str, value: object) -> bool:
    """Returns True when a text certainly repeats no name; False when it has to be read again."""
    text = raw if isinstance(raw, bytes) else raw.encode()
    return text.find(b"\\") < 0 and text.count(b":") == _encode(value).count(b":")


def is_deep(value: object) -> bool:
    """Returns True when a value is nested more than MAX_DEPTH levels deep."""
    level = [value] if isinstance(value, _NESTING) else []
    for _ in range(MAX_DEPTH):
        level = [
            member
            for item in level
            for member in (item.values() if isinstance(item, dict) else item)
            if isinstance(member, _NESTING)
        ]
        if not level:
            return False
    return any(level)


def has_more_values(value: object, most: int) -> bool:
    """Returns True when a value holds more than `most` values."""
    left, open_ones = most, [value]
    while open_ones:
        one = open_ones.pop()
        members = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left -= len(members)
        if left < 0:
            return True
        open_ones += [member for member in members if isinstance(member, _NESTING)]
    return False


class _RepeatedError(Exception):
    """Ends the reading at the first repeated name."""


def find_repeated_name(raw: bytes | str) -> str | None:
    """Returns a name that some object of a JSON text repeats; None without one."""
    try:
        json.loads(raw, object_pairs_hook=_refuse_repeated)
    except _RepeatedError as repeated:
        return str(repeated)
    except (ValueError, RecursionError):  # msgspec accepted the text, so no name is to blame
        return None
    return None


def _refuse_repeated(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _RepeatedError(name)
        seen.add(name)
