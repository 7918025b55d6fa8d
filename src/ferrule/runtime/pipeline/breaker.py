"""Circuit breaker: after so many failures in a row a system is not called for a while, then one call tries it.

Keyed by tool, or by the name of the system behind it. Only failing keys cost memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from ferrule.model.failure import ErrorClass, Stop
from ferrule.model.retry import RetrySettings

COUNTED: frozenset[ErrorClass] = frozenset({"dependency_unavailable", "timeout", "rate_limited"})
"""Error classes that count as failures of the system; other errors prove that it answers."""
SILENT: frozenset[ErrorClass] = frozenset({"canceled", "sibling_canceled", "streaming_fallback_discarded"})
"""Error classes that say nothing about the system."""
CIRCUIT_OPEN = "circuit_open"
MOST_KEYS = 10_000
LONGEST_FACTOR = 10
"""The cap on a requested pause, as a multiple of the usual one."""

BreakerState = Literal["closed", "open", "half_open"]


class Breaker:
    """The state of one failing key."""

    __slots__ = ("failures", "probe", "until")

    def __init__(self) -> None:
        self.failures = 0
        self.until: float | None = None
        """The end of the pause; None while closed."""
        self.probe = 0
        """The ticket of the call that tries the system; 0 without one."""


class Breakers:
    """The circuit breakers of a process. `clock` returns seconds and never goes back."""

    __slots__ = ("_clock", "_seconds", "_threshold", "_tickets", "failing")

    def __init__(self, settings: RetrySettings, clock: Callable[[], float]) -> None:
        self._threshold = settings.breaker_failures
        self._seconds = settings.breaker_seconds
        self._clock = clock
        self.failing: OrderedDict[str, Breaker] = OrderedDict()
        """The breakers of failing keys. While it is empty, nothing needs to be asked or recorded."""
        self._tickets = 0

    def __len__(self) -> int:
        return len(self.failing)

    def state(self, key: str) -> BreakerState:
        """Returns the state of a key's breaker."""
        breaker = self.failing.get(key)
        if breaker is None or breaker.until is None:
            return "closed"
        return "half_open" if breaker.probe or self._clock() >= breaker.until else "open"

    def admit(self, key: str) -> Stop | int:
        """Returns a ticket for `record_outcome`, or the refusal while the circuit is open."""
        breaker = self.failing.get(key)
        if breaker is None or breaker.until is None:
            return 0
        now = self._clock()
        if now < breaker.until:
            return self._refuse(key, breaker, breaker.until - now)
        # A probe that never ends must not block the key forever: after another pause the next call may try.
        breaker.until = now + self._seconds
        self._tickets += 1
        breaker.probe = self._tickets
        return self._tickets

    def record_outcome(
        self, key: str, error_class: ErrorClass | None, ticket: int = 0, *, retry_after: float | None = None
    ) -> None:
        """Records how an admitted attempt ended; None for a success."""
        breaker = self.failing.get(key)
        if breaker is not None and breaker.until is not None:
            if ticket and ticket == breaker.probe:
                self._judge(key, breaker, error_class, retry_after)
            return  # began before the circuit opened, so it says nothing new
        if error_class in SILENT or not self._threshold:
            return
        if error_class not in COUNTED:
            if breaker is not None:
                del self.failing[key]
            return
        if breaker is None:
            breaker = self.failing[key] = Breaker()
            if len(self.failing) > MOST_KEYS:
                self.failing.popitem(last=False)
        breaker.failures += 1
        if breaker.failures >= self._threshold:
            self._open(breaker, retry_after)

    def _judge(self, key: str, breaker: Breaker, error_class: ErrorClass | None, retry_after: float | None) -> None:
        breaker.probe = 0
        if error_class in SILENT:
            breaker.until = self._clock()  # inconclusive: the next call tries
        elif error_class in COUNTED:
            breaker.failures += 1
            self._open(breaker, retry_after)
        else:
            del self.failing[key]

    def _open(self, breaker: Breaker, retry_after: float | None) -> None:
        asked = retry_after if retry_after is not None and retry_after > self._seconds else self._seconds
        breaker.until = self._clock() + min(asked, self._seconds * LONGEST_FACTOR)

    def _refuse(self, key: str, breaker: Breaker, left: float) -> Stop:
        seconds = min(left, 1.0) if breaker.probe else left
        what = "one call is trying it now" if breaker.probe else f"it is not called for {left:.0f} s more"
        return Stop(
            "dependency_unavailable",
            f"{key!r} failed {breaker.failures} times in a row, and {what}; call it again later",
            CIRCUIT_OPEN,
            retry_after=round(max(seconds, 0.001), 3),
        )
