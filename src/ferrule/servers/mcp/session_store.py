"""The sessions of one process: found by id and caller together, bounded for each principal, forgotten when idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from ferrule.model.serving import ServeSettings
from ferrule.servers.callers import Caller, Refused
from ferrule.servers.mcp.session_ids import SessionIds
from ferrule.servers.mcp.sessions import Session
from ferrule.servers.mcp.streams import Streams

_GONE_KEPT = 10_000
_LOOK_EVERY = 30.0
"""How often, in seconds, idle sessions are looked for."""


class HttpSession(Session):
    """A session over HTTP, with its streams."""

    def __init__(
        self, session_id: str, caller: Caller, revision: str, client: frozenset[str], streams: Streams, run_id: str
    ) -> None:
        super().__init__(session_id, caller, revision, client, partial(_tell, streams), run_id=run_id)
        self.streams = streams
        self.used_at = 0.0

    @property
    def is_busy(self) -> bool:
        """True while a request is being answered, or a connection is held."""
        return bool(self.underway) or self.streams.is_read


def _tell(streams: Streams, text: bytes) -> None:
    """Send what belongs to no request; nothing twice that nobody has read yet."""
    own = streams.own
    if not any(each.text == text for each in own.events if each.number > own.sent):
        own.put(text)


class SessionStore:
    """Sessions by id."""

    def __init__(
        self,
        settings: ServeSettings,
        new_run: Callable[[], str],
        ids: SessionIds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_seconds = settings.mcp.session_seconds
        self._most = settings.limits.sessions
        self._new_run = new_run
        self._ids = ids
        self._gone: dict[str, None] = {}
        """Sessions that ended here and left no mark, the newest ones: this process does not take them up again."""
        self._clock = clock
        self._sessions: dict[str, HttpSession] = {}
        """Least recently used first."""
        self._timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, caller: Caller, revision: str, client: frozenset[str]) -> HttpSession:
        """A new session of a caller. Where there are too many, its longest idle one makes room; Refused (429) when none of them
        is idle (MCP-91)."""
        self._make_room(caller)
        run_id = self._new_run()
        return self._kept(self._ids.made(caller, revision, client, run_id), caller, revision, client, run_id)

    def _kept(self, session_id: str, caller: Caller, revision: str, client: frozenset[str], run_id: str) -> HttpSession:
        session = HttpSession(session_id, caller, revision, client, Streams(self._clock), run_id)
        session.closing.append(session.streams.aclose)
        session.used_at = self._clock()
        self._sessions[session_id] = session
        if self._timer is None:
            self._look_later()
        return session

    def _taken_up(self, session_id: str, caller: Caller) -> HttpSession | None:
        """A session that another process began, or this workspace's server before it was started again."""
        facts = None if session_id in self._gone else self._ids.opened(session_id, caller)
        if facts is None:
            return None
        self._make_room(caller)
        session = self._kept(session_id, caller, facts.revision, frozenset(facts.client), facts.run_id)
        session.is_initialized = True
        return session

    def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """A caller's session. Somebody else's does not exist for it, nor does one that was idle too long (MCP-75, MCP-77)."""
        session = self._sessions.get(session_id)
        if session is None:
            return self._taken_up(session_id, caller)
        if session.caller.key != caller.key:
            return None
        now = self._clock()
        if now - session.used_at > self._idle_seconds and not session.is_busy:
            self.end(session)
            return None
        session.used_at = now
        del self._sessions[session_id]
        self._sessions[session_id] = session
        return session

    def end(self, session: HttpSession, *, is_marked: bool = False) -> asyncio.Task[None]:
        """Forget a session at once, and stop what goes on in it. `is_marked`: every process knows that it ended."""
        self._sessions.pop(session.id, None)
        if not is_marked:
            self._gone[session.id] = None
            if len(self._gone) > _GONE_KEPT:
                del self._gone[next(iter(self._gone))]
        task = asyncio.get_running_loop().create_task(session.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    def delete(self, session: HttpSession) -> None:
        """Its client ends it: it is gone for every process (MCP-80)."""
        self.end(session, is_marked=self._ids.end(session.id))

    def sweep(self) -> None:
        """End what was idle too long."""
        now = self._clock()
        for session in list(self._sessions.values()):
            if session.is_busy:
                session.used_at = now
            elif now - session.used_at > self._idle_seconds:
                self.end(session)
            session.streams.tidy()

    async def end_streams(self) -> None:
        """The server is about to stop: nobody is kept waiting for news. What is being answered goes on."""
        for session in self._sessions.values():
            session.streams.end(session.streams.own)

    async def aclose(self) -> None:
        """End all of them."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for session in list(self._sessions.values()):
            self.end(session)
        if self._ending:
            await asyncio.wait(self._ending)

    def _make_room(self, caller: Caller) -> None:
        principal = caller.key[:2]
        theirs = [session for session in self._sessions.values() if session.caller.key[:2] == principal]
        if len(theirs) < self._most:
            return
        idle = next((session for session in theirs if not session.is_busy), None)
        if idle is None:
            raise Refused(429, f"there are {len(theirs)} sessions of yours, all in use; end one of them", retry_after=5)
        self.end(idle)

    def _look_later(self) -> None:
        within = min(_LOOK_EVERY, max(1.0, self._idle_seconds / 2))
        self._timer = asyncio.get_running_loop().call_later(within, self._look)

    def _look(self) -> None:
        self._timer = None
        self.sweep()
        if self._sessions:
            self._look_later()
