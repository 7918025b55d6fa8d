"""The canonical bytes of a payload, and its digest. Equal payloads give equal bytes on any machine."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ferrule.model.catalog import fields_in_payload
from ferrule.model.tool import Tool

_NOWHERE = object()


def canonical(value: Any) -> bytes:
    """A value as canonical JSON: UTF-8, keys sorted at every level, no white space, numbers as they were meant."""
    # Raw members keep the order they were written in, so they are opened and written again.
    opened = msgspec.json.decode(msgspec.json.encode(value))
    if isinstance(value, Tool):
        _drop_shared_fields(value, opened)
    return msgspec.json.encode(opened, order="sorted")


def digest_of(payload: bytes) -> str:
    """The content digest of a canonical payload, in hex."""
    return hashlib.sha256(payload).hexdigest()


def digest_of_tool(tool: Tool) -> str:
    """The content digest a tool has, or would have, in a catalog."""
    return digest_of(canonical(tool))


def _drop_shared_fields(tool: Tool, opened: dict[str, Any]) -> None:
    """What the payload holds word for word is not written twice; `at_home` names the fields to take from there."""
    homes = fields_in_payload(tool.dialect, tool.payload)
    shared = [
        field for field, part in sorted(homes.items()) if opened.get(field, _NOWHERE) == msgspec.json.decode(part)
    ]
    for field in shared:
        del opened[field]
    if shared:
        opened["at_home"] = shared
