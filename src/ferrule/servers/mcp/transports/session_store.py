"""The sessions of one process: found by id and caller together, bounded for each principal, dropped when idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from ferrule.model.serving import ServeSettings
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.sessions import McpSession
from ferrule.servers.mcp.transports.streams import Streams

_GONE_KEPT = 10_000
_LOOK_EVERY = 30.0
"""How often, in seconds, idle sessions are looked for."""
_HEAR_EVERY = 1.0
"""How often, in seconds, busy sessions are checked for having been ended by another process."""
_FRESH_SECONDS = 0.005
"""How long a look at the ended sessions stays valid: it costs a request more than everything else here."""


class HttpSession(McpSession):
    """A session over HTTP, with its streams."""

    def __init__(
        self, session_id: str, caller: Caller, revision: str, client: frozenset[str], streams: Streams, run_id: str
    ) -> None:
        super().__init__(session_id, caller, revision, client, partial(_tell, streams), run_id=run_id)
        self.streams = streams
        self.used_at = 0.0
        self.note_at = 0.0
        """When to note its use for other processes again."""
        self.noted = 0
        """The last note of this process."""
        self.stamp = b""
        """The stamp at which it was last known not to be ended."""

    @property
    def is_busy(self) -> bool:
        """True while a request is in flight, or a connection is held."""
        return bool(self.underway) or self.streams.is_read


def _tell(streams: Streams, text: bytes) -> None:
    """Sends a message that belongs to no request, unless the same one is still unread."""
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
        """The newest sessions that ended here and left no mark: this process does not adopt them again. One whose
        client asks for it gets its mark, so that no other process adopts it either."""
        self._clock = clock
        self._stamp = b""
        """Changes with every session that any process ends."""
        self._fresh_until = 0.0
        self._let_go_at = b""
        """The stamp when busy sessions were last checked."""
        self._sweep_at = 0.0
        self._sessions: dict[str, HttpSession] = {}
        """Least recently used first."""
        self._timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, caller: Caller, revision: str, client: frozenset[str]) -> HttpSession:
        """Returns a new session of a caller. At the limit, its longest idle one makes room; Refused (429) when none of
        them is idle (MCP-91)."""
        self._make_room(caller)
        run_id = self._new_run()
        return self._add(self._ids.make(caller, revision, client, run_id), caller, revision, client, run_id)

    def _add(self, session_id: str, caller: Caller, revision: str, client: frozenset[str], run_id: str) -> HttpSession:
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

    def _adopt(self, session_id: str, caller: Caller) -> HttpSession | None:
        """Returns a session that another process began, or this server before its restart."""
        # Read before the id is checked: an end in between then changes it again.
        stamp = self._ids.stamp()
        facts = self._ids.open(session_id, caller)
        if facts is None:
            return None
        if session_id in self._gone:
            if self._ids.end(session_id):
                del self._gone[session_id]
            return None
        self._make_room(caller)
        session = self._add(session_id, caller, facts.revision, frozenset(facts.client), facts.run_id)
        session.stamp = stamp
        session.note_at = session.used_at + self._ids.seconds_until_note(facts)
        # Its client told that to the process which began the session, and does not repeat it.
        session.is_initialized = True
        return session

    def find(self, session_id: str, caller: Caller) -> HttpSession | None:
        """Returns a caller's session. Sessions of other callers, ended ones and expired ones look like unknown ones
        (MCP-75, MCP-77)."""
        session = self._sessions.get(session_id)
        if session is None:
            return self._adopt(session_id, caller)
        if session.caller.key != caller.key:
            return None
        now = self._clock()
        if now >= self._fresh_until:
            self._read_stamp(now)
        if session.stamp != self._stamp and self._end_if_ended(session):
            return None
        if now - session.used_at > self._idle_seconds and self._is_idle(session, now, self._idle_seconds):
            self.end(session)
            # Not simply None: `_adopt` leaves the mark. No other process may take up what this client is told is gone.
            return self._adopt(session_id, caller)
        self._use(session, now)
        # Moves it to the end: the least recently used comes first.
        del self._sessions[session_id]
        self._sessions[session_id] = session
        return session

    def _read_stamp(self, now: float) -> None:
        """Reads the stamp, which tells whether any process has ended a session."""
        self._stamp = self._ids.stamp()
        self._fresh_until = now + _FRESH_SECONDS

    def _end_if_ended(self, session: HttpSession) -> bool:
        """Ends a session that another process ended. Returns True if so."""
        session.stamp = self._stamp
        if not self._ids.is_ended(session.id):
            return False
        self.end(session, is_known=True)
        return True

    def _is_idle(self, session: HttpSession, now: float, seconds: float) -> bool:
        """True for a session that was idle for longer in every process, as far as their notes tell."""
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
        """Drops a session at once, and stops its requests. `is_known`: every process knows that it ended."""
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
        """Ends a session for its client, in every process (MCP-80)."""
        self.end(session, is_known=self._ids.end(session.id))

    def sweep(self) -> None:
        """Ends sessions that were idle for so long that no process adopts them."""
        now, over = self._clock(), self._ids.over_seconds
        for session in list(self._sessions.values()):
            if session.is_busy:
                self._use(session, now)
            elif now - session.used_at > over and self._is_idle(session, now, over):
                self.end(session, is_known=True)
            session.streams.tidy()

    def end_remotely_ended(self) -> None:
        """Ends busy sessions that another process ended (MCP-80)."""
        self._read_stamp(self._clock())
        if self._let_go_at != self._stamp:
            self._let_go_at = self._stamp
            for session in list(self._sessions.values()):
                if session.is_busy and session.stamp != self._stamp:
                    self._end_if_ended(session)

    async def end_streams(self) -> None:
        """Ends the sessions' own streams before the server stops. Requests in flight go on."""
        for session in self._sessions.values():
            session.streams.end(session.streams.own)

    async def aclose(self) -> None:
        """Ends all sessions."""
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
        # The first one was idle for longest: the least recently used comes first.
        idle = next((session for session in theirs if not session.is_busy), None)
        if idle is None:
            raise Refused(429, f"there are {len(theirs)} sessions of yours, all in use; end one of them", retry_after=5)
        self.end(idle)

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_HEAR_EVERY, self._look)

    def _look(self) -> None:
        self._timer = None
        self.end_remotely_ended()
        if self._clock() >= self._sweep_at:
            self._sweep_at = self._clock() + self._sweep_seconds
            self.sweep()
        if self._sessions:
            self._look_later()
