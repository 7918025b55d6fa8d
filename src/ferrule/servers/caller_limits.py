"""Keeps one caller from taking what others need: limits of rate and of calls at the same time, with fair queues.

Each principal has its own line. When a place is free for everybody, the lines take turns: whoever floods waits behind their own
calls, and nobody else does. Limits count in one process; several server processes have them each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable

from ferrule.model.serving import LimitSettings
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.edge import Leave

_MINUTE = 60.0
_REMEMBERED = 1024
"""Principals who are known without doing anything, before the idle ones are forgotten."""


class _Line:
    """One principal's calls: how many run, and which wait."""

    __slots__ = ("_turnstile", "began", "is_in_turn", "leave", "running", "waiting")

    def __init__(self, turnstile: FairTurnstile) -> None:
        self._turnstile = turnstile
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.began: deque[float] = deque()
        """When the calls of the last minute began, where that is limited."""
        self.is_in_turn = False
        """True while it stands among the lines that take turns."""
        self.leave: Leave = self._leave  # bound once, not for each call

    def _leave(self) -> None:
        turnstile = self._turnstile
        self.running -= 1
        turnstile.running -= 1
        # It left the turns when it had all its own places, and now has room for one more.
        if self.waiting:
            self.take_turns()
        if turnstile.turns:
            turnstile.call_up()

    def take_turns(self) -> None:
        """Stand among the lines that wait for a place of everybody's; one that has all its own places does not."""
        if not self.is_in_turn and self.running < self._turnstile.at_once:
            self.is_in_turn = True
            self._turnstile.turns.append(self)

    def is_idle(self, now: float) -> bool:
        return not self.running and not self.waiting and (not self.began or self.began[-1] <= now - _MINUTE)


class FairTurnstile:
    """The limits of one process."""

    def __init__(self, limits: LimitSettings) -> None:
        self.at_once = limits.calls_at_once
        self._in_all = limits.calls_in_all
        self._most_waiting = limits.calls_waiting
        self._queue_seconds = limits.queue_seconds
        self._per_minute = limits.calls_per_minute
        self.running = 0
        self.turns: deque[_Line] = deque()
        """The lines that wait for a place of everybody's, next one first."""
        self._lines: dict[tuple[str, str], _Line] = {}
        self._forget_above = _REMEMBERED

    def enter(self, caller: Caller) -> Leave | Awaitable[Leave]:
        """Takes a place if there is one, else returns something to await for a turn. Raises Refused (429)."""
        key = (caller.tenant, caller.identity.principal)
        line = self._lines.get(key) or self._add_line(key)
        if self._per_minute:
            self._demand_rate(line)
        if line.running < self.at_once and self.running < self._in_all and not line.waiting:
            line.running += 1
            self.running += 1
            return line.leave
        self._demand_room(line)
        return self._wait(line)

    def call_up(self) -> None:
        """Let in as many as there is room for, a line at a time."""
        turns = self.turns
        while turns and self.running < self._in_all:
            line = turns.popleft()
            line.is_in_turn = False
            while line.waiting and line.waiting[0].done():  # whoever gave up
                line.waiting.popleft()
            if line.waiting and line.running < self.at_once:
                line.running += 1
                self.running += 1
                line.waiting.popleft().set_result(None)
            if line.waiting:
                line.take_turns()

    def _demand_room(self, line: _Line) -> None:
        if len(line.waiting) >= self._most_waiting:
            raise self._build_refusal("too many calls of yours wait already", 1.0)

    async def _wait(self, line: _Line) -> Leave:
        """Waits in line. A call joins the line here and not in `enter`, so one that nobody awaits never stands in it."""
        self._demand_room(line)
        turn = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        line.take_turns()
        self.call_up()  # those who were in may have left since `enter`, and nobody would call it up any more
        try:
            async with asyncio.timeout(self._queue_seconds):
                await turn
            return line.leave
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # its turn came while it gave up
                line.leave()
            else:
                turn.cancel()
                if turn in line.waiting:
                    line.waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise self._build_refusal("no turn came in time; try again later", self._queue_seconds) from None
            raise

    def _demand_rate(self, line: _Line) -> None:
        now, began = asyncio.get_running_loop().time(), line.began
        while began and began[0] <= now - _MINUTE:
            began.popleft()
        if len(began) >= self._per_minute:
            raise self._build_refusal(
                f"more than {self._per_minute} calls in a minute are not taken", began[0] + _MINUTE - now
            )
        began.append(now)

    def _build_refusal(self, reason: str, retry_after: float) -> Refused:
        return Refused(429, reason, retry_after=retry_after)

    def _add_line(self, key: tuple[str, str]) -> _Line:
        if len(self._lines) >= self._forget_above:
            now = asyncio.get_running_loop().time()
            self._lines = {known: line for known, line in self._lines.items() if not line.is_idle(now)}
            self._forget_above = max(_REMEMBERED, 2 * len(self._lines))
        line = self._lines[key] = _Line(self)
        return line
