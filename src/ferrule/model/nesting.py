"""How deep JSON is nested, told from its text. Everything that reads JSON of others may ask; nothing is decoded here.

Decoders end with a RecursionError at a depth that differs between interpreters, so no limit of ours rests on it.
"""

from __future__ import annotations

from itertools import accumulate

_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS = [0] * 256
_STEPS[ord("[")], _STEPS[ord("]")] = 1, -1
_STRIDE = 64


def is_deeper(text: bytes, depth: int) -> bool:
    """True for JSON that is nested deeper. What is in strings does not count."""
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
