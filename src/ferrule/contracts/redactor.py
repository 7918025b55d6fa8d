"""The contract of the redactor, which takes secrets out of texts, values and streams. It reports what it took by name,
never by value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class RedactingStream(Protocol):
    """A filter over a stream of bytes; a secret split across chunks is found too."""

    found: tuple[str, ...]
    """Names of what was taken out so far."""

    def feed(self, chunk: bytes) -> bytes:
        """Returns the bytes that can be passed on by now."""

    def finish(self) -> bytes:
        """Returns the remaining bytes."""


class Redactor(Protocol):
    """The known secrets and patterns. `also` are values that are secret for one call only."""

    is_idle: bool
    """True when it knows no secret and no pattern: without `also`, nothing need be looked at."""

    def add(self, name: str, value: str) -> None:
        """Adds a secret and the name it is reported under. Safe from any thread; adding one again costs nothing."""

    def text(self, text: str, also: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Redacts a text; returns it and the names of what was taken out."""

    def value(self, value: Any, also: Iterable[str] = ()) -> tuple[Any, tuple[str, ...]]:
        """Redacts a JSON value, keys included; returns it and the names of what was taken out. The input value stays
        as it is."""

    def may_hold(self, data: bytes) -> bool:
        """Returns False when bytes that hold texts as they are (JSON without escapes, MessagePack) have nothing to
        redact. Quick."""

    def stream(self, also: Iterable[str] = ()) -> RedactingStream:
        """Opens a filter for bytes."""
