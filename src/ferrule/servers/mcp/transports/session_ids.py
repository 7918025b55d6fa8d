"""Ids of sessions that say what a session is, sealed: any process of a workspace can go on with one, also after a restart.

What a client may not lose by that is kept elsewhere: sessions that were ended leave a mark beside the ledger, and a stamp that
changes with every mark tells the other processes of the workspace to look (MCP-75). Now and then the use of a session is noted
there, so that every process knows one that was idle too long (MCP-91). An id of another credential, another workspace or too long
ago is none.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Unreadable
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ferrule.servers.auth.callers import Caller

FOLDER = ".ferrule/sessions"
STAMP = ".ferrule/sessions.stamp"
_USE = b"ferrule mcp session 1"
_NONCE_BYTES, _LONGEST = 16, 4096
_TIDY_SECONDS = 600.0
_LIFE_SECONDS = 24 * 3600.0
"""How long after its beginning a session can be taken up by another process."""
_NOTES = 10
"""How often a session in use is noted within the time that it may be idle: another process knows that time by so much."""


class SessionFacts(msgspec.Struct, frozen=True, array_like=True):
    """What another process has to know of a session."""

    revision: str
    client: tuple[str, ...]
    run_id: str
    began_at: float


_decode = msgspec.msgpack.Decoder(SessionFacts).decode


class SessionIds:
    """Makes ids, and knows its own again."""

    def __init__(
        self,
        secret: bytes,
        root: Path,
        clock: Callable[[], float] = time.time,
        *,
        idle_seconds: float = _LIFE_SECONDS,
    ) -> None:
        """`idle_seconds`: how long a session may be idle."""
        self._cipher = AESGCM(hmac.new(secret, _USE, hashlib.sha256).digest())
        self._folder = root / FOLDER
        self._stamp = root / STAMP
        self.note_seconds = idle_seconds / _NOTES
        """How long a use need not be noted after one that was, or after the beginning."""
        self.over_seconds = idle_seconds + self.note_seconds
        """How long after the last note nobody can be using a session any more."""
        self._clock = clock
        self._tidied_at = clock()

    def made(self, caller: Caller, revision: str, client: frozenset[str], run_id: str) -> str:
        """A new id: visible ASCII, and nobody guesses one (MCP-72)."""
        facts = SessionFacts(revision, tuple(sorted(client)), run_id, self._clock())
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, msgspec.msgpack.encode(facts), _bound(caller))
        return urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def opened(self, session_id: str, caller: Caller) -> SessionFacts | None:
        """What a session of this caller's is; None for an id that is none, or whose session has ended."""
        if len(session_id) > _LONGEST:
            return None
        try:
            whole = urlsafe_b64decode(session_id.encode("ascii") + b"=" * (-len(session_id) % 4))
            if urlsafe_b64encode(whole).decode().rstrip("=") != session_id:
                return None
            facts = _decode(self._cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], _bound(caller)))
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None
        return None if self._is_over(session_id, facts) or self.is_ended(session_id) else facts

    def _is_over(self, session_id: str, facts: SessionFacts) -> bool:
        """True for a session that began too long ago, or that nobody can have used for too long."""
        since = self._clock() - facts.began_at
        return since > _LIFE_SECONDS or (
            since > self.over_seconds and self.unused_seconds(session_id) > self.over_seconds
        )

    def end(self, session_id: str) -> bool:
        """A session is over: no process takes it up again, or goes on with it. False when that could not be written down."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._mark(session_id).touch()
            self._stamp.write_bytes(os.urandom(8))
        except OSError:
            return False
        self._tidy_later()
        return True

    def is_ended(self, session_id: str) -> bool:
        """True for a session that some process ended."""
        return self._mark(session_id).exists()

    def stamp(self) -> bytes:
        """Changes whenever any process ends a session. Ask before `is_ended`: what ends afterwards changes it again."""
        try:
            fd = os.open(self._stamp, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(fd, 8)
        finally:
            os.close(fd)

    def note_use(self, session_id: str) -> int:
        """A session is in use: other processes know that it was not idle. What cannot be noted is not known to them. Gives the
        note, by which its writer knows it again."""
        used, now = self._used(session_id), int(self._clock() * 1e9)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            used.touch()
            os.utime(used, ns=(now, now))
        self._tidy_later()
        return now

    def unused_seconds(self, session_id: str, own: int = 0) -> float:
        """How long ago any process last noted that a session was in use. `own`: a note that says nothing new."""
        try:
            noted = self._used(session_id).stat().st_mtime_ns
        except OSError:
            return float("inf")
        return float("inf") if noted == own else max(0.0, self._clock() - noted / 1e9)

    def noted_for(self, facts: SessionFacts) -> float:
        """For how many seconds the use of a session that is taken up need not be noted."""
        return max(0.0, self.note_seconds - (self._clock() - facts.began_at))

    def _mark(self, session_id: str) -> Path:
        return self._folder / hashlib.sha256(session_id.encode()).hexdigest()[:40]

    def _used(self, session_id: str) -> Path:
        return self._mark(session_id).with_suffix(".used")

    def _tidy_later(self) -> None:
        if self._clock() - self._tidied_at > _TIDY_SECONDS:
            self._tidied_at = self._clock()
            Thread(target=self._tidy, name="ferrule tidies marks of sessions", daemon=True).start()

    def _tidy(self) -> None:
        """Marks of sessions that are too old to be taken up are not needed. There may be very many, so nobody waits for this."""
        with suppress(OSError):
            for mark in os.scandir(self._folder):
                with suppress(OSError):
                    if self._clock() - mark.stat().st_mtime > _LIFE_SECONDS:
                        os.unlink(mark.path)


def _bound(caller: Caller) -> bytes:
    """Whom an id is for: with any other credential it cannot be opened (MCP-77)."""
    return msgspec.msgpack.encode(caller.key)
