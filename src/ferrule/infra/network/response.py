"""The answer as its reader sees it, while its connection brings it.

Decompresses bodies as they come, a bounded piece at a time, so that a small body cannot become a large one in memory.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from typing import Self

from ferrule.infra.network.request import BrokenAnswer, TooLong

_PIECE = 64 * 1024
_HARMLESS = 16 * 1024**2
"""Up to here the compression ratio is not checked."""
_MOST_TIMES = 200
_MOST_MEMBERS = 1000
_GZIP, _ZLIB, _RAW = 31, 15, -15


def find_decoder(coding: str) -> Decoder | None:
    """Returns the decoder for a `Content-Encoding`; None for no encoding. Raises BrokenAnswer for an unknown one."""
    codings = [name for part in coding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return None
    if codings in (["gzip"], ["x-gzip"]):
        return Decoder(is_gzip=True)
    if codings == ["deflate"]:
        return Decoder(is_gzip=False)
    raise BrokenAnswer("the answer has a content coding that was not requested")


class Decoder:
    """Decompresses one body: gzip with all its members, or deflate with or without its wrapper."""

    __slots__ = ("_first", "_inflate", "_is_gzip", "_members", "given", "taken")

    def __init__(self, *, is_gzip: bool) -> None:
        self.taken = 0
        """Compressed bytes so far."""
        self.given = 0
        """Decompressed bytes so far."""
        self._is_gzip = is_gzip
        self._inflate: zlib._Decompress | None = None
        self._first = b""
        self._members = 0

    def unpack(self, packed: bytes) -> Iterator[bytes]:
        """Yields the contents of a piece, in pieces of bounded size. Raises BrokenAnswer, and TooLong for a bomb."""
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
        """Ends the body. Raises BrokenAnswer if something is missing."""
        if self._inflate is not None or self._first:
            raise BrokenAnswer("the compressed answer ended too early")

    def _begin(self, data: bytes) -> None:
        self._members += 1
        if self._members > (_MOST_MEMBERS if self._is_gzip else 1):
            raise BrokenAnswer("the answer is compressed in too many parts")
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
                raise BrokenAnswer("the compressed answer cannot be decompressed") from None
            data = inflate.unconsumed_tail
            if piece:
                self.given += len(piece)
                # What is not unpacked yet does not count as taken: else a bomb would look smaller than it is.
                if self.given > _HARMLESS and self.given > _MOST_TIMES * (self.taken - len(data)):
                    raise TooLong(_HARMLESS)
                yield piece
            # A full piece may leave more inside although everything was taken in.
            if inflate.eof or (not data and len(piece) < _PIECE):
                return


class IncomingBody:
    """A body on its way: the pieces so far, and whether that is all. The connection that brings it derives from this."""

    __slots__ = ("_broken", "_buffered", "_head", "_pieces", "_waiter", "is_complete")

    def __init__(self) -> None:
        self.is_complete = False
        self._head: asyncio.Future[Response] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._pieces: deque[bytes] = deque()
        self._buffered = 0
        self._broken: Exception | None = None

    def take_pieces(self) -> bytes:
        """Returns all pieces so far, joined."""
        pieces = self._pieces
        body = pieces.popleft() if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        size, self._buffered = self._buffered, 0
        self._on_read(size)
        return body

    async def next_piece(self) -> bytes | None:
        """Returns the next piece; None at the end. Raises BrokenAnswer."""
        while not self._pieces:
            if self._broken is not None:
                raise self._broken
            if self.is_complete:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.take_pieces()

    def finish(self) -> None:
        """Ends reading. Called once."""
        raise NotImplementedError

    def _on_read(self, size: int) -> None:
        """Called when there is room for more."""

    def _give_head(self, status: int, headers: dict[str, str], has_body: bool) -> None:
        """Passes the head to its reader. Raises BrokenAnswer for a body that cannot be decompressed."""
        decoder = None
        if has_body and "content-encoding" in headers:
            decoder = find_decoder(headers["content-encoding"])
            if decoder is not None:  # the headers tell about what is read
                del headers["content-encoding"]
                headers.pop("content-length", None)
        head, self._head = self._head, None
        if head is not None and not head.done():
            head.set_result(Response(self, status, headers, decoder))

    def _complete(self) -> None:
        self.is_complete = True
        self._wake()

    def _break(self, error: Exception) -> None:
        if self._broken is None:
            self._broken = error
        head, self._head = self._head, None
        if head is not None and not head.done():
            head.set_exception(error)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Response:
    """The head of an answer. Its body is read once, whole or in pieces, and must be read to the end or closed."""

    __slots__ = ("_arrival", "_decoder", "headers", "status")

    def __init__(
        self, arrival: IncomingBody, status: int, headers: dict[str, str], decoder: Decoder | None = None
    ) -> None:
        self._arrival: IncomingBody | None = arrival
        self._decoder = decoder
        self.status = status
        self.headers = headers
        """Names in lower case; repeated ones are joined with commas. A body that is decompressed here has no length."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def read(self, max_bytes: int) -> bytes:
        """Returns the whole body, decompressed. Raises TooLong, BrokenAnswer."""
        arrival = self._arrival
        if arrival is not None and arrival.is_complete and self._decoder is None:
            body = arrival.take_pieces()
            self.close()
            if len(body) > max_bytes:
                raise TooLong(max_bytes)
            return body
        pieces = [piece async for piece in self.pieces(max_bytes)]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def pieces(self, max_bytes: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yields the body as it comes, decompressed. Raises BrokenAnswer, TooLong."""
        if self._arrival is None:
            raise RuntimeError("the answer was read or closed before")
        decoder, size = self._decoder, 0
        try:
            # The answer to a HEAD states the length of a body that never comes; such an answer is complete.
            if max_bytes is not None and self._read_length() > max_bytes and not self._arrival.is_complete:
                raise TooLong(max_bytes)
            while (raw := await self._next()) is not None:
                for piece in (raw,) if decoder is None else decoder.unpack(raw):
                    size += len(piece)
                    if max_bytes is not None and size > max_bytes:
                        raise TooLong(max_bytes)
                    yield piece
                # What unpacks to nothing is counted as it came, so that it cannot go on for ever.
                if decoder is not None and max_bytes is not None and decoder.taken > 2 * max_bytes + 64 * 1024:
                    raise TooLong(max_bytes)
            if decoder is not None:
                decoder.end()
        finally:
            self.close()

    def close(self) -> None:
        """Stops reading, and closes the connection unless everything has come. May be called at any time, and twice."""
        # Let go of it first: it may serve somebody else a moment later.
        arrival, self._arrival = self._arrival, None
        if arrival is not None:
            arrival.finish()

    async def _next(self) -> bytes | None:
        if self._arrival is None:
            raise BrokenAnswer("the answer was closed while it was read")
        return await self._arrival.next_piece()

    def _read_length(self) -> int:
        said = self.headers.get("content-length", "")
        return int(said) if said.isdecimal() else 0
