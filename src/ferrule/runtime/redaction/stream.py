"""A redacting filter for streams of bytes, and a payload writer that redacts.

However the bytes are cut into chunks, the output is the same. Bytes are held back only while they may be the
beginning of a match, and never more of them than a match can be long. It does not know where payloads are stored.
"""

from __future__ import annotations

from ferrule.contracts.payloads import PayloadWriter, StoredPayload
from ferrule.contracts.redactor import RedactingStream
from ferrule.runtime.redaction.matcher import REACH, SecretSpan
from ferrule.runtime.redaction.patterns import BODY
from ferrule.runtime.redaction.search import MARK, Search, iter_byte_spans

_CONTEXT = 256
"""The passed bytes that are kept, since a match depends on the bytes before it."""


class RedactionStream:
    """A filter for one stream of bytes. Not for several threads at once."""

    __slots__ = ("_covered", "_data", "_done", "_looked", "_runs_on", "_search", "found")

    def __init__(self, search: Search) -> None:
        self.found: tuple[str, ...] = ()
        """What was taken out so far, by name."""
        self._search = search
        self._data = b""
        self._done = 0
        """So many bytes of the data have been let through."""
        self._covered = -1
        """Up to here a mark has been let through already."""
        self._looked = [0] * len(search.patterns)
        """Where each pattern goes on."""
        self._runs_on = False

    def feed(self, chunk: bytes) -> bytes:
        """Returns the bytes that can be passed on by now."""
        return self._pass_through(bytes(chunk), is_end=False)

    def finish(self) -> bytes:
        """Returns the remaining bytes."""
        return self._pass_through(b"", is_end=True)

    def _pass_through(self, chunk: bytes, *, is_end: bool) -> bytes:
        if self._runs_on:  # the rest of a token longer than MAX_SHAPE_BYTES, whose beginning was replaced already
            body = BODY.match(chunk)
            assert body is not None
            self._runs_on = body.end() == len(chunk)
            chunk = chunk[body.end() :]
        data = self._data = self._data + chunk
        spans = self._search.find_spans(data)
        stop = len(data) if is_end else self._find_settled_end(data, spans)
        spans += self._find_pattern_spans(data, stop)
        settled = sorted(span for span in spans if span.start < stop and span.end > self._done)
        passed = self._replace_spans(settled, stop)
        self._runs_on = not is_end and any(
            span.end == len(data) and span.name.startswith("pattern:") for span in settled
        )
        self._drop_passed(stop)
        return passed

    def _find_settled_end(self, data: bytes, spans: list[SecretSpan]) -> int:
        """Returns the position up to which later bytes cannot change the matches."""
        stop = self._search.find_open_end(data, self._done)
        last = len(data) - REACH
        # A match close to the end may still grow with the next bytes, so it is held back as a whole.
        stop = min([stop, *(span.start for span in spans if span.end > last and span.start >= self._done)])
        for _ in range(3):  # not in the middle of a character
            if 0 < stop < len(data) and data[stop] & 0xC0 == 0x80:
                stop -= 1
        return max(stop, self._done)

    def _find_pattern_spans(self, data: bytes, stop: int) -> list[SecretSpan]:
        if not self._search.patterns:
            return []
        # Positions are converted back, so bytes that are no UTF-8 must survive.
        text = data.decode("utf-8", "surrogateescape")
        found: list[SecretSpan] = []
        for number, pattern in enumerate(self._search.patterns):
            begin = self._looked[number]
            skipped = begin if text.isascii() else len(data[:begin].decode("utf-8", "surrogateescape"))
            for span in iter_byte_spans(text, pattern.find_matches(text, skipped), pattern.name, "surrogateescape"):
                if span.start >= stop:
                    break
                found.append(span)
                begin = span.end
            self._looked[number] = max(begin, stop)
        return found

    def _replace_spans(self, spans: list[SecretSpan], stop: int) -> bytes:
        data, covered = self._data, self._covered
        at = max(self._done, covered)
        pieces: list[bytes] = []
        for start, end, name in spans:
            start = max(start, self._done)
            if start > covered:
                pieces += (data[at:start], MARK)
            covered = max(covered, end)
            at = max(at, covered)
            if name not in self.found:
                self.found += (name,)
        pieces.append(data[at:stop])
        self._covered = covered
        return b"".join(pieces)

    def _drop_passed(self, stop: int) -> None:
        gone = max(0, stop - _CONTEXT)
        for _ in range(3):
            if gone > 0 and self._data[gone : gone + 1] and self._data[gone] & 0xC0 == 0x80:
                gone -= 1
        self._data = self._data[gone:]
        self._done = stop - gone
        self._covered = max(self._covered - gone, -1)
        self._looked = [max(0, at - gone) for at in self._looked]


PIECE = 16 * 1024
"""Small chunks are collected to this size before a scan, which has a fixed cost."""


class RedactingWriter:
    """A payload writer that redacts the bytes it passes on."""

    def __init__(self, writer: PayloadWriter, stream: RedactingStream) -> None:
        self._writer = writer
        self._stream = stream
        self._held = bytearray()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Adds bytes. Raises OSError."""
        self._held += chunk
        self.size += len(chunk)
        if len(self._held) >= PIECE:
            self._writer.write(self._stream.feed(bytes(self._held)))
            self._held.clear()

    def close(self) -> StoredPayload:
        """Writes the rest and completes the payload. Raises OSError."""
        self._writer.write(self._stream.feed(bytes(self._held)) + self._stream.finish())
        self._held.clear()
        return self._writer.close()

    def discard(self) -> None:
        """Discards the payload."""
        self._writer.discard()
