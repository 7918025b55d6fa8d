"""Streams end with the credential they were opened by: when its key is revoked, at once; when it expires, soon after.

A request is checked when it comes; one that stays open is looked at every second. What an expired credential began may come to an
end within the time that a request may take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ferrule.errors import AccessError
from ferrule.servers.asgi import Request
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.keys_gate import KeyRing

EVERY_SECONDS = 1.0


class _Opened(NamedTuple):
    """By whom a stream was opened."""

    caller: Caller
    ends: float
    secret: str
    """Of a key; empty for a token that cannot be revoked."""


class Watch:
    """The requests of one process that stay open."""

    def __init__(self, keys: KeyRing, clock: Callable[[], float], grace_seconds: float) -> None:
        self._keys = keys
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._state = keys.state
        self._seen: tuple[int, ...] | None = None
        self._opened: WeakKeyDictionary[Request, _Opened] = WeakKeyDictionary()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, request: Request, caller: Caller, ends: float, secret: str) -> None:
        """Look after a request that stays open."""
        self._opened[request] = _Opened(caller, ends, secret)
        if self._timer is None:
            self._seen = None
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._look)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        try:
            state = self._state()
        except AccessError:  # nobody new is let in then; what is open may be mended meanwhile
            state = self._seen
        is_changed, self._seen, now = state != self._seen, state, self._clock()
        for request, opened in list(self._opened.items()):
            is_over = now >= opened.ends + self._grace_seconds
            if is_over or (is_changed and opened.secret and now < opened.ends and not self._stands(opened)):
                del self._opened[request]
                request.drop()
        if self._opened:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._look)

    def _stands(self, opened: _Opened) -> bool:
        try:
            return self._keys.held(opened.secret).caller == opened.caller
        except (AccessError, Refused):
            return False
