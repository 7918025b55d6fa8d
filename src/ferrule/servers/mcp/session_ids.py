"""Ids of sessions that say what a session is, sealed: any process of a workspace can go on with one, also after a restart.

What a client may not lose by that is kept elsewhere: sessions that were ended leave a mark beside the ledger, which every
process of the workspace sees (MCP-75). An id of another credential, another workspace or too long ago is none.
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

from ferrule.servers.callers import Caller

FOLDER = ".ferrule/sessions"
_USE = b"ferrule mcp session 1"
_NONCE_BYTES, _LONGEST = 16, 4096
_TIDY_SECONDS = 600.0
_LIFE_SECONDS = 24 * 3600.0
"""How long after its beginning a session can be taken up by another process."""


class SessionFacts(msgspec.Struct, frozen=True, array_like=True):
    """What another process has to know of a session."""

    revision: str
    client: tuple[str, ...]
    run_id: str
    began_at: float


_decode = msgspec.msgpack.Decoder(SessionFacts).decode


class SessionIds:
    """Makes ids, and knows its own again."""

    def __init__(self, secret: bytes, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._cipher = AESGCM(hmac.new(secret, _USE, hashlib.sha256).digest())
        self._folder = root / FOLDER
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
        is_old = self._clock() - facts.began_at > _LIFE_SECONDS
        return None if is_old or self._mark(session_id).exists() else facts

    def end(self, session_id: str) -> bool:
        """The client ended a session: no process takes it up again. False when that could not be written down."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._mark(session_id).touch()
        except OSError:
            return False
        if self._clock() - self._tidied_at > _TIDY_SECONDS:
            self._tidied_at = self._clock()
            Thread(target=self._tidy, name="ferrule tidies marks of sessions", daemon=True).start()
        return True

    def _mark(self, session_id: str) -> Path:
        return self._folder / hashlib.sha256(session_id.encode()).hexdigest()[:40]

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
