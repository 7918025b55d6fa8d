"""Progress and log messages of a running call, as notifications on its request's stream (sections 14 and 16).

A tool may send more than anybody reads. Messages that come too fast are dropped; the last progress is always sent
(MCP-171).
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf, nextafter

from ferrule.model.progress import Progress
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError, notification_text

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_BURST, _PER_SECOND = 20.0, 10.0
_LOG_BURST, _LOGS_PER_SECOND = 100.0, 20.0
_MOST_UNSENT = 200
"""Messages that may wait for a client that does not read; later ones are dropped."""
_ENDED = frozenset({"completed", "failed", "canceled"})


def read_level(level: object) -> str:
    """Returns a level of log messages. Raises RpcError (MCP-182, MCP-184)."""
    if type(level) is not str or level not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"a log level is one of {', '.join(LEVELS)}")
    return level


class _RateLimit:
    """A burst of so many, and so many a second after that."""

    def __init__(self, burst: float, per_second: float, now: float) -> None:
        self._burst, self._rate = burst, per_second
        self._left, self._at = burst, now

    def take(self, now: float) -> bool:
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class ProgressSender:
    """Sends the messages of one call to its client, in order, without making the call wait."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._least = LEVELS.index(exchange.log_level) if exchange.log_level in LEVELS else len(LEVELS)
        self._progress = _RateLimit(_BURST, _PER_SECOND, self._loop.time())
        self._logs = _RateLimit(_LOG_BURST, _LOGS_PER_SECOND, self._loop.time())
        self._held: Progress | None = None
        """The newest progress that came too fast."""
        self._last = -inf
        self._total: float | None = None
        self._dropped = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_begun = False
        self._unsent: deque[bytes] = deque()
        self._sending: asyncio.Task[None] | None = None

    def hear(self, said: Progress) -> None:
        """Takes a message of the call; it is sent from `begin` on."""
        log = said.extra.get("log")
        if isinstance(log, dict):
            self._take_log(log)
        elif self._exchange.meta.progress_token is not None and said.status not in _ENDED:
            if self._has_room() and self._progress.take(self._loop.time()):
                self._held = None
                self._put_progress(said)
            else:
                self._held = said
                if self._timer is None:
                    self._timer = self._loop.call_later(1 / _PER_SECOND, self._put_held)

    def begin(self) -> None:
        """Starts to send: the way back is known."""
        self._is_begun = True
        self._send_soon()

    async def finish(self) -> None:
        """Sends everything that was held back: it comes before the result (MCP-169)."""
        self._stop_timer()
        if self._held is not None:
            self._put_progress(self._held)
        if self._dropped and LEVELS.index("warning") >= self._least:
            data = f"{self._dropped} log messages were left out: they came too fast"
            self._put_log({"level": "warning", "logger": "ferrule", "data": data})
        if self._sending is not None:
            await self._sending

    def close(self) -> None:
        """Stops sending."""
        self._stop_timer()
        if self._sending is not None and not self._sending.cancel() and not self._sending.cancelled():
            self._sending.exception()  # looked at, so that nobody logs it

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _has_room(self) -> bool:
        """True unless the client does not read earlier messages."""
        return len(self._unsent) < _MOST_UNSENT

    def _put_held(self) -> None:
        self._timer = None
        if not self._has_room():
            self._timer = self._loop.call_later(1 / _PER_SECOND, self._put_held)
        elif self._held is not None:
            held, self._held = self._held, None
            self._put_progress(held)

    def _take_log(self, log: JsonObject) -> None:
        level = log.get("level")
        number = LEVELS.index(level) if level in LEVELS else LEVELS.index("info")
        if number < self._least:
            return
        # Counted, so that the client learns how many it missed.
        if not (self._has_room() and self._logs.take(self._loop.time())):
            self._dropped += 1
            return
        message = {"level": LEVELS[number], "data": log.get("data")}
        if isinstance(log.get("logger"), str):
            message["logger"] = log["logger"]
        self._put_log(message)

    def _put_log(self, message: JsonObject) -> None:
        self._put(notification_text("notifications/message", message))

    def _put_progress(self, said: Progress) -> None:
        progress, total = _count_progress(said)
        if progress is None:  # only words, or a part of the result: no step further of those that are counted
            total = self._total
            progress = self._last if total is not None else self._last + 1 if self._last > -inf else 1.0
        if progress <= self._last:  # it has to grow, also when only the words changed (MCP-170)
            progress = nextafter(self._last, inf)
        self._last, self._total = progress, total
        params: JsonObject = {"progressToken": self._exchange.meta.progress_token, "progress": _shorten(progress)}
        if total is not None:
            params["total"] = _shorten(total)
        if said.message:
            params["message"] = said.message
        self._put(notification_text("notifications/progress", params))

    def _put(self, text: bytes) -> None:
        self._unsent.append(text)
        self._send_soon()

    def _send_soon(self) -> None:
        if self._is_begun and self._unsent and self._sending is None:
            self._sending = self._loop.create_task(self._send())

    async def _send(self) -> None:
        while self._unsent:
            await self._exchange.back.tell(self._unsent.popleft())
        self._sending = None  # one that failed stays: nothing more is sent, and `finish` raises what it raised


def _count_progress(said: Progress) -> tuple[float | None, float | None]:
    """Returns how far the call is, and of how much, where a message says so."""
    if said.percent is not None:
        return float(said.percent), 100.0
    if said.current_step is not None and said.total_steps is not None and said.current_step.isdecimal():
        return float(said.current_step), float(said.total_steps)
    for count in (said.bytes_written, said.bytes_read, said.line_count):
        if count is not None:
            return float(count), None
    return None, None


def _shorten(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
