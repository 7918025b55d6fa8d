"""What a program wrote, in bounded memory: all of it while it is little, then its beginning and its end.

The whole of what is too much goes where payloads are kept, if there is such a place, while the program still runs.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.payloads import PayloadWriter, StoredPayload

_CONTINUED = range(0x80, 0xC0)
"""Bytes in the middle of a character of UTF-8."""


class Capture:
    """The output of one program."""

    def __init__(self, most: int, keep: Callable[[], PayloadWriter] | None = None) -> None:
        """`most`: bytes held in memory, about. `keep`: opens the place for what is more."""
        self.total = 0
        self.writer: PayloadWriter | None = None
        self._half = max(most // 2, 4)
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._newlines = 0
        self._last = b"\n"

    @property
    def line_count(self) -> int:
        """Lines so far, an unfinished one included."""
        return self._newlines + (self._last != b"\n")

    @property
    def is_whole(self) -> bool:
        """True while nothing was left out."""
        return self.total <= 2 * self._half

    def feed(self, chunk: bytes) -> None:
        """Take what was written."""
        if not chunk:
            return
        was_whole = self.is_whole
        self.total += len(chunk)
        self._newlines += chunk.count(b"\n")
        self._last = chunk[-1:]
        if not self.is_whole:
            if was_whole:
                self._overflow()
            self._write(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: len(self._tail) - self._half]

    def text(self) -> str:
        """What was held, as text; bytes that are no UTF-8 are shown as such."""
        if self.is_whole:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[-self._half :]
        while tail and tail[0] in _CONTINUED and len(tail) > self._half - 3:
            del tail[0]
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        left_out = self.total - len(self._head) - len(tail)
        return f"{head}\n[… {left_out} bytes left out …]\n{tail.decode('utf-8', 'replace')}"

    def close(self) -> StoredPayload | None:
        """Make the kept whole readable. None when there is none: nothing was left out, or it could not be kept."""
        writer, self.writer = self.writer, None
        if writer is None:
            return None
        try:
            return writer.close()
        except OSError:
            writer.discard()
            return None

    def discard(self) -> None:
        """Keep nothing."""
        if self.writer is not None:
            self.writer.discard()
            self.writer = None

    def _overflow(self) -> None:
        if self._keep is not None:
            try:
                self.writer = self._keep()
            except (OSError, ExecutionFailed):  # no room, or no such place: the ends are still told
                self._keep = None
        self._write(bytes(self._head + self._tail))

    def _write(self, chunk: bytes) -> None:
        if self.writer is None:
            return
        try:
            self.writer.write(chunk)
        except OSError:
            self.discard()


class Lines:
    """What a program writes, handed on while it runs: whole lines, so that nothing that must not be told comes in two halves,
    and so much of it and no more."""

    def __init__(self, hear: Callable[[str], None], most: int = 64 * 1024) -> None:
        self._hear = hear
        self._left = most
        self._held = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take what was written."""
        if self._left > 0 and len(self._held) <= self._left:
            self._held += chunk

    def tell(self, *, is_last: bool = False) -> None:
        """Hand on the lines that are whole; at the end also one that is not."""
        end = len(self._held) if is_last else self._held.rfind(b"\n") + 1
        if not end or self._left <= 0:
            return
        piece, self._held = bytes(self._held[:end]), self._held[end:]
        self._left -= len(piece)
        if self._left < 0:
            piece = piece[: piece.rfind(b"\n", 0, len(piece) + self._left) + 1] + b"[more is in the result]\n"
        self._hear(piece.decode("utf-8", "replace"))
