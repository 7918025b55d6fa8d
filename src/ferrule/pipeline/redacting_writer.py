"""A writer of payloads that lets no secret through."""

from __future__ import annotations

from ferrule.contracts.payloads import Kept, PayloadWriter
from ferrule.contracts.redactor import RedactingStream


class RedactingWriter:
    """A writer that takes secrets out of what it passes on."""

    def __init__(self, writer: PayloadWriter, stream: RedactingStream) -> None:
        self._writer = writer
        self._stream = stream
        self.size = 0

    @property
    def found(self) -> tuple[str, ...]:
        """What was taken out, by name."""
        return self._stream.found

    def write(self, chunk: bytes) -> None:
        """Add bytes. Raises OSError."""
        self._writer.write(self._stream.feed(bytes(chunk)))
        self.size += len(chunk)

    def close(self) -> Kept:
        """Make it readable. Raises OSError."""
        self._writer.write(self._stream.finish())
        return self._writer.close()

    def discard(self) -> None:
        """Give it up."""
        self._writer.discard()
