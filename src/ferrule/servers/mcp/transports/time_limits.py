"""Nobody waits for ever (MCP-180): a call that takes longer than a request may goes on without whoever made it. One whose tool
only reads, and runs where its call does, cannot go on alone; it is stopped.

One timer watches over all of them: a call that is waited for pays for a place in a table, and for no timer of its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ferrule.runtime.pipeline.live import Cancel, InFlight, LiveCall

if TYPE_CHECKING:
    from ferrule.servers.mcp.server import McpService

_TOO_LONG = "it takes longer than a request may"
_LONGEST_TICK = 1.0


class TimeLimits:
    """Calls that somebody waits for, and until when."""

    def __init__(self, live: InFlight, seconds: float) -> None:
        self._live = live
        self._seconds = seconds
        self._tick_seconds = min(_LONGEST_TICK, seconds / 4)
        self._loop = asyncio.get_running_loop()
        self._waited: dict[str, float] = {}
        """Until when, by invocation id. The earliest first: they all may take the same time."""
        self._is_ticking = False

    def add(self, invocation_id: str) -> None:
        """Somebody waits for a call."""
        self._waited[invocation_id] = self._loop.time() + self._seconds
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(self._tick_seconds, self._tick)

    def remove(self, invocation_id: str) -> None:
        """Nobody waits for it any more."""
        self._waited.pop(invocation_id, None)

    def _tick(self) -> None:
        now = self._loop.time()
        for invocation_id, until in list(self._waited.items()):
            if until > now:
                break
            del self._waited[invocation_id]
            live = self._live.calls.get(invocation_id)
            if live is not None:
                _leave(live)
        self._is_ticking = bool(self._waited)
        if self._is_ticking:
            self._loop.call_later(self._tick_seconds, self._tick)


def _leave(live: LiveCall) -> None:
    if live.stage == "running" and live.runner is None:
        live.ask_to_stop(Cancel("timeout", _TOO_LONG))
    else:
        live.background("", _TOO_LONG)


def limits_of(server: McpService) -> TimeLimits:
    """Those of a server."""
    found: TimeLimits | None = server.kept.get("time limits")
    if found is None:
        seconds = server.edge.settings.limits.request_seconds
        found = server.kept["time limits"] = TimeLimits(server.app.services.live, seconds)
    return found
