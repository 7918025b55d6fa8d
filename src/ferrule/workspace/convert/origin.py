"""Chooses the form of a converted tool: the original one, or the converted one, once it was edited.

A definition that a conversion wrote holds the original form in its extension. The tool keeps that form, with edits in words that
both forms know, until an edit uses words that only the new dialect has (a transport, a profile): then the new form is the
tool's own, and the original one stays in the extension.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ferrule.definitions.content.extension import ORIGIN, read_extension, restore_tool
from ferrule.definitions.content.linkage import EMBEDDED_AS
from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.definitions.dialects import agent_tool_emit, aml_emit, oxp_emit
from ferrule.definitions.dialects.agent_tool import IDS
from ferrule.model.tool import Tool, raw
from ferrule.model.value import JsonObject


def restore_original(tool: Tool) -> Tool:
    """Returns a tool with its extension restored, in the form that counts."""
    extension = read_extension(tool)
    if not extension:
        return tool
    before = restore_tool(tool, extension)
    if ORIGIN not in extension or before.dialect == tool.dialect:
        return before
    if tool.dialect in _AGAIN and not _is_untouched(tool, before):
        return msgspec.structs.replace(before, dialect=tool.dialect, payload=tool.payload)
    return before


def _is_untouched(tool: Tool, before: Tool) -> bool:
    """Returns True when converting the original form again gives the definition's own words."""
    try:
        again = _AGAIN[tool.dialect](before)
        return list_native_fields(tool) == list_native_fields(msgspec.structs.replace(tool, payload=raw(again)))
    except (ValueError, TypeError, KeyError, RecursionError):  # an original form that cannot be written
        return False


def _convert_to_aml(before: Tool) -> JsonObject:
    return aml_emit.emit_tool(before).value


def _convert_to_oxp(before: Tool) -> JsonObject:
    return oxp_emit.emit_tool(before).value


def _convert_to_adl(before: Tool) -> JsonObject:
    return {}


def _convert_to_agent_tool(before: Tool) -> JsonObject:
    declaration, *records = agent_tool_emit.split_records(before, agent_tool_emit.emit_tool(before).value)
    for record in records:
        key = next(key for kind, key in EMBEDDED_AS.items() if IDS[kind] in record)
        declaration[key] = record
    return declaration


_AGAIN: dict[str, Callable[[Tool], JsonObject]] = {
    "aml": _convert_to_aml,
    "adl": _convert_to_adl,
    "oxp": _convert_to_oxp,
    "agent_tool": _convert_to_agent_tool,
}
"""The conversions to a payload, by dialect."""
