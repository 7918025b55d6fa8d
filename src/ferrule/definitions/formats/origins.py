"""The origins of imported tools: their original definitions, and claims about safety that only our extension makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.extension import ORIGIN, decode_raw, find_loosened_fields, read_extension, restore_tool
from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, Path


class OriginalTool(NamedTuple):
    """The original of an imported tool."""

    tool: Tool
    """The original, with later edits."""
    definition: JsonObject
    """The definition in its list."""
    group: JsonObject | None = None
    """Its group in the list."""


class _Payload(msgspec.Struct, gc=False):
    definition: Any = None
    group: Any = None


_payload = msgspec.json.Decoder(_Payload).decode


def find_original(tool: Tool, format_name: str) -> OriginalTool | None:
    """Returns a tool's original in a format; None for a tool that never had that format."""
    if tool.dialect != format_name:
        extension = read_extension(tool)
        origin = extension.get(ORIGIN)
        if not isinstance(origin, dict) or origin.get("dialect") != format_name:
            return None
        tool = restore_tool(tool, extension)
        if tool.dialect != format_name:
            return None
    said = _read_payload(tool)
    if not isinstance(said.definition, dict):
        return None
    group = said.group if isinstance(said.group, dict) and isinstance(said.group.get("name"), str) else None
    return OriginalTool(tool, said.definition, group)


def _read_payload(tool: Tool) -> _Payload:
    try:
        return _payload(tool.payload)
    except (msgspec.DecodeError, UnicodeDecodeError):  # a lone surrogate, or a number past 64 bits
        found = decode_raw(tool.payload)
        found = found if isinstance(found, dict) else {}
        return _Payload(found.get("definition"), found.get("group"))


def list_own_keys(tool: Tool) -> Iterator[str]:
    """Returns keys that only the source's format has, as a loss names them: `aml.transport`, `anthropic.cache_control`."""
    return (f"{tool.dialect}.{name}" for name in list_native_fields(tool))


CLAIMED = "claimed-harmless"


def find_doubtful_claims(tool: Tool, after: Tool, path: Path, key: str) -> list[Finding]:
    """Reports facts that are safer than the file states. `tool`: without the extension; `after`: with it, under `key`."""
    claims = find_loosened_fields(tool, after)
    if not claims:
        return []
    message = f"{after.name!r} is more harmless than its file says by itself: `{key}` claims {', '.join(claims)}"
    return [Finding(CLAIMED, path, message, Severity.WARNING, "believe it only if you trust whoever wrote the file")]
