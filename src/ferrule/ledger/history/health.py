"""How a system behind tools does, judged by what its latest calls met. Nothing is tried: no calls, no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from ferrule.ledger.history.activity import MINUTE, Reached
from ferrule.ledger.history.histogram import together

Health = Literal["healthy", "slow", "failing", "quiet"]
LATELY = 5 * MINUTE
_FAILING_SHARE = 0.2
_SLOWER = 2.0
_SLOWER_MICROSECONDS = 100_000
"""By so much, and so many times what is usual, before anybody is told."""

Minutes = Sequence[tuple[int, Reached]]


class Verdict(NamedTuple):
    """How a system does."""

    health: Health
    calls: int
    """In the last hour."""
    unreached: int
    p95: float | None
    """Of its latest calls, in microseconds."""
    since: int | None
    """When it began to be slow or to fail: microseconds since 1970."""
    last_at: int | None
    """The last minute with calls."""


def verdict_of(minutes: Minutes, now: int) -> Verdict:
    """How a system does, by its minutes of the last hour that have calls, the oldest first."""
    if not minutes:
        return Verdict("quiet", 0, 0, None, None, None)
    latest = [pair for pair in minutes if pair[0] > now - LATELY - MINUTE] or [minutes[-1]]
    p95 = together(reached.latency for _, reached in latest).percentile(0.95)
    usual = median(reached.latency.percentile(0.95) or 0.0 for _, reached in minutes)
    health: Health = "healthy"
    since = None
    if _fails(latest):
        health, since = "failing", _since(minutes, [_fails([pair]) for pair in minutes])
    elif _is_slow(p95, usual):
        health = "slow"
        since = _since(minutes, [_is_slow(reached.latency.percentile(0.95), usual) for _, reached in minutes])
    return Verdict(
        health,
        sum(reached.calls for _, reached in minutes),
        sum(reached.unreached for _, reached in minutes),
        p95,
        since,
        minutes[-1][0],
    )


def _fails(minutes: Minutes) -> bool:
    calls = sum(reached.calls for _, reached in minutes)
    return sum(reached.unreached for _, reached in minutes) >= max(1, calls * _FAILING_SHARE)


def _is_slow(p95: float | None, usual: float) -> bool:
    return p95 is not None and p95 >= max(usual * _SLOWER, usual + _SLOWER_MICROSECONDS)


def _since(minutes: Minutes, is_bad: list[bool]) -> int:
    """The first minute of the last stretch that is bad throughout."""
    first = len(minutes) - 1
    while first > 0 and is_bad[first - 1]:
        first -= 1
    return minutes[first][0]
