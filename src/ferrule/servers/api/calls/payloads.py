"""Stored results: output that was too large for a record, complete or in ranges.

`runtime/pipeline/results/payload_access` decides who may read them; this module knows HTTP ranges and headers.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec

from ferrule.contracts.payloads import PayloadGone, StoredPayload, uri_of
from ferrule.runtime.pipeline.results.payload_access import find_payload, list_payload_uris
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import CallOwner, require_visible_call
from ferrule.servers.api.replies import CHECKED, AnyReply, JsonReply, Problem, has_tag, not_found
from ferrule.servers.api.shapes import describe
from ferrule.servers.asgi import Header, HttpAnswer, HttpStream

_CHUNK = 256 * 1024
_AT_ONCE = 1024 * 1024
_STATUSES = {"unknown": 404, "expired": 410, "denied": 403, "damaged": 500}
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:;\s*[\w-]+=[\w.+-]+)*", re.ASCII)


class PayloadState(msgspec.Struct, kw_only=True):
    """One stored result."""

    number: int
    uri: Annotated[str, describe("What results call it.")]
    is_there: bool
    reason: Annotated[
        str | None, describe("Why its bytes cannot be had: `expired`, `unknown`, `denied` or `damaged`.")
    ] = None
    media_type: str | None = None
    size: int | None = None
    digest: str | None = None
    name: str | None = None
    expires_at: str | None = None
    address: Annotated[str | None, describe("Where its bytes are.")] = None


class PayloadList(msgspec.Struct, kw_only=True):
    """The stored results of a call."""

    items: list[PayloadState]


async def list_payloads(ask: Ask) -> AnyReply:
    """Lists the stored results of a call."""
    owner = await require_visible_call(ask)
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    uris = list_payload_uris(rows) if rows else ()
    return JsonReply(
        PayloadList(items=[await _describe_payload(ask, owner, number, uri) for number, uri in enumerate(uris)])
    )


async def _describe_payload(ask: Ask, owner: CallOwner, number: int, uri: str) -> PayloadState:
    try:
        kept = await _load_payload(ask, owner, uri)
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


async def _load_payload(ask: Ask, owner: CallOwner, uri: str) -> StoredPayload:
    return await find_payload(ask.edge.app.services, uri, principal=owner.principal, tenant=owner.tenant)


async def get_payload(ask: Ask) -> AnyReply:
    """Returns the bytes of a stored result, or a range of them."""
    owner, number = await require_visible_call(ask), ask.parts["number"]
    if not re.fullmatch("0|[1-9][0-9]{0,5}", number):
        raise not_found()
    try:
        kept = await _load_payload(ask, owner, uri_of(ask.invocation_id, int(number)))
    except PayloadGone as gone:
        raise Problem(_STATUSES[gone.reason], f"payload_{gone.reason}", str(gone)) from None
    tag = f'"{kept.digest.removeprefix("sha256:")}"'.encode()
    headers: list[Header] = [(b"etag", tag), CHECKED, (b"accept-ranges", b"bytes")]
    if has_tag(ask.request, tag):
        return HttpAnswer(304, b"", headers)
    headers += _make_download_headers(kept)
    span = _parse_range(ask, kept.size, tag)
    if span is None:
        return await _send_bytes(ask, kept, 200, 0, kept.size, headers)
    first, last = span
    if first >= kept.size:
        there = (b"content-range", f"bytes */{kept.size}".encode())
        return Problem(416, "range_not_satisfiable", f"it has {kept.size} bytes", headers=[there]).answer(
            ask.request_id
        )
    headers.append((b"content-range", f"bytes {first}-{last}/{kept.size}".encode()))
    return await _send_bytes(ask, kept, 206, first, last + 1, headers)


def _make_download_headers(kept: StoredPayload) -> list[Header]:
    """Returns the headers that make a browser save the bytes, whatever media type the tool declared."""
    known = _MEDIA_TYPE.fullmatch(kept.media_type) is not None
    name = "".join(letter for letter in kept.name if letter.isascii() and (letter.isalnum() or letter in "._- "))
    disposition = f'attachment; filename="{name.strip()[:100]}"' if name.strip(". ") else "attachment"
    return [
        (b"content-type", kept.media_type.encode("ascii") if known else b"application/octet-stream"),
        (b"content-disposition", disposition.encode("ascii")),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
    ]


def _parse_range(ask: Ask, size: int, tag: bytes) -> tuple[int, int] | None:
    """Returns the first and last byte of the requested range; None for all of them. An invalid range counts as none
    (RFC 9110).
    """
    match = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", ask.request.header(b"range") or "")
    condition = ask.request.all_headers(b"if-range")
    if match is None or match[0] == "bytes=-" or (condition and condition[0].strip() != tag):
        return None
    if not match[1]:
        count = int(match[2])
        # A suffix of no bytes cannot be satisfied (RFC 9110, 14.1.2): a first byte past the end makes it a 416.
        return (max(0, size - count), size - 1) if count else (size, size)
    first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    return None if match[2] and int(match[2]) < first else (first, last)


async def _send_bytes(
    ask: Ask, kept: StoredPayload, status: int, first: int, end: int, headers: list[Header]
) -> HttpAnswer | HttpStream:
    """Sends a small part at once with its length; a large one as a stream."""
    parts = _read_parts(ask, kept, first, end)
    if end - first > _AT_ONCE:
        return HttpStream(status, parts, headers)
    try:
        return HttpAnswer(status, b"".join([part async for part in parts]), headers)
    except PayloadGone as gone:
        raise Problem(_STATUSES[gone.reason], f"payload_{gone.reason}", str(gone)) from None


async def _read_parts(ask: Ask, kept: StoredPayload, first: int, end: int) -> AsyncIterator[bytes]:
    store = ask.edge.app.services.payloads
    assert store is not None  # a found payload implies a store
    while first < end:
        part = await store.read(kept.uri, first, min(_CHUNK, end - first))
        if not part:
            return
        first += len(part)
        yield part
