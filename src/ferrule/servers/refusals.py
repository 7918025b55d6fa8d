"""What the log says of those who are not let in. They are told nothing; whoever runs the server can find out why.

Anybody can knock as often as they like, so each reason is told once in a while, and of many reasons only the first ones.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_EVERY_SECONDS = 60.0
_MOST_REASONS = 64
"""Within that time."""
_LONGEST = 300
_log = logging.getLogger("ferrule.serve")


class RefusalLog:
    """Tells each reason once a minute at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, float] = {}

    def tell(self, reason: str) -> None:
        """Somebody was refused. Without a reason, as for want of a credential, there is nothing to tell."""
        if not reason:
            return
        now = self._clock()
        reason = reason.encode("ascii", "backslashreplace").decode()[:_LONGEST]
        if now < self._told.get(reason, 0.0):
            return
        self._told = {one: until for one, until in self._told.items() if now < until}
        if len(self._told) < _MOST_REASONS:
            self._told[reason] = now + _EVERY_SECONDS
            _log.warning("refused: %s (told once a minute)", reason)
