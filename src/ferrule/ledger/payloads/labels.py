"""Small parts of the payload stores: safe names for outputs, byte ranges, and the messages for payloads that are gone."""

from __future__ import annotations

import re

from ferrule.contracts.payloads import PayloadGone
from ferrule.model.timestamps import iso

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MEDIA_TYPE = re.compile(r"[0-9A-Za-z!#$&^_.+-]{1,100}/[0-9A-Za-z!#$&^_.+-]{1,100}(; ?[\x20-\x7e]{1,100})?")
UNKNOWN_TYPE = "application/octet-stream"


def clean_file_name(text: str) -> str:
    """Returns the last part of a path, printable and of limited length; empty when nothing is left of it."""
    last = _UNFIT.sub("", text.replace("\\", "/")).rsplit("/", 1)[-1].strip()
    return "" if last in (".", "..") else last.encode()[:200].decode(errors="ignore")


def clean_media_type(text: str) -> str:
    """Returns the media type; that of unknown bytes for an invalid text."""
    return text if _MEDIA_TYPE.fullmatch(text) else UNKNOWN_TYPE


def find_span(size: int, offset: int, limit: int | None) -> range:
    """Returns the positions from `offset` on, at most `limit` of them, that a payload of this size has. Raises
    ValueError below 0."""
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("offset and limit count bytes from 0 on")
    start = min(offset, size)
    return range(start, size if limit is None else min(start + limit, size))


_LONGEST = 160


def make_unknown_error(uri: str) -> PayloadGone:
    """Makes the error for a payload that does not exist."""
    return PayloadGone("unknown", f"there is no payload {_format_uri(uri)}: it was never stored, or it was removed")


def make_expired_error(uri: str, at: int | None) -> PayloadGone:
    """Makes the error for an expired payload."""
    when = f" at {iso(at)}" if at is not None else ""
    return PayloadGone(
        "expired", f"the payload {_format_uri(uri)} expired{when}; the record of its call is still there"
    )


def make_damaged_error(uri: str) -> PayloadGone:
    """Makes the error for bytes that differ from those that were stored."""
    return PayloadGone(
        "damaged", f"the payload {_format_uri(uri)} is damaged: its bytes are not those that were stored"
    )


def _format_uri(uri: str) -> str:
    return ascii(uri[:_LONGEST])
