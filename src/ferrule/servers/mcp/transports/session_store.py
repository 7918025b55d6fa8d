"""The sessions of one process: found by id and caller together, bounded for each principal, forgotten when idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from ferrule.model.serving import ServeSettings
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.sessions import Session
from ferrule.servers.mcp.transports.streams import Streams

_GONE_KEPT = 10_000
_LOOK_EVERY = 30.0
"""How often, in seconds, idle sessions are looked for."""
_HEAR_EVERY = 1.0
"""How often, in seconds, sessions with something open are looked at for having been ended by another process."""
_FRESH_SECONDS = 0.005
"""How long it counts that no other process has ended a session: looking costs a request more than all else here."""


class HttpSession(Session):
    """A session over HTTP, with its streams."""

    def __init__(
        self, session_id: str, caller: Caller, revision: str, client: frozenset[str], streams: Streams, run_id: str
    ) -> None:
        super().__init__(session_id, caller, revision, client, partial(_tell, streams), run_id=run_id)
        self.streams = streams
        self.used_at = 0.0
        self.note_at = 0.0
        """When its use is to be noted for other processes again."""
        self.noted = 0
        """The last note of this process."""
        self.stamp = b""
        """Of the endings that it is known not to be among."""

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
        self._sweep_seconds = min(_LOOK_EVERY, max(1.0, self._idle_seconds / 2))
        self._most = settings.limits.sessions
        self._new_run = new_run
        self._ids = ids
        self._gone: dict[str, None] = {}
        """Sessions that ended here and left no mark, the newest ones: this process does not take them up again. One whose client
        asks for it gets its mark: what was said to be gone stays gone."""
        self._clock = clock
        self._stamp = b""
        """Changes with every session that any process ends."""
        self._fresh_until = 0.0
        self._let_go_at = b""
        """The stamp when sessions with something open were last looked at."""
        self._sweep_at = 0.0
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
        now = self._clock()
        session = HttpSession(session_id, caller, revision, client, Streams(self._clock), run_id)
        session.closing.append(session.streams.aclose)
        session.used_at = now
        session.note_at = now + self._ids.note_seconds
        session.stamp = self._stamp
        self._sessions[session_id] = session
        if self._timer is None:
            self._sweep_at = now + self._sweep_seconds
            self._look_later()
        return session

    def _taken_up(self, session_id: str, caller: Caller) -> HttpSession | None:
        """A session that another process began, or this workspace's server before it was started again."""
        stamp = self._ids.stamp()
        facts = self._ids.opened(session_id, caller)
        if facts is None:
            return None
        if session_id in self._gone:
            if self._ids.end(session_id):
                del self._gone[session_id]
            return None
        self._make_room(caller)
        session = self._kept(session_id, caller, facts.revision, frozenset(facts.client), facts.run_id)
        session.stamp = stamp
        session.note_at = session.used_at + self._ids.noted_for(facts)
        session.is_initialized = True
        return session

    def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """A caller's session. Somebody else's does not exist for it, nor does one that was ended, by whatever process, or was
        idle too long (MCP-75, MCP-77)."""
        session = self._sessions.get(session_id)
        if session is None:
            return self._taken_up(session_id, caller)
        if session.caller.key != caller.key:
            return None
        now = self._clock()
        if now >= self._fresh_until:
            self._hear(now)
        if session.stamp != self._stamp and self._was_ended(session):
            return None
        if now - session.used_at > self._idle_seconds and self._is_idle(session, now, self._idle_seconds):
            self.end(session)
            return self._taken_up(session_id, caller)
        self._use(session, now)
        del self._sessions[session_id]
        self._sessions[session_id] = session
        return session

    def _hear(self, now: float) -> None:
        """Learn whether any process has ended a session."""
        self._stamp = self._ids.stamp()
        self._fresh_until = now + _FRESH_SECONDS

    def _was_ended(self, session: HttpSession) -> bool:
        """True for a session that another process ended: it ends here, too."""
        session.stamp = self._stamp
        if not self._ids.is_ended(session.id):
            return False
        self.end(session, is_known=True)
        return True

    def _is_idle(self, session: HttpSession, now: float, seconds: float) -> bool:
        """True for a session that was idle for longer in every process, as far as they noted it."""
        if session.is_busy:
            return False
        session.used_at = max(session.used_at, now - self._ids.unused_seconds(session.id, session.noted))
        return now - session.used_at > seconds

    def _use(self, session: HttpSession, now: float) -> None:
        session.used_at = now
        if now >= session.note_at:
            session.note_at = now + self._ids.note_seconds
            session.noted = self._ids.note_use(session.id)

    def end(self, session: HttpSession, *, is_known: bool = False) -> asyncio.Task[None]:
        """Forget a session at once, and stop what goes on in it. `is_known`: every process knows that it ended."""
        self._sessions.pop(session.id, None)
        if not is_known:
            self._gone[session.id] = None
            if len(self._gone) > _GONE_KEPT:
                del self._gone[next(iter(self._gone))]
        task = asyncio.get_running_loop().create_task(session.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    def delete(self, session: HttpSession) -> None:
        """Its client ends it: it is gone for every process (MCP-80)."""
        self.end(session, is_known=self._ids.end(session.id))

    def sweep(self) -> None:
        """End what was idle for so long that no process takes it up again."""
        now, over = self._clock(), self._ids.over_seconds
        for session in list(self._sessions.values()):
            if session.is_busy:
                self._use(session, now)
            elif now - session.used_at > over and self._is_idle(session, now, over):
                self.end(session, is_known=True)
            session.streams.tidy()

    def end_what_was_ended(self) -> None:
        """Let go of what is open in sessions that another process ended (MCP-80)."""
        self._hear(self._clock())
        if self._let_go_at != self._stamp:
            self._let_go_at = self._stamp
            for session in list(self._sessions.values()):
                if session.is_busy and session.stamp != self._stamp:
                    self._was_ended(session)

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
        self._timer = asyncio.get_running_loop().call_later(_HEAR_EVERY, self._look)

    def _look(self) -> None:
        self._timer = None
        self.end_what_was_ended()
        if self._clock() >= self._sweep_at:
            self._sweep_at = self._clock() + self._sweep_seconds
            self.sweep()
        if self._sessions:
            self._look_later()
