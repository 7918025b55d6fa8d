"""JSON values and paths into them, and the nesting depth of JSON text. Knows nothing of files or rules.

Code that reads JSON of others checks the depth, which is computed from the text alone, without decoding it. Decoders
end with a RecursionError at a depth that differs between interpreters, so no limit of ours rests on it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final, TypeAlias, TypeGuard

import msgspec

JsonValue: TypeAlias = "bool | int | float | str | list[Any] | dict[str, Any] | None"
"""Any value a definition can hold. Members of containers are typed loosely so rules can narrow them with `isinstance`."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object: its members are `JsonValue`, typed loosely for the same reason."""

Path: TypeAlias = tuple[str | int, ...]
"""Where a value sits: mapping keys as text, list positions as numbers, from the root of a document."""


class Missing:
    """The type of `MISSING`: nothing is written there (which is not the same as a written null)."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def format_path(path: Path) -> str:
    """Formats a path as people write it: `spec.tools[0].id`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def dig(value: object, path: Path) -> JsonValue | Missing:
    """Returns the value at a path, or MISSING when some step of it is not there."""
    for step in path:
        if isinstance(value, dict):
            if step not in value:
                return MISSING
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value  # type: ignore[return-value]  # documents hold JSON values only


def is_integer(value: object) -> TypeGuard[int]:
    """Returns True for a whole number; `true` is not one although Python counts it as such."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Returns True for any number; booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_blank(value: object) -> bool:
    """Returns True for null, or a string with nothing in it: written, yet without content."""
    return value is None or (isinstance(value, str) and not value.strip())


def type_name(value: object) -> str:
    """Returns the JSON word for a value's type, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case _:
            return "mapping"


_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS = [0] * 256
_STEPS[ord("[")], _STEPS[ord("]")] = 1, -1
# A block of this size is skipped when even its opening brackets alone cannot reach the depth.
_STRIDE = 64


def is_deeper(text: bytes, depth: int) -> bool:
    """Returns True for JSON that is nested deeper. Brackets in strings do not count."""
    if text.count(b"{") + text.count(b"[") <= depth:
        return False
    plain = (
        text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
    )  # now every quote is the end of a string
    brackets = b"".join(plain.split(b'"')[::2]).translate(_AS_ARRAYS, _NOT_BRACKETS)
    at = 0
    for start in range(0, len(brackets), _STRIDE):
        some = brackets[start : start + _STRIDE]
        opened = some.count(b"[")
        if at + opened > depth and at + max(accumulate(map(_STEPS.__getitem__, some))) > depth:
            return True
        at += 2 * opened - len(some)
    return False


def json_or_text(text: bytes) -> Any:
    """Decodes JSON; returns the text itself when it is none, or is nested without end."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", errors="replace")
