"""What stands behind the bytes in a payload's file: a line of JSON that says what they are, its own digest and its length.

Behind, because size and digest are known only when the last byte is written; and in the same file, so that one rename makes
both visible.
"""

from __future__ import annotations

import hashlib
import os

import msgspec

from ferrule.contracts.payloads import Kept

_MAGIC = b"FERRPAY1"
_FIXED = 32 + 4 + len(_MAGIC)
_LONGEST = 64 * 1024
_decode = msgspec.json.Decoder(Kept).decode


def trailer(kept: Kept) -> bytes:
    """What to write behind the bytes."""
    said = b"\n" + msgspec.json.encode(kept)
    return said + hashlib.sha256(said).digest() + len(said).to_bytes(4, "big") + _MAGIC


def kept_in(fd: int) -> Kept:
    """What a payload's file says it holds. Raises ValueError when it is not whole, or not one."""
    size = os.fstat(fd).st_size
    fixed = os.pread(fd, _FIXED, max(0, size - _FIXED))
    if len(fixed) != _FIXED or not fixed.endswith(_MAGIC):
        raise ValueError("the file does not end as payloads do")
    length = int.from_bytes(fixed[32:36], "big")
    begin = size - _FIXED - length
    if length > _LONGEST or begin < 0:
        raise ValueError("the file is not as long as it says")
    said = os.pread(fd, length, begin)
    if hashlib.sha256(said).digest() != fixed[:32]:
        raise ValueError("what the file says of itself was changed")
    kept = _decode(said)  # a ValidationError is a ValueError
    if kept.size != begin:
        raise ValueError("the file does not have the size it says")
    return kept
