"""The time limit of a request (MCP-180): a call that takes longer goes on without its request. One whose tool only
reads, and runs inside the call, cannot go on alone; it is stopped.

One timer watches all of them: a call costs a row in a table, and no timer of its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ferrule.runtime.pipeline.live import Cancel, InFlight, LiveCall

if TYPE_CHECKING:
    from ferrule.servers.mcp.server import McpService

_TOO_LONG = "it takes longer than a request may"
_LONGEST_TICK = 1.0


class RequestTimeLimits:
    """The calls that requests wait for, and until when."""

    def __init__(self, live: InFlight, seconds: float) -> None:
        self._live = live
        self._seconds = seconds
        self._tick_seconds = min(_LONGEST_TICK, seconds / 4)
        self._loop = asyncio.get_running_loop()
        self._waited: dict[str, float] = {}
        """Deadlines by invocation id, the earliest first: all calls have the same limit."""
        self._is_ticking = False

    def add(self, invocation_id: str) -> None:
        """Starts the limit of a call."""
        self._waited[invocation_id] = self._loop.time() + self._seconds
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(self._tick_seconds, self._tick)

    def remove(self, invocation_id: str) -> None:
        """Ends the limit of a call."""
        self._waited.pop(invocation_id, None)

    def _tick(self) -> None:
        now = self._loop.time()
        for invocation_id, until in list(self._waited.items()):
            if until > now:
                break
            del self._waited[invocation_id]
            live = self._live.calls.get(invocation_id)
            if live is not None:
                _stop_waiting(live)
        self._is_ticking = bool(self._waited)
        if self._is_ticking:
            self._loop.call_later(self._tick_seconds, self._tick)


def _stop_waiting(live: LiveCall) -> None:
    # Its tool runs in the call's own task, so nothing is left to go on alone.
    if live.stage == "running" and live.runner is None:
        live.ask_to_stop(Cancel("timeout", _TOO_LONG))
    else:
        live.background("", _TOO_LONG)


def get_time_limits(server: McpService) -> RequestTimeLimits:
    """Returns the time limits of a server."""
    found: RequestTimeLimits | None = server.kept.get("time limits")
    if found is None:
        seconds = server.edge.settings.limits.request_seconds
        found = server.kept["time limits"] = RequestTimeLimits(server.app.services.live, seconds)
    return found
