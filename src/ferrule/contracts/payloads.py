"""Where the bytes of results are kept that are too large, too private or too long-lived for a row of the ledger.

A payload is written once and never changed. Its address follows from its invocation; its digest is of the bytes as they are
kept, redacted. Losing payloads loses bytes, never records: the ledger says that they were there, how many, and their digest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

Scope = Literal["durable", "session"]
SCHEME = "ferrule-payload:"
"""Addresses begin with it: `ferrule-payload:inv_…/0`."""


class PayloadOwner(msgspec.Struct, frozen=True):
    """Whose payload it is: who may read it back."""

    invocation_id: str
    principal: str
    tenant: str
    tool_id: str = ""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
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

    def close(self) -> Kept:
        """Make it readable, durably. Raises OSError."""

    def discard(self) -> None:
        """Give it up. Safe to call twice, and after close (then it does nothing)."""


class PayloadStore(Protocol):
    """Keeps payloads."""

    def begin(
        self, owner: PayloadOwner, *, media_type: str = "application/octet-stream", name: str = "",
        scope: Scope = "durable", expires_at: int | None = None,
    ) -> PayloadWriter:  # fmt: skip
        """A writer for one payload. Raises OSError."""

    async def describe(self, uri: str) -> Kept:
        """What is known of a payload. Raises PayloadGone (`unknown`, `expired`)."""

    async def read(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Its bytes, or a range of them. Raises PayloadGone."""

    def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Its bytes, a chunk at a time, checked against the digest at the end. Raises PayloadGone."""

    async def remove(self, uri: str) -> bool:
        """Destroy the bytes; what is known of them stays elsewhere. False when there were none."""

    async def sweep(self, now: int) -> int:
        """Remove what has expired; gives how many."""

    async def aclose(self) -> None:
        """Let go; payloads of scope `session` end here."""
