"""A clock that stands still until a test moves it."""

from __future__ import annotations

from ferrule.infra.clock import Clock
from ferrule.model.timestamps import MICROSECONDS, parse_iso


class FakeClock(Clock):
    """Time by hand. Each look at it passes a microsecond, so that what happened later has a later time."""

    def __init__(self, start: str = "2026-01-31T12:00:00Z") -> None:
        self._wall = parse_iso(start)
        self._tick = 0

    def now(self) -> int:
        """Microseconds since 1970."""
        self._wall += 1
        return self._wall

    def tick(self) -> int:
        """A clock that never goes back, in nanoseconds."""
        self._tick += 1000
        return self._tick

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._wall += round(seconds * MICROSECONDS)
        self._tick += round(seconds * 1_000_000_000)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number, as an administrator might."""
        self._wall += round(seconds * MICROSECONDS)
