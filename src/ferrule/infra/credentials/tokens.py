"""The tokens of users, each encrypted in a file of its own: one for a tenant, a principal and a provider.

The file's name follows from its owner and is part of what is sealed, so one user's file does not open under another's
name.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import msgspec

from ferrule.infra.credentials.oauth_records import UserConnection
from ferrule.infra.credentials.sealed import DamagedRecord, SealedFolder, hash_words
from ferrule.model.surface import DEFAULT_TENANT

_LOCK_SECONDS = 45.0
_log = logging.getLogger("ferrule.oauth")


class TokenOwner(NamedTuple):
    """The owner of a grant."""

    tenant: str
    principal: str
    provider: str

    @property
    def file_name(self) -> str:
        """The name of its file, which follows from the owner alone."""
        return hash_words("tokens", *self)


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tokens of one authorization. Secret."""

    access_token: str
    refresh_token: str = ""
    scopes: tuple[str, ...] = ()
    """The granted scopes."""
    asked: tuple[str, ...] = ()
    """The requested scopes; a provider may grant less, or name them differently."""
    connected_at: float
    expires_at: float | None = None
    """When the access token expires."""
    refresh_at: float | None = None
    """When to renew it."""
    client: str
    """The client and provider it was granted to; tokens are sent to no other."""

    def __repr__(self) -> str:
        return "Grant(…)"

    def is_fresh(self, now: float) -> bool:
        """True while the access token can be used."""
        return self.refresh_at is None or now < self.refresh_at


class _Stored(msgspec.Struct, frozen=True):
    owner: TokenOwner
    grant: Grant


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode


class TokenStore:
    """Grants by owner."""

    def __init__(self, files: SealedFolder) -> None:
        self._files = files

    def read(self, owner: TokenOwner) -> Grant | None:
        """Returns an owner's grant. Raises DamagedRecord."""
        found = self._read_stored(owner.file_name)
        if found is not None and found.owner != owner:
            raise DamagedRecord("it belongs to another user")
        return found.grant if found is not None else None

    def write(self, owner: TokenOwner, grant: Grant) -> None:
        """Replaces an owner's grant atomically. Raises AccessError."""
        self._files.write(owner.file_name, _encode(_Stored(owner, grant)))

    def forget(self, owner: TokenOwner) -> None:
        """Removes an owner's grant."""
        self._files.remove(owner.file_name)

    def lock(self, owner: TokenOwner) -> AbstractAsyncContextManager[None]:
        """Locks an owner's grant among all processes. Raises RecordBusy."""
        return self._files.lock(owner.file_name, _LOCK_SECONDS)

    def list_connections(self, principal: str | None = None, tenant: str = DEFAULT_TENANT) -> list[UserConnection]:
        """Lists standing authorizations, of one principal or of all, without tokens. Logs files that do not open."""
        found = []
        for name in self._files.names():
            try:
                stored = self._read_stored(name)
            except DamagedRecord as damaged:
                _log.warning("the tokens in %s cannot be used: %s", name[:12], damaged)
                continue
            # A copy under another name counts for nobody.
            if stored is None or stored.owner.file_name != name:
                continue
            owner = stored.owner
            if principal is None or (owner.principal == principal and owner.tenant == tenant):
                found.append(_connection(owner, stored.grant))
        return sorted(found, key=lambda one: (one.tenant, one.principal, one.provider))

    def _read_stored(self, name: str) -> _Stored | None:
        plain = self._files.read(name)
        if plain is None:
            return None
        try:
            return _decode(plain)
        except msgspec.DecodeError:
            raise DamagedRecord("what it holds cannot be read") from None


def _connection(owner: TokenOwner, grant: Grant) -> UserConnection:
    return UserConnection(
        provider=owner.provider,
        principal=owner.principal,
        tenant=owner.tenant,
        scopes=grant.scopes,
        connected_at=grant.connected_at,
        expires_at=grant.expires_at,
        is_renewable=bool(grant.refresh_token),
    )
