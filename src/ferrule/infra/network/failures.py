"""What can go wrong with a request, by what it means for whoever sent it. Messages name hosts, never what was sent."""

from __future__ import annotations


class Unreachable(OSError):
    """Nobody answers, or it is not who it should be. Nothing came back."""

    def __init__(self, message: str, *, is_sent: bool = False) -> None:
        super().__init__(message)
        self.is_sent = is_sent
        """True when the request may have arrived, and may have been acted upon. False: certainly nothing happened."""


class BrokenAnswer(Exception):
    """What came back is no HTTP, cannot be unpacked, or ended too early."""


class TooLong(Exception):
    """An answer over its limit; the rest was not read."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is longer than {limit} bytes")
        self.limit = limit


class BadRequest(ValueError):
    """A request that cannot be written down as HTTP."""
