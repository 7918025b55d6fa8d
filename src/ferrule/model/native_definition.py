"""Reads from a tool's native payload what the canonical tool has no field for.

Native references are the ids that a deferred reference carries for the system where the tool really lives (AT-180).
Injected entries are dependencies of an ADL definition (`inject`): the logger, the agent's config, its services. Stubs
and `runtime/functions` use them; how services are made is not known here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject


class _Interface(msgspec.Struct):
    native_ids: Any = None


class _Transport(msgspec.Struct):
    tool_name: Any = None


class _Payload(msgspec.Struct):
    external_mappings: Any = None
    tool_interface: _Interface = msgspec.field(default_factory=_Interface)
    transport: _Transport = msgspec.field(default_factory=_Transport)
    extension: Any = msgspec.field(default=None, name=EXTENSION)
    input_schema: Any = None


_decode = msgspec.json.Decoder(_Payload).decode


def native_ref(tool: Tool) -> JsonObject:
    """Returns the first of `native_refs`; empty when none is known."""
    return next(iter(native_refs(tool)), {})


def native_refs(tool: Tool) -> tuple[JsonObject, ...]:
    """Returns the external mappings, its own or those under our key, else the interface's native ids, else the name at
    an MCP server.

    Never includes an address of ours: it may hold a credential, and a search does not need it.
    """
    try:
        payload = _decode(tool.payload)
    except msgspec.DecodeError:  # no mapping, or something else where a mapping is usual
        return ()
    mappings = payload.external_mappings
    if mappings is None:
        mappings = _mappings_in(payload.extension) or _mappings_in(_member(payload.input_schema, EXTENSION))
    refs = tuple(each for each in mappings if isinstance(each, dict)) if isinstance(mappings, list) else ()
    if refs:
        return refs
    if isinstance(payload.tool_interface.native_ids, dict):
        return (payload.tool_interface.native_ids,)
    name = payload.transport.tool_name
    return ({"source": "mcp", "tool_name": name},) if isinstance(name, str) else ()


def _mappings_in(extension: object) -> Any:
    return _member(extension, "external_mappings")


def _member(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


LOGGER, CONFIG = "logger", "config"


def entries_of(tool: Tool) -> tuple[str, ...] | None:
    """Returns what a tool's definition injects; None when its dialect has no injection."""
    if tool.dialect != "adl":
        return None
    payload = msgspec.json.decode(tool.payload)
    item = payload.get("tool") if isinstance(payload, dict) else None
    inject = item.get("inject") if isinstance(item, dict) else None
    return tuple(entry for entry in inject if isinstance(entry, str)) if isinstance(inject, list) else ()
