"""Tools that came in by a format, and may go out by it as they were."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.carried import ORIGIN, decoded, extension_of, restored
from ferrule.model.tool import Tool


class CameInAs(NamedTuple):
    """What a tool was when it came in."""

    tool: Tool
    """As it was, apart from what somebody changed since."""
    definition: dict[str, Any]
    """As its list had it."""
    group: dict[str, Any] | None = None
    """The group it stood in."""


class _Payload(msgspec.Struct, gc=False):
    definition: Any = None
    group: Any = None


_payload = msgspec.json.Decoder(_Payload).decode


def came_in_as(tool: Tool, format_name: str) -> CameInAs | None:
    """What a tool was in a format: it is one of it, or was before it was converted. None when it never was."""
    if tool.dialect != format_name:
        extension = extension_of(tool)
        origin = extension.get(ORIGIN)
        if not isinstance(origin, dict) or origin.get("dialect") != format_name:
            return None
        tool = restored(tool, extension)
        if tool.dialect != format_name:
            return None
    said = _read(tool)
    if not isinstance(said.definition, dict):
        return None
    group = said.group if isinstance(said.group, dict) and isinstance(said.group.get("name"), str) else None
    return CameInAs(tool, said.definition, group)


def _read(tool: Tool) -> _Payload:
    try:
        return _payload(tool.payload)
    except (msgspec.DecodeError, UnicodeDecodeError):  # half a character, a number past 64 bits
        found = decoded(tool.payload)
        found = found if isinstance(found, dict) else {}
        return _Payload(found.get("definition"), found.get("group"))
