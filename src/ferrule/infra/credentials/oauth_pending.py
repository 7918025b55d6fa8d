"""Pending authorizations: a user was sent to a provider and is not back yet.

`state` comes back with them. It is random, stored as a digest only, works once, expires after ten minutes, and stands
for one principal, one provider and one redirect address. Its record is sealed like the tokens.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from ferrule.infra.credentials.oauth_records import AuthorizationStatus
from ferrule.infra.credentials.sealed import DamagedRecord, SealedFolder, hash_words
from ferrule.infra.credentials.tokens import TokenOwner

VALID_SECONDS = 600.0
_KEPT_SECONDS = 600.0
"""How long its end can be asked for afterwards."""
_LOCK_SECONDS = 10.0


class PendingAuthorization(msgspec.Struct, frozen=True, kw_only=True):
    """One pending authorization."""

    owner: TokenOwner
    redirect_uri: str
    scopes: tuple[str, ...]
    verifier: str
    """The secret of PKCE; removed once it was used."""
    client: str
    """The client and provider that began it."""
    expires_at: float
    status: AuthorizationStatus = "pending"
    is_taken: bool = False
    """True once a browser came back with it."""
    problem: str = ""
    """Why it failed."""


class UnknownState(Exception):
    """A state that is unknown, was used already, or has expired."""


class PendingStates:
    """The pending authorizations of a workspace, shared by its processes."""

    def __init__(self, files: SealedFolder, now: Callable[[], float]) -> None:
        self._files = files
        self._now = now

    def begin(
        self, owner: TokenOwner, redirect_uri: str, scopes: tuple[str, ...], client: str
    ) -> tuple[str, PendingAuthorization]:
        """Returns a new state, and its record."""
        self._prune()
        state = secrets.token_urlsafe(32)
        pending = PendingAuthorization(
            owner=owner,
            redirect_uri=redirect_uri,
            scopes=scopes,
            verifier=secrets.token_urlsafe(48),
            client=client,
            expires_at=self._now() + VALID_SECONDS,
        )
        self._write(state, pending)
        return state, pending

    async def take(self, state: str) -> PendingAuthorization:
        """Uses a state up, so that no other request can. Raises UnknownState."""
        if self._read(state) is None:  # so that made-up states leave nothing behind
            raise UnknownState
        async with self._files.lock(_record_name(state), _LOCK_SECONDS):
            pending = self._read(state)
            if pending is None or pending.is_taken or self._now() >= pending.expires_at:
                raise UnknownState
            # Without its verifier a code cannot be exchanged a second time.
            self._write(state, replace(pending, is_taken=True, verifier=""))
        return pending

    def close(self, state: str, pending: PendingAuthorization, status: AuthorizationStatus, problem: str = "") -> None:
        """Records how it ended."""
        self._write(state, replace(pending, is_taken=True, verifier="", status=status, problem=problem))

    def status(self, state: str) -> AuthorizationStatus:
        """Returns its status. An expired or unknown one has failed."""
        pending = self._read(state)
        if pending is None or (pending.status == "pending" and self._now() >= pending.expires_at):
            return "failed"
        return pending.status

    def problem(self, state: str) -> str:
        """Returns why it failed, for the user; empty while it did not."""
        pending = self._read(state)
        if self.status(state) != "failed":
            return ""
        return pending.problem if pending is not None and pending.problem else "its time is over"

    def is_taken(self, state: str) -> bool:
        """True once a browser came back with it."""
        pending = self._read(state)
        return pending is None or pending.is_taken

    def _read(self, state: str) -> PendingAuthorization | None:
        return self._open(_record_name(state))

    def _open(self, name: str) -> PendingAuthorization | None:
        try:
            plain = self._files.read(name)
            return msgspec.json.decode(plain, type=PendingAuthorization) if plain is not None else None
        except (DamagedRecord, msgspec.DecodeError):
            return None

    def _write(self, state: str, pending: PendingAuthorization) -> None:
        self._files.write(_record_name(state), msgspec.json.encode(pending))

    def _prune(self) -> None:
        for name in self._files.names():
            pending = self._open(name)
            if pending is None or self._now() > pending.expires_at + _KEPT_SECONDS:
                self._files.remove(name)
                self._files.remove(f"{name}.lock")


def _record_name(state: str) -> str:
    return hash_words("state", state)
