"""A writer of payloads that lets no secret through."""

from __future__ import annotations

from ferrule.contracts.payloads import Kept, PayloadWriter
from ferrule.contracts.redactor import RedactingStream

PIECE = 16 * 1024
"""What comes in crumbs is looked through in pieces of so many bytes: each look has its price."""


class RedactingWriter:
    """A writer that takes secrets out of what it passes on."""

    def __init__(self, writer: PayloadWriter, stream: RedactingStream) -> None:
        self._writer = writer
        self._stream = stream
        self._held = bytearray()
        self.size = 0

    @property
    def found(self) -> tuple[str, ...]:
        """What was taken out, by name."""
        return self._stream.found

    def write(self, chunk: bytes) -> None:
        """Add bytes. Raises OSError."""
        self._held += chunk
        self.size += len(chunk)
        if len(self._held) >= PIECE:
            self._writer.write(self._stream.feed(bytes(self._held)))
            self._held.clear()

    def close(self) -> Kept:
        """Make it readable. Raises OSError."""
        self._writer.write(self._stream.feed(bytes(self._held)) + self._stream.finish())
        self._held.clear()
        return self._writer.close()

    def discard(self) -> None:
        """Give it up."""
        self._writer.discard()
