"""Authorizations under way: a user was sent to a provider and is not back yet.

`state` is what comes back with them. It is random, known by its digest only, works once, ends after ten minutes, and stands
for one principal, one provider and one redirect address. What belongs to it is sealed like the tokens.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from ferrule.infra.credentials.oauth_records import AuthorizationStatus
from ferrule.infra.credentials.sealed import Damaged, SealedFolder, name_of
from ferrule.infra.credentials.tokens import Owner

VALID_SECONDS = 600.0
_KEPT_SECONDS = 600.0
"""How long afterwards its end can be asked for."""
_LOCK_SECONDS = 10.0


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """One authorization under way."""

    owner: Owner
    redirect_uri: str
    scopes: tuple[str, ...]
    verifier: str
    """The secret of PKCE; gone once it was used."""
    client: str
    """Which client of which provider began it."""
    expires_at: float
    status: AuthorizationStatus = "pending"
    is_taken: bool = False
    """True once somebody came back with it."""
    problem: str = ""
    """Why it failed."""


class UnknownState(Exception):
    """A state that nobody gave out, that was used already, or whose time is over."""


class PendingStates:
    """Every authorization under way in a workspace, from whichever process it was begun."""

    def __init__(self, files: SealedFolder, now: Callable[[], float]) -> None:
        self._files = files
        self._now = now

    def begin(self, owner: Owner, redirect_uri: str, scopes: tuple[str, ...], client: str) -> tuple[str, Pending]:
        """A new state, and what is kept of it."""
        self._prune()
        state = secrets.token_urlsafe(32)
        pending = Pending(
            owner=owner,
            redirect_uri=redirect_uri,
            scopes=scopes,
            verifier=secrets.token_urlsafe(48),
            client=client,
            expires_at=self._now() + VALID_SECONDS,
        )
        self._write(state, pending)
        return state, pending

    async def take(self, state: str) -> Pending:
        """Use a state up; nobody else gets it. Raises UnknownState."""
        if self._read(state) is None:  # so that made-up states leave nothing behind
            raise UnknownState
        async with self._files.locked(_name(state), _LOCK_SECONDS):
            pending = self._read(state)
            if pending is None or pending.is_taken or self._now() >= pending.expires_at:
                raise UnknownState
            self._write(state, replace(pending, is_taken=True, verifier=""))
        return pending

    def close(self, state: str, pending: Pending, status: AuthorizationStatus, problem: str = "") -> None:
        """Keep how it ended."""
        self._write(state, replace(pending, is_taken=True, verifier="", status=status, problem=problem))

    def status(self, state: str) -> AuthorizationStatus:
        """How it stands. What is over or was never begun has failed."""
        pending = self._read(state)
        if pending is None or (pending.status == "pending" and self._now() >= pending.expires_at):
            return "failed"
        return pending.status

    def problem(self, state: str) -> str:
        """Why it failed, for the user; empty while it did not."""
        pending = self._read(state)
        if self.status(state) != "failed":
            return ""
        return pending.problem if pending is not None and pending.problem else "its time is over"

    def is_taken(self, state: str) -> bool:
        """True once somebody came back with it."""
        pending = self._read(state)
        return pending is None or pending.is_taken

    def _read(self, state: str) -> Pending | None:
        return self._opened(_name(state))

    def _opened(self, name: str) -> Pending | None:
        try:
            plain = self._files.read(name)
            return msgspec.json.decode(plain, type=Pending) if plain is not None else None
        except (Damaged, msgspec.DecodeError):
            return None

    def _write(self, state: str, pending: Pending) -> None:
        self._files.write(_name(state), msgspec.json.encode(pending))

    def _prune(self) -> None:
        for name in self._files.names():
            pending = self._opened(name)
            if pending is None or self._now() > pending.expires_at + _KEPT_SECONDS:
                self._files.remove(name)
                self._files.remove(f"{name}.lock")


def _name(state: str) -> str:
    return name_of("state", state)
