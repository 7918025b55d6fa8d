"""Reads stored payloads back: who may read them, and why missing bytes are missing.

A payload of another caller looks exactly like one that does not exist. For the caller's own, the ledger knows why
bytes are missing, also after the store has removed them: records outlive bytes (AT-236, AT-274). `ferrule result`
starts with this module, so it stays apart from `payload_store` and imports little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ferrule.contracts.payloads import PayloadGone, StoredPayload, address_of, uri_of
from ferrule.model.journal import StoredEntry, header_of
from ferrule.model.timestamps import iso, parse_iso
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.services import Services


def _may_read(owner: str, owned_in: str, principal: str | None, tenant: str) -> bool:
    """Returns True for the principal of the call, the operator of its tenant, and the owner of the workspace."""
    if principal is None:
        return tenant in ("", owned_in)
    return (owner, owned_in) == (principal, tenant)


async def find_payload(
    services: Services, uri: str, *, principal: str | None, tenant: str = "", is_person: bool = False
) -> StoredPayload:
    """Returns the description of a payload. Raises PayloadGone.

    `principal` None: the owner of the workspace, who may read everything; with a `tenant`, everything of that tenant.
    `is_person`: True where no model reads along; only then is private output returned.
    """
    store = services.payloads
    if store is None:
        await _raise_gone(services, uri, PayloadGone("unknown", "there is no payload store"), principal, tenant)
    try:
        kept = await store.describe(uri)
    except PayloadGone as gone:
        await _raise_gone(services, uri, gone, principal, tenant)
    # Denied looks like unknown (decision 0013).
    if not _may_read(kept.owner.principal, kept.owner.tenant, principal, tenant):
        raise _build_unknown(uri)
    if kept.access == "protected" and not (is_person or principal is None):
        raise PayloadGone(
            "denied",
            f"{uri} is private output: it is not given out through a surface;"
            f" a person can save it with 'ferrule result {kept.owner.invocation_id} --save FILE'",
        )
    return kept


async def read_payload(
    services: Services,
    uri: str,
    principal: str | None,
    tenant: str = "",
    offset: int = 0,
    limit: int | None = None,
    *,
    is_person: bool = False,
) -> bytes:
    """Reads at most `limit` bytes of a payload from `offset` on. Raises PayloadGone, and ValueError for negative numbers."""
    kept = await find_payload(services, uri, principal=principal, tenant=tenant, is_person=is_person)
    assert services.payloads is not None  # `find_payload` raised otherwise
    return await services.payloads.read(kept.uri, offset, limit)


def list_payload_uris(rows: Sequence[StoredEntry]) -> tuple[str, ...]:
    """Lists the addresses of everything stored for a call, to remove when the call is erased."""
    records = [record for row in rows for record in row.segment().notes.get("persistence", ())]
    named = [record["persisted_ref"]["uri"] for record in records if record.get("persisted_ref")]
    # A payload the tool stored itself may be named only inside another payload; numbers are consecutive, so list them all.
    last = max((address.number for uri in named if (address := address_of(uri)) is not None), default=-1)
    return tuple(dict.fromkeys((*(uri_of(rows[0].call, number) for number in range(last + 1)), *named)))


async def _raise_gone(services: Services, uri: str, gone: PayloadGone, principal: str | None, tenant: str) -> NoReturn:
    """Raises PayloadGone with the reason why the bytes are missing, as far as the reader may know it."""
    address = address_of(uri)
    rows = [] if address is None else await services.store.rows_of(address.invocation_id)
    if not rows:
        raise _build_unknown(uri)
    header = header_of(rows[0].segment())
    if not _may_read(header.principal, header.tenant, principal, tenant):
        raise _build_unknown(uri)
    raise why_gone(rows, uri, gone, services.wall())


def why_gone(rows: Sequence[StoredEntry], uri: str, gone: PayloadGone, now: int) -> PayloadGone:
    """Explains from a call's rows why the bytes of its payload are missing: a store forgets what it has removed."""
    ref = _find_ref(rows, uri)
    expires = ref.get("expires_at")
    if gone.reason == "unknown" and expires is not None and parse_iso(expires) <= now:
        at = iso(parse_iso(expires))
        return PayloadGone("expired", f"the payload {uri} expired at {at}; the record of its call is still there")
    if gone.reason == "unknown" and ref:
        return PayloadGone("unknown", f"the bytes of {uri} were removed; the record of its call is still there")
    return gone if gone.reason != "unknown" else _build_unknown(uri)


def _find_ref(rows: Sequence[StoredEntry], uri: str) -> JsonObject:
    for row in rows:
        for record in row.segment().notes.get("persistence", ()):
            ref: JsonObject = record.get("persisted_ref") or {}
            if ref.get("uri") == uri:
                return ref
    return {}


def _build_unknown(uri: str) -> PayloadGone:
    return PayloadGone("unknown", f"there is no payload {uri[:160]!a} for you to read")
