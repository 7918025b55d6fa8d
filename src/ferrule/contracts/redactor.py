"""Takes what must not be told out of texts, values and streams. Says what it took by name, never by value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class RedactingStream(Protocol):
    """Bytes on their way through; a secret split across chunks is found too."""

    found: tuple[str, ...]
    """What was taken out so far, by name."""

    def feed(self, chunk: bytes) -> bytes:
        """What can be let through by now."""

    def finish(self) -> bytes:
        """The rest."""


class Redactor(Protocol):
    """What is known to be secret. `also` are values that are secret for one call only."""

    is_idle: bool
    """True when it knows no secret and no pattern: without `also`, nothing need be looked at."""

    def add(self, name: str, value: str) -> None:
        """Learn a secret, by the name it is told under. Safe from any thread; learning one again costs nothing."""

    def text(self, text: str, also: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
        """The text without secrets, and what was taken out of it."""

    def value(self, value: Any, also: Iterable[str] = ()) -> tuple[Any, tuple[str, ...]]:
        """A JSON value without secrets, keys included, and what was taken out. The value given stays as it is."""

    def may_hold(self, data: bytes) -> bool:
        """False when bytes that hold texts as they are (JSON without escapes, MessagePack) have nothing to take out. Quick."""

    def stream(self, also: Iterable[str] = ()) -> RedactingStream:
        """A filter for bytes."""
