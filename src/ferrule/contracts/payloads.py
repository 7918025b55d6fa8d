"""Where the bytes of results are kept that are too large, too private or too long-lived for a row of the ledger.

A payload is written once and never changed. Its address follows from its invocation; its digest is of the bytes as they are
kept, redacted. Losing payloads loses bytes, never records: the ledger says that they were there, how many, and their digest.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from ferrule.model.timestamps import iso

Scope = Literal["durable", "session"]
"""How long bytes are meant to last: until they expire, or no longer than the process that wrote them."""
Access = Literal["owner", "protected"]
"""Who may read them: the principal they were made for; or, of private output, only a person, never through a surface."""
SCHEME = "ferrule-payload:"
"""Addresses begin with it: `ferrule-payload:inv_…/0`."""
_ADDRESS = re.compile(SCHEME + r"(inv_[0-9A-Za-z_-]{1,120})/(0|[1-9][0-9]{0,5})")


class PayloadOwner(msgspec.Struct, frozen=True):
    """Whose payload it is: who may read it back."""

    invocation_id: str
    principal: str
    tenant: str
    tool_id: str = ""


class StoredPayload(msgspec.Struct, frozen=True, kw_only=True):
    """One payload that was kept."""

    uri: str
    media_type: str
    digest: str
    """`sha256:` and 64 hexadecimal digits, of the bytes as kept."""
    size: int
    """Bytes."""
    created_at: int
    """Microseconds since 1970."""
    owner: PayloadOwner
    expires_at: int | None = None
    scope: Scope = "durable"
    name: str = ""
    """A file name to save it under, where the tool gave one."""
    access: Access = "owner"

    @property
    def ref(self) -> dict[str, Any]:
        """What records and content blocks say of it."""
        ref: dict[str, Any] = {
            "uri": self.uri,
            "media_type": self.media_type,
            "digest": self.digest,
            "size": self.size,
            "scope": self.scope,
            "access": self.access,
        }
        if self.expires_at is not None:
            ref["expires_at"] = iso(self.expires_at)
        if self.name:
            ref["name"] = self.name
        return ref


class PayloadAddress(NamedTuple):
    """Where a payload is: the invocation it belongs to, and its number there."""

    invocation_id: str
    number: int


def address_of(uri: str) -> PayloadAddress | None:
    """What an address means; None for anything that is not exactly one, so nothing can be reached by writing it oddly."""
    found = _ADDRESS.fullmatch(uri) if isinstance(uri, str) else None
    return None if found is None else PayloadAddress(found[1], int(found[2]))


def uri_of(invocation_id: str, number: int) -> str:
    """The address of an invocation's payload. Raises ValueError for an invocation id that cannot stand in one."""
    uri = f"{SCHEME}{invocation_id}/{number}"
    if address_of(uri) is None:
        raise ValueError(f"{invocation_id[:60]!r} is no invocation id")
    return uri


def payload_block(kept: StoredPayload) -> dict[str, Any]:
    """The content block that stands for a payload in a result."""
    return {"type": "persisted_output_ref", **kept.ref}


class PayloadGone(Exception):
    """The bytes cannot be had: `reason` is `expired`, `unknown`, `denied` or `damaged`."""

    def __init__(self, reason: Literal["expired", "unknown", "denied", "damaged"], message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PayloadWriter(Protocol):
    """One payload on its way in. Nothing is visible until it is closed; what is not closed leaves nothing behind."""

    size: int
    """Bytes written so far."""

    def write(self, chunk: bytes) -> None:
        """Add bytes. Safe from a worker thread. Raises OSError when there is no room."""

    def close(self) -> StoredPayload:
        """Make it readable, durably. Raises OSError."""

    def discard(self) -> None:
        """Give it up. Safe to call twice, and after close (then it does nothing)."""


class PayloadStore(Protocol):
    """Keeps payloads."""

    def begin(
        self, owner: PayloadOwner, *, media_type: str = "application/octet-stream", name: str = "",
        scope: Scope = "durable", expires_at: int | None = None, access: Access = "owner",
    ) -> PayloadWriter:  # fmt: skip
        """A writer for one payload. Raises OSError."""

    async def describe(self, uri: str) -> StoredPayload:
        """What is known of a payload. Raises PayloadGone (`unknown`, `expired`)."""

    async def read(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Its bytes, or a range of them; the whole is checked against the digest. Raises PayloadGone."""

    def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Its bytes, a chunk at a time, checked against the digest at the end. Raises PayloadGone."""

    async def remove(self, uri: str) -> bool:
        """Destroy the bytes; what is known of them stays elsewhere. False when there were none."""

    async def forget(self, invocation_ids: Collection[str]) -> int:
        """Destroy everything that was kept for these invocations; gives how many payloads that were. Raises OSError."""

    async def sweep(self, now: int) -> int:
        """Remove what has expired; gives how many."""

    async def aclose(self) -> None:
        """Let go; payloads of scope `session` end here."""
