"""The contract of the payload store: bytes of results that are too large, too private or too long-lived for a ledger
row.

A payload is written once and never changed. Its address follows from its invocation; its digest covers the redacted
bytes. Losing payloads loses bytes, never records: the ledger has their existence, size and digest.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

Scope = Literal["durable", "session"]
"""How long bytes are meant to last: until they expire, or no longer than the process that wrote them."""
Access = Literal["owner", "protected"]
"""Who may read them: the principal they were made for; or, of private output, only a person, never through a surface."""
SCHEME = "ferrule-payload:"
"""Addresses begin with it: `ferrule-payload:inv_…/0`."""
_ADDRESS = re.compile(SCHEME + r"(inv_[0-9A-Za-z_-]{1,120})/(0|[1-9][0-9]{0,5})")


class PayloadOwner(msgspec.Struct, frozen=True):
    """The owner of a payload, who may read it back."""

    invocation_id: str
    principal: str
    tenant: str
    tool_id: str = ""


class StoredPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The description of one stored payload."""

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
    def ref(self) -> JsonObject:
        """The description of a payload in records and content blocks."""
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
    """The address of a payload: the invocation it belongs to, and its number there."""

    invocation_id: str
    number: int


def address_of(uri: str) -> PayloadAddress | None:
    """Parses an address; returns None for anything that is not exactly one, so no odd spelling reaches a payload."""
    match = _ADDRESS.fullmatch(uri) if isinstance(uri, str) else None
    return None if match is None else PayloadAddress(match[1], int(match[2]))


def uri_of(invocation_id: str, number: int) -> str:
    """Returns the address of an invocation's payload. Raises ValueError for an invocation id that cannot be part of
    one."""
    uri = f"{SCHEME}{invocation_id}/{number}"
    if address_of(uri) is None:
        raise ValueError(f"{invocation_id[:60]!r} is no invocation id")
    return uri


def payload_block(payload: StoredPayload) -> JsonObject:
    """Returns the content block that stands for a payload in a result."""
    return {"type": "persisted_output_ref", **payload.ref}


class PayloadGone(Exception):
    """The bytes are not available: `reason` is `expired`, `unknown`, `denied` or `damaged`."""

    def __init__(self, reason: Literal["expired", "unknown", "denied", "damaged"], message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PayloadWriter(Protocol):
    """One payload being written. Nothing is visible until it is closed; a writer that is not closed leaves nothing
    behind."""

    size: int
    """Bytes written so far."""

    def write(self, chunk: bytes) -> None:
        """Adds bytes. Safe from a worker thread. Raises OSError when there is no room."""

    def close(self) -> StoredPayload:
        """Makes the payload readable, durably. Raises OSError."""

    def discard(self) -> None:
        """Gives the payload up. Safe to call twice, and after close (then it does nothing)."""


class PayloadStore(Protocol):
    """A store of payloads."""

    def begin(
        self, owner: PayloadOwner, *, media_type: str = "application/octet-stream", name: str = "",
        scope: Scope = "durable", expires_at: int | None = None, access: Access = "owner",
    ) -> PayloadWriter:  # fmt: skip
        """Opens a writer for one payload. Raises OSError."""

    async def describe(self, uri: str) -> StoredPayload:
        """Returns the description of a payload. Raises PayloadGone (`unknown`, `expired`)."""

    async def read(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Returns a payload's bytes, or a range of them; the complete payload is checked against the digest. Raises
        PayloadGone."""

    def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Yields a payload's bytes in chunks, and checks the digest at the end. Raises PayloadGone."""

    async def remove(self, uri: str) -> bool:
        """Destroys the bytes; their record stays in the ledger. Returns False when there were none."""

    async def forget(self, invocation_ids: Collection[str]) -> int:
        """Destroys all payloads of these invocations; returns how many there were. Raises OSError."""

    async def sweep(self, now: int) -> int:
        """Removes expired payloads; returns how many."""

    async def aclose(self) -> None:
        """Closes the store; payloads of scope `session` end here."""
