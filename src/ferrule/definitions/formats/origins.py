"""Tools that came in by a format: what they carry under our key, what their format alone says, and what nothing else
bears out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.extension import ORIGIN, decode_raw, find_loosened_fields, read_extension, restore_tool
from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.tool import Tool
from ferrule.model.value import Path


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
        extension = read_extension(tool)
        origin = extension.get(ORIGIN)
        if not isinstance(origin, dict) or origin.get("dialect") != format_name:
            return None
        tool = restore_tool(tool, extension)
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
        found = decode_raw(tool.payload)
        found = found if isinstance(found, dict) else {}
        return _Payload(found.get("definition"), found.get("group"))


def own_words(tool: Tool) -> Iterator[str]:
    """Keys of the source's own, as a loss names them: `aml.transport`, `anthropic.cache_control`."""
    return (f"{tool.dialect}.{name}" for name in list_native_fields(tool))


CLAIMED = "claimed-harmless"


def doubts(tool: Tool, after: Tool, path: Path, key: str) -> list[Finding]:
    """`tool`: what the file says in its format's own words; `after`: with what it carries under `key`."""
    claims = find_loosened_fields(tool, after)
    if not claims:
        return []
    message = f"{after.name!r} is more harmless than its file says by itself: `{key}` claims {', '.join(claims)}"
    return [Finding(CLAIMED, path, message, Severity.WARNING, "believe it only if you trust whoever wrote the file")]
