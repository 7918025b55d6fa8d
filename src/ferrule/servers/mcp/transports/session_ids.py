"""Ids of sessions that hold the session's facts, sealed: any process of a workspace can adopt one, also after a
restart.

The rest is kept beside the ledger: an ended session leaves a mark, and a stamp that changes with every mark tells the
other processes of the workspace to look (MCP-75). The use of a session is noted there from time to time, so that every
process knows how long one was idle (MCP-91). An id of another credential, of another workspace, or too old, is unknown.
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
"""How long after its beginning a session can be adopted by another process."""
_NOTES = 10
"""How often a session in use is noted within its idle time: other processes know that time this exactly."""


class SessionFacts(msgspec.Struct, frozen=True, array_like=True):
    """The facts another process needs to adopt a session."""

    revision: str
    client: tuple[str, ...]
    run_id: str
    began_at: float


_decode = msgspec.msgpack.Decoder(SessionFacts).decode


class SessionIds:
    """Makes ids, and opens its own."""

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
        """The least time between two notes of a session's use."""
        self.over_seconds = idle_seconds + self.note_seconds
        """How long after its last note a session has expired in every process."""
        self._clock = clock
        self._tidied_at = clock()

    def make(self, caller: Caller, revision: str, client: frozenset[str], run_id: str) -> str:
        """Returns a new id: visible ASCII, and unguessable (MCP-72)."""
        facts = SessionFacts(revision, tuple(sorted(client)), run_id, self._clock())
        # The caller is authenticated data, not content: with another credential the id does not open at all.
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, msgspec.msgpack.encode(facts), _encode_caller(caller))
        return urlsafe_b64encode(nonce + sealed).decode().rstrip("=")

    def open(self, session_id: str, caller: Caller) -> SessionFacts | None:
        """Returns the facts of a caller's session; None for an invalid id, or a session that has ended."""
        if len(session_id) > _LONGEST:
            return None
        try:
            whole = urlsafe_b64decode(session_id.encode("ascii") + b"=" * (-len(session_id) % 4))
            # Base64 decoders accept several spellings of the same bytes; one session has one id.
            if urlsafe_b64encode(whole).decode().rstrip("=") != session_id:
                return None
            facts = _decode(self._cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], _encode_caller(caller)))
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None
        return None if self._is_over(session_id, facts) or self.is_ended(session_id) else facts

    def _is_over(self, session_id: str, facts: SessionFacts) -> bool:
        """True for a session that began too long ago, or was idle too long everywhere."""
        since = self._clock() - facts.began_at
        return since > _LIFE_SECONDS or (
            since > self.over_seconds and self.unused_seconds(session_id) > self.over_seconds
        )

    def end(self, session_id: str) -> bool:
        """Marks a session as ended: no process adopts it again, or goes on with it. False when that could not be
        written."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # The mark comes before the stamp: a process that sees the new stamp must find the mark.
            self._mark_path(session_id).touch()
            self._stamp.write_bytes(os.urandom(8))
        except OSError:
            return False
        self._tidy_later()
        return True

    def is_ended(self, session_id: str) -> bool:
        """True for a session that some process ended."""
        return self._mark_path(session_id).exists()

    def stamp(self) -> bytes:
        """Returns a value that changes whenever any process ends a session. Read it before `is_ended`: a later end
        changes it again."""
        try:
            fd = os.open(self._stamp, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(fd, 8)
        finally:
            os.close(fd)

    def note_use(self, session_id: str) -> int:
        """Notes the use of a session for other processes, as far as the disk allows. Returns the note, by which its
        writer knows it again."""
        used, now = self._note_path(session_id), int(self._clock() * 1e9)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            used.touch()
            # Set by hand: a process tells its own note from those of others by the exact time.
            os.utime(used, ns=(now, now))
        self._tidy_later()
        return now

    def unused_seconds(self, session_id: str, own: int = 0) -> float:
        """Returns how long ago any process noted the use of a session. `own`: this process's own note, which tells
        nothing new."""
        try:
            noted = self._note_path(session_id).stat().st_mtime_ns
        except OSError:
            return float("inf")
        return float("inf") if noted == own else max(0.0, self._clock() - noted / 1e9)

    def seconds_until_note(self, facts: SessionFacts) -> float:
        """Returns for how many seconds the use of an adopted session need not be noted."""
        return max(0.0, self.note_seconds - (self._clock() - facts.began_at))

    def _mark_path(self, session_id: str) -> Path:
        return self._folder / hashlib.sha256(session_id.encode()).hexdigest()[:40]

    def _note_path(self, session_id: str) -> Path:
        return self._mark_path(session_id).with_suffix(".used")

    def _tidy_later(self) -> None:
        if self._clock() - self._tidied_at > _TIDY_SECONDS:
            self._tidied_at = self._clock()
            Thread(target=self._tidy, name="ferrule tidies marks of sessions", daemon=True).start()

    def _tidy(self) -> None:
        """Removes marks of sessions too old to be adopted. There may be very many, so this runs in a thread."""
        with suppress(OSError):
            for mark in os.scandir(self._folder):
                with suppress(OSError):
                    if self._clock() - mark.stat().st_mtime > _LIFE_SECONDS:
                        os.unlink(mark.path)


def _encode_caller(caller: Caller) -> bytes:
    """Returns the caller an id is bound to: no other credential can open it (MCP-77)."""
    return msgspec.msgpack.encode(caller.key)
