"""Times as whole microseconds since 1970, and as text for records and people."""

from __future__ import annotations

from datetime import UTC, datetime

MICROSECONDS = 1_000_000
LAST = 253_402_300_799 * MICROSECONDS + 999_999
"""The end of the year 9999. A later time means "no end", and no calendar has a day for it."""


def iso(at: int) -> str:
    """Formats a time as RFC 3339, UTC, with microseconds: `2026-01-31T12:00:00.000001Z`."""
    at = min(at, LAST)
    return datetime.fromtimestamp(at // MICROSECONDS, UTC).isoformat()[:19] + f".{at % MICROSECONDS:06d}Z"


def milliseconds(nanoseconds: int) -> float:
    """Returns a duration for people and for telemetry: to the microsecond."""
    return round(nanoseconds / 1_000_000, 3)


def parse_iso(text: str) -> int:
    """Parses an ISO 8601 text; without an offset it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds
