"""What a tool is called where it really lives: the native ids a deferred reference carries (AT-180)."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool


class _Interface(msgspec.Struct):
    native_ids: Any = None


class _Transport(msgspec.Struct):
    tool_name: Any = None


class _Payload(msgspec.Struct):
    external_mappings: Any = None
    tool_interface: _Interface = msgspec.field(default_factory=_Interface)
    transport: _Transport = msgspec.field(default_factory=_Transport)


_decode = msgspec.json.Decoder(_Payload).decode


def native_ref(tool: Tool) -> dict[str, Any]:
    """The first external mapping, else the interface's native ids, else the name at an MCP server; empty when none is known.

    An address is never part of it: it may hold a credential, and nobody who searches needs it.
    """
    try:
        payload = _decode(tool.payload)
    except msgspec.DecodeError:  # no mapping, or something else where a mapping is usual
        return {}
    mappings = payload.external_mappings
    if isinstance(mappings, list) and mappings and isinstance(mappings[0], dict):
        return mappings[0]
    if isinstance(payload.tool_interface.native_ids, dict):
        return payload.tool_interface.native_ids
    return {"tool_name": payload.transport.tool_name} if isinstance(payload.transport.tool_name, str) else {}
