"""Payloads that last as long as their process: for tests and for trying things out."""

from __future__ import annotations

import errno
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Collection

from ferrule.contracts.payloads import Access, PayloadOwner, PayloadWriter, Scope, StoredPayload, address_of, uri_of
from ferrule.ledger.payloads.labels import (
    UNKNOWN_TYPE,
    clean_file_name,
    clean_media_type,
    find_span,
    make_damaged_error,
    make_expired_error,
    make_unknown_error,
)

_CHUNK = 256 * 1024


class MemoryPayloads:
    """Payloads in a dictionary. `room`: how many bytes fit in all; more is refused like on a full disk."""

    def __init__(self, clock: Callable[[], int], room: int | None = None) -> None:
        self._now = clock
        self._room = room
        self._kept: dict[str, tuple[StoredPayload, bytes]] = {}
        self._lock = threading.Lock()

    def begin(
        self, owner: PayloadOwner, *, media_type: str = UNKNOWN_TYPE, name: str = "",
        scope: Scope = "durable", expires_at: int | None = None, access: Access = "owner",
    ) -> PayloadWriter:  # fmt: skip
        """Begins a payload."""
        uri_of(owner.invocation_id, 0)
        return _Writer(self, owner, media_type, name, scope, expires_at, access)

    async def describe(self, uri: str) -> StoredPayload:
        """Returns the description of a payload. Raises PayloadGone."""
        return self._find(uri)[0]

    async def read(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Reads the bytes, or a range of them. Raises PayloadGone."""
        kept, data = self._find(uri)
        place = find_span(kept.size, offset, limit)
        if len(place) == kept.size and _digest(data) != kept.digest:
            raise make_damaged_error(uri)
        return data[place.start : place.stop]

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Yields the bytes, a chunk at a time. Raises PayloadGone."""
        kept, data = self._find(uri)
        for start in range(0, len(data), _CHUNK):
            yield data[start : start + _CHUNK]
        if _digest(data) != kept.digest:
            raise make_damaged_error(uri)

    async def remove(self, uri: str) -> bool:
        """Destroys the bytes; returns False when there were none."""
        with self._lock:
            return self._kept.pop(uri, None) is not None

    async def forget(self, invocation_ids: Collection[str]) -> int:
        """Destroys all payloads of these invocations; returns how many there were."""
        with self._lock:
            gone = [uri for uri, (kept, _) in self._kept.items() if kept.owner.invocation_id in invocation_ids]
            for uri in gone:
                del self._kept[uri]
        return len(gone)

    async def sweep(self, now: int) -> int:
        """Removes expired payloads; returns how many."""
        with self._lock:
            gone = [uri for uri, (kept, _) in self._kept.items() if _is_over(kept, now)]
            for uri in gone:
                del self._kept[uri]
        return len(gone)

    async def aclose(self) -> None:
        """Closes the store; payloads of scope `session` end here."""
        with self._lock:
            self._kept = {uri: pair for uri, pair in self._kept.items() if pair[0].scope == "durable"}

    def has_room(self, more: int) -> bool:
        """Returns True when so many more bytes fit."""
        return self._room is None or sum(len(data) for _, data in self._kept.values()) + more <= self._room

    def add(self, data: bytes, describe: Callable[[str, int], StoredPayload], invocation_id: str) -> StoredPayload:
        """Stores a payload under the next free address of its invocation."""
        with self._lock:
            number = next(n for n in range(len(self._kept) + 1) if uri_of(invocation_id, n) not in self._kept)
            kept = describe(uri_of(invocation_id, number), self._now())
            self._kept[kept.uri] = (kept, data)
            return kept

    def _find(self, uri: str) -> tuple[StoredPayload, bytes]:
        found = self._kept.get(uri) if address_of(uri) is not None else None
        if found is None:
            raise make_unknown_error(uri)
        if _is_over(found[0], self._now()):
            raise make_expired_error(uri, found[0].expires_at)
        return found


class _Writer:
    def __init__(
        self, store: MemoryPayloads, owner: PayloadOwner, kind: str, name: str, scope: Scope,
        expires_at: int | None, access: Access,
    ) -> None:  # fmt: skip
        self.size = 0
        self._store = store
        self._owner = owner
        self._data: bytearray | None = bytearray()
        self._facts = {"media_type": clean_media_type(kind), "name": clean_file_name(name)}
        self._scope: Scope = scope
        self._access: Access = access
        self._expires_at = expires_at
        self._lock = threading.Lock()

    def write(self, chunk: bytes) -> None:
        """Adds bytes. Raises OSError when there is no room."""
        with self._lock:
            if self._data is None:
                raise OSError(errno.EBADF, "the payload was closed or given up")
            if not self._store.has_room(self.size + len(chunk)):
                self._data = None
                raise OSError(errno.ENOSPC, "no room is left for payloads")
            self._data += chunk
            self.size = len(self._data)

    def close(self) -> StoredPayload:
        """Makes it readable."""
        with self._lock:
            if self._data is None:
                raise OSError(errno.EBADF, "the payload was closed or given up")
            data, self._data = bytes(self._data), None

        def describe(uri: str, now: int) -> StoredPayload:
            return StoredPayload(
                uri=uri, digest=_digest(data), size=len(data), created_at=now, owner=self._owner,
                expires_at=self._expires_at, scope=self._scope, access=self._access, **self._facts,
            )  # fmt: skip

        return self._store.add(data, describe, self._owner.invocation_id)

    def discard(self) -> None:
        """Gives it up."""
        with self._lock:
            self._data = None


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _is_over(kept: StoredPayload, now: int) -> bool:
    return kept.expires_at is not None and kept.expires_at <= now
