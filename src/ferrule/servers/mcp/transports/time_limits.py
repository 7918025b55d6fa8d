"""Nobody waits for ever (MCP-180): a call that takes longer than a request may goes on without whoever made it. One whose tool
only reads, and runs where its call does, cannot go on alone; it is stopped.

One timer watches over all of them. A call that is answered at once pays for a place in a table, and for no timer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ferrule.runtime.pipeline.live import Cancel, InFlight, Live

if TYPE_CHECKING:
    from ferrule.servers.mcp.server import McpServer

_TOO_LONG = "it takes longer than a request may"
_LONGEST_TICK = 1.0


class TimeLimits:
    """Calls that somebody waits for, and until when."""

    def __init__(self, live: InFlight, seconds: float) -> None:
        self._live = live
        self._seconds = seconds
        self._tick_seconds = min(_LONGEST_TICK, seconds / 4)
        self._loop = asyncio.get_running_loop()
        self._waited: dict[int, tuple[float, bytes]] = {}
        """The earliest first: they all may take the same time."""
        self._count = 0
        self._is_ticking = False

    def add(self, arguments: bytes) -> int:
        """Somebody waits for a call with these arguments, this very object. Gives what `remove` takes."""
        self._count += 1
        self._waited[self._count] = (self._loop.time() + self._seconds, arguments)
        if not self._is_ticking:
            self._is_ticking = True
            self._loop.call_later(self._tick_seconds, self._tick)
        return self._count

    def remove(self, number: int) -> None:
        """Nobody waits for it any more."""
        self._waited.pop(number, None)

    def _tick(self) -> None:
        now = self._loop.time()
        late: list[bytes] = []
        for number, (until, arguments) in list(self._waited.items()):
            if until > now:
                break
            late.append(arguments)
            del self._waited[number]
        if late:
            for live in list(self._live.calls.values()):
                if any(live.call.model_input is arguments for arguments in late):
                    _leave(live)
        self._is_ticking = bool(self._waited)
        if self._is_ticking:
            self._loop.call_later(self._tick_seconds, self._tick)


def _leave(live: Live) -> None:
    if live.stage == "running" and live.runner is None:
        live.ask_to_stop(Cancel("timeout", _TOO_LONG))
    else:
        live.background("", _TOO_LONG)


def limits_of(server: McpServer) -> TimeLimits:
    """Those of a server."""
    found: TimeLimits | None = server.kept.get("time limits")
    if found is None:
        seconds = server.edge.settings.limits.request_seconds
        found = server.kept["time limits"] = TimeLimits(server.app.services.live, seconds)
    return found
