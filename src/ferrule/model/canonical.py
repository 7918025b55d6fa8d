"""The canonical bytes of a payload, and its digest. Equal payloads give equal bytes on any machine.

The catalog and the seal rest on it. It knows no file and no key.
"""

from __future__ import annotations

import hashlib

import msgspec

from ferrule.model.catalog import fields_in_payload
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject

_NOT_THERE = object()


def canonical(value: object) -> bytes:
    """Encodes a value as canonical JSON: UTF-8, keys sorted at every level, no white space, numbers as they were meant."""
    # Raw members keep the order they were written in, so they are opened and written again.
    opened = msgspec.json.decode(msgspec.json.encode(value))
    if isinstance(value, Tool):
        _drop_shared_fields(value, opened)
    return msgspec.json.encode(opened, order="sorted")


def digest_of(payload: bytes) -> str:
    """Returns the content digest of a canonical payload, in hex."""
    return hashlib.sha256(payload).hexdigest()


def digest_of_tool(tool: Tool) -> str:
    """Returns the content digest a tool has, or would have, in a catalog."""
    return digest_of(canonical(tool))


def _drop_shared_fields(tool: Tool, opened: JsonObject) -> None:
    """Removes the fields that the payload holds word for word; `at_home` names them, to be read from there."""
    shared_fields = fields_in_payload(tool.dialect, tool.payload)
    shared = [
        field
        for field, part in sorted(shared_fields.items())
        if opened.get(field, _NOT_THERE) == msgspec.json.decode(part)
    ]
    for field in shared:
        del opened[field]
    if shared:
        opened["at_home"] = shared
