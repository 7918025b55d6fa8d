"""Unpacks bodies as they come, a bounded piece at a time, so that a small body cannot become a large one in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from ferrule.infra.network.failures import BrokenAnswer, TooLong

_PIECE = 64 * 1024
_HARMLESS = 16 * 1024**2
"""Up to here nobody asks how well it was packed."""
_MOST_TIMES = 200
_MOST_MEMBERS = 1000
_GZIP, _ZLIB, _RAW = 31, 15, -15


def decoder_of(coding: str) -> Decoder | None:
    """What unpacks a body with this `Content-Encoding`; None when it is not packed. Raises BrokenAnswer."""
    codings = [name for part in coding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return None
    if codings in (["gzip"], ["x-gzip"]):
        return Decoder(is_gzip=True)
    if codings == ["deflate"]:
        return Decoder(is_gzip=False)
    raise BrokenAnswer("the answer is packed in a way nobody asked for")


class Decoder:
    """Unpacks one body: gzip with all its members, or deflate with or without its wrapping."""

    __slots__ = ("_first", "_inflate", "_is_gzip", "_members", "given", "taken")

    def __init__(self, *, is_gzip: bool) -> None:
        self.taken = 0
        """Bytes that came in."""
        self.given = 0
        """Bytes that went out."""
        self._is_gzip = is_gzip
        self._inflate: zlib._Decompress | None = None
        self._first = b""
        self._members = 0

    def unpack(self, packed: bytes) -> Iterator[bytes]:
        """What a piece holds, in pieces of bounded size. Raises BrokenAnswer, and TooLong for a bomb."""
        self.taken += len(packed)
        data = self._first + packed
        self._first = b""
        while data:
            if self._inflate is None:
                if self._members:
                    data = data.lstrip(b"\0")  # padding between and after members
                if len(data) < 2:
                    self._first = data
                    return
                self._begin(data)
            yield from self._member(data)
            assert self._inflate is not None
            if not self._inflate.eof:
                return
            data, self._inflate = self._inflate.unused_data, None

    def end(self) -> None:
        """Nothing more comes. Raises BrokenAnswer if something is missing."""
        if self._inflate is not None or self._first:
            raise BrokenAnswer("the packed answer ended too early")

    def _begin(self, data: bytes) -> None:
        self._members += 1
        if self._members > (_MOST_MEMBERS if self._is_gzip else 1):
            raise BrokenAnswer("the answer is packed in too many parts")
        if self._is_gzip:
            bits = _GZIP
        else:  # deflate without its wrapping is wrong, and common
            bits = _ZLIB if data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0 else _RAW
        self._inflate = zlib.decompressobj(bits)

    def _member(self, data: bytes) -> Iterator[bytes]:
        inflate = self._inflate
        assert inflate is not None
        while True:
            try:
                piece = inflate.decompress(data, _PIECE)
            except zlib.error:
                raise BrokenAnswer("the packed answer cannot be unpacked") from None
            data = inflate.unconsumed_tail
            if piece:
                self.given += len(piece)
                if self.given > _HARMLESS and self.given > _MOST_TIMES * (self.taken - len(data)):
                    raise TooLong(_HARMLESS)
                yield piece
            # A full piece may leave more inside although everything was taken in.
            if inflate.eof or (not data and len(piece) < _PIECE):
                return
