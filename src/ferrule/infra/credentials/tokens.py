"""The tokens users gave, each encrypted in a file of its own: one for a tenant, a principal and a provider.

The file's name follows from its owner and is part of what is sealed, so one user's file is worth nothing under another's name.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import msgspec

from ferrule.infra.credentials.oauth_records import Connection
from ferrule.infra.credentials.sealed import Damaged, SealedFolder, name_of
from ferrule.model.surface import DEFAULT_TENANT

_LOCK_SECONDS = 45.0
_log = logging.getLogger("ferrule.oauth")


class Owner(NamedTuple):
    """Whose tokens."""

    tenant: str
    principal: str
    provider: str

    @property
    def file_name(self) -> str:
        """Follows from the owner alone."""
        return name_of("tokens", *self)


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user's authorization gave. Secret."""

    access_token: str
    refresh_token: str = ""
    scopes: tuple[str, ...] = ()
    """What was granted."""
    asked: tuple[str, ...] = ()
    """What was asked for; a provider may grant less, or call it something else."""
    connected_at: float
    expires_at: float | None = None
    """When the access token ends."""
    refresh_at: float | None = None
    """From when on another one is asked for."""
    client: str
    """Which client of which provider it was given to; tokens are shown to nobody else."""

    def __repr__(self) -> str:
        return "Grant(…)"

    def is_fresh(self, now: float) -> bool:
        """True while the access token can be used."""
        return self.refresh_at is None or now < self.refresh_at


class _Stored(msgspec.Struct, frozen=True):
    owner: Owner
    grant: Grant


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode


class TokenStore:
    """Grants by owner."""

    def __init__(self, files: SealedFolder) -> None:
        self._files = files

    def read(self, owner: Owner) -> Grant | None:
        """An owner's grant. Raises Damaged."""
        found = self._stored(owner.file_name)
        if found is not None and found.owner != owner:
            raise Damaged("it belongs to somebody else")
        return found.grant if found is not None else None

    def write(self, owner: Owner, grant: Grant) -> None:
        """Keep a grant; the one before is replaced at that moment. Raises AccessError."""
        self._files.write(owner.file_name, _encode(_Stored(owner, grant)))

    def forget(self, owner: Owner) -> None:
        """Let there be none."""
        self._files.remove(owner.file_name)

    def locked(self, owner: Owner) -> AbstractAsyncContextManager[None]:
        """Alone with an owner's grant, among all processes. Raises Busy."""
        return self._files.locked(owner.file_name, _LOCK_SECONDS)

    def connections(self, principal: str | None = None, tenant: str = DEFAULT_TENANT) -> list[Connection]:
        """What stands, of one principal or of everybody, without tokens. A file that does not open is told in the log."""
        found = []
        for name in self._files.names():
            try:
                stored = self._stored(name)
            except Damaged as damaged:
                _log.warning("the tokens in %s cannot be used: %s", name[:12], damaged)
                continue
            if stored is None or stored.owner.file_name != name:
                continue
            owner = stored.owner
            if principal is None or (owner.principal == principal and owner.tenant == tenant):
                found.append(_connection(owner, stored.grant))
        return sorted(found, key=lambda one: (one.tenant, one.principal, one.provider))

    def _stored(self, name: str) -> _Stored | None:
        plain = self._files.read(name)
        if plain is None:
            return None
        try:
            return _decode(plain)
        except msgspec.DecodeError:
            raise Damaged("what it holds cannot be read") from None


def _connection(owner: Owner, grant: Grant) -> Connection:
    return Connection(
        provider=owner.provider,
        principal=owner.principal,
        tenant=owner.tenant,
        scopes=grant.scopes,
        connected_at=grant.connected_at,
        expires_at=grant.expires_at,
        is_renewable=bool(grant.refresh_token),
    )
