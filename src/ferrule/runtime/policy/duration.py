"""Durations as people write them: `30m`, `4h`, `1d 12h`."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"(\d{1,9})\s*([smhdw])\s*")
LONGEST = 366 * 86400


def seconds_of(text: str) -> int | None:
    """The duration in seconds; None when it is not one, is nothing, or is longer than a year."""
    at = total = 0
    while at < len(text) and (part := _PART.match(text, at)):
        total += int(part[1]) * _UNITS[part[2]]
        at = part.end()
    return total if at == len(text) and 0 < total <= LONGEST else None
