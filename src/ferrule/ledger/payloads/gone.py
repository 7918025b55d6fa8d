"""The words for payloads that cannot be had."""

from __future__ import annotations

from ferrule.contracts.payloads import PayloadGone
from ferrule.model.timestamps import iso

_LONGEST = 160


def unknown(uri: str) -> PayloadGone:
    """There is no such payload."""
    return PayloadGone("unknown", f"there is no payload {_shown(uri)}: it was never kept, or it was removed")


def expired(uri: str, at: int | None) -> PayloadGone:
    """It was kept for a time that is over."""
    when = f" at {iso(at)}" if at is not None else ""
    return PayloadGone("expired", f"the payload {_shown(uri)} expired{when}; the record of its call is still there")


def damaged(uri: str) -> PayloadGone:
    """The bytes are not those that were kept."""
    return PayloadGone("damaged", f"the payload {_shown(uri)} is damaged: its bytes are not those that were kept")


def _shown(uri: str) -> str:
    return ascii(uri[:_LONGEST])
