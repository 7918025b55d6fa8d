"""The output of a program in bounded memory: all of it while it is short, then its beginning and its end.

Longer output also goes to the payload store, if there is one, while the program still runs.
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
        """`most`: bytes held in memory, about. `keep`: opens the store for longer output."""
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
        """Adds output."""
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
        # Cut only when twice too long: each cut copies the tail.
        if len(self._tail) > 2 * self._half:
            del self._tail[: len(self._tail) - self._half]

    def text(self) -> str:
        """Returns the kept output as text; bytes that are no UTF-8 are escaped."""
        if self.is_whole:
            return (self._head + self._tail).decode("utf-8", "replace")
        # The cut may fall inside a character; its rest is dropped.
        tail = self._tail[-self._half :]
        while tail and tail[0] in _CONTINUED and len(tail) > self._half - 3:
            del tail[0]
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        left_out = self.total - len(self._head) - len(tail)
        return f"{head}\n[… {left_out} bytes left out …]\n{tail.decode('utf-8', 'replace')}"

    def close(self) -> StoredPayload | None:
        """Completes the stored output. None when there is none: nothing was left out, or it could not be stored."""
        writer, self.writer = self.writer, None
        if writer is None:
            return None
        try:
            return writer.close()
        except OSError:
            writer.discard()
            return None

    def discard(self) -> None:
        """Discards the stored output."""
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


class OutputLines:
    """Streams a program's output while it runs: in whole lines, so that a secret never comes in two halves, and only so
    much of it."""

    def __init__(self, hear: Callable[[str], None], most: int = 64 * 1024) -> None:
        self._hear = hear
        self._left = most
        self._held = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Adds output."""
        # What could never be passed on is not held either, however long a line is.
        if self._left > 0 and len(self._held) <= self._left:
            self._held += chunk

    def tell(self, *, is_last: bool = False) -> None:
        """Passes on whole lines; at the end also an unfinished one."""
        end = len(self._held) if is_last else self._held.rfind(b"\n") + 1
        if not end or self._left <= 0:
            return
        piece, self._held = bytes(self._held[:end]), self._held[end:]
        self._left -= len(piece)
        if self._left < 0:
            piece = piece[: piece.rfind(b"\n", 0, len(piece) + self._left) + 1] + b"[more is in the result]\n"
        self._hear(piece.decode("utf-8", "replace"))
