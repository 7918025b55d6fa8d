"""Stored results: what was too large for a record, whole or in ranges."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec

from ferrule.contracts.payloads import PayloadGone, StoredPayload, uri_of
from ferrule.runtime.pipeline.results.payload_access import find_payload, payloads_of
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import Owner, demand_sight
from ferrule.servers.api.replies import CHECKED, Problem, Replied, Reply, has_tag, not_found
from ferrule.servers.api.shapes import says
from ferrule.servers.asgi import Answer, Header, Stream

_CHUNK = 256 * 1024
_AT_ONCE = 1024 * 1024
_STATUSES = {"unknown": 404, "expired": 410, "denied": 403, "damaged": 500}
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:;\s*[\w-]+=[\w.+-]+)*", re.ASCII)


class PayloadState(msgspec.Struct, kw_only=True):
    """One stored result."""

    number: int
    uri: Annotated[str, says("What results call it.")]
    is_there: bool
    reason: Annotated[str | None, says("Why its bytes cannot be had: `expired`, `unknown`, `denied` or `damaged`.")] = (
        None
    )
    media_type: str | None = None
    size: int | None = None
    digest: str | None = None
    name: str | None = None
    expires_at: str | None = None
    address: Annotated[str | None, says("Where its bytes are.")] = None


class PayloadList(msgspec.Struct, kw_only=True):
    """What is stored of a call."""

    items: list[PayloadState]


async def list_payloads(ask: Ask) -> Replied:
    """What is stored of a call's output."""
    owner = await demand_sight(ask)
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    uris = payloads_of(rows) if rows else ()
    return Reply(PayloadList(items=[await _described(ask, owner, number, uri) for number, uri in enumerate(uris)]))


async def _described(ask: Ask, owner: Owner, number: int, uri: str) -> PayloadState:
    try:
        kept = await _found(ask, owner, uri)
    except PayloadGone as gone:
        return PayloadState(number=number, uri=uri, is_there=False, reason=gone.reason)
    return PayloadState(
        number=number,
        uri=uri,
        is_there=True,
        media_type=kept.media_type,
        size=kept.size,
        digest=kept.digest,
        name=kept.name or None,
        expires_at=kept.ref.get("expires_at"),
        address=f"/v1/calls/{ask.invocation_id}/payloads/{number}",
    )


async def _found(ask: Ask, owner: Owner, uri: str) -> StoredPayload:
    return await find_payload(ask.edge.app.services, uri, principal=owner.principal, tenant=owner.tenant)


async def get_payload(ask: Ask) -> Replied:
    """The bytes of a stored result."""
    owner, number = await demand_sight(ask), ask.parts["number"]
    if not re.fullmatch("0|[1-9][0-9]{0,5}", number):
        raise not_found()
    try:
        kept = await _found(ask, owner, uri_of(ask.invocation_id, int(number)))
    except PayloadGone as gone:
        raise Problem(_STATUSES[gone.reason], f"payload_{gone.reason}", str(gone)) from None
    tag = f'"{kept.digest.removeprefix("sha256:")}"'.encode()
    headers: list[Header] = [(b"etag", tag), CHECKED, (b"accept-ranges", b"bytes")]
    if has_tag(ask.request, tag):
        return Answer(304, b"", headers)
    headers += _described_headers(kept)
    span = _range(ask, kept.size, tag)
    if span is None:
        return await _given(ask, kept, 200, 0, kept.size, headers)
    first, last = span
    if first >= kept.size:
        there = (b"content-range", f"bytes */{kept.size}".encode())
        return Problem(416, "range_not_satisfiable", f"it has {kept.size} bytes", headers=[there]).answer(
            ask.request_id
        )
    headers.append((b"content-range", f"bytes {first}-{last}/{kept.size}".encode()))
    return await _given(ask, kept, 206, first, last + 1, headers)


def _described_headers(kept: StoredPayload) -> list[Header]:
    """Whatever a tool said its output is, a browser only saves it."""
    known = _MEDIA_TYPE.fullmatch(kept.media_type) is not None
    name = "".join(letter for letter in kept.name if letter.isascii() and (letter.isalnum() or letter in "._- "))
    disposition = f'attachment; filename="{name.strip()[:100]}"' if name.strip(". ") else "attachment"
    return [
        (b"content-type", kept.media_type.encode("ascii") if known else b"application/octet-stream"),
        (b"content-disposition", disposition.encode("ascii")),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
    ]


def _range(ask: Ask, size: int, tag: bytes) -> tuple[int, int] | None:
    """The first and last byte that are wanted; None for all of them. What cannot be read as one range is no range (RFC 9110)."""
    said = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", ask.request.header(b"range") or "")
    condition = ask.request.all_headers(b"if-range")
    if said is None or said[0] == "bytes=-" or (condition and condition[0].strip() != tag):
        return None
    if not said[1]:
        count = int(said[2])
        return (max(0, size - count), size - 1) if count else (size, size)
    first, last = int(said[1]), min(int(said[2]) if said[2] else size - 1, size - 1)
    return None if said[2] and int(said[2]) < first else (first, last)


async def _given(
    ask: Ask, kept: StoredPayload, status: int, first: int, end: int, headers: list[Header]
) -> Answer | Stream:
    """Few bytes at once, with their number; many in parts."""
    parts = _bytes(ask, kept, first, end)
    if end - first > _AT_ONCE:
        return Stream(status, parts, headers)
    try:
        return Answer(status, b"".join([part async for part in parts]), headers)
    except PayloadGone as gone:
        raise Problem(_STATUSES[gone.reason], f"payload_{gone.reason}", str(gone)) from None


async def _bytes(ask: Ask, kept: StoredPayload, first: int, end: int) -> AsyncIterator[bytes]:
    store = ask.edge.app.services.payloads
    assert store is not None  # what was found is there
    while first < end:
        part = await store.read(kept.uri, first, min(_CHUNK, end - first))
        if not part:
            return
        first += len(part)
        yield part
