"""Words of MCP for what a tool is: its schema as MCP has it, hints about its safety, its icons."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.schema.internal_fields import model_schema
from ferrule.schema.validation.latest_draft import latest_draft

_HINTS = (("is_read_only", "readOnlyHint"), ("is_destructive", "destructiveHint"), ("is_open_world", "openWorldHint"))
_MOST_ICONS = 16
_OPEN = msgspec.Raw(b'{"type":"object"}')


class _Root(msgspec.Struct, gc=False):
    kind: Any = msgspec.field(default=None, name="type")


_root = msgspec.json.Decoder(_Root).decode


def hints_of(tool: Tool, is_idempotent: bool) -> dict[str, bool]:
    """Annotations from the facts that a definition declares; what was only inferred is not told."""
    hints = {
        hint: value
        for fact, hint in _HINTS
        if fact not in tool.inferred_facts and isinstance(value := getattr(tool.facts, fact), bool)
    }
    if is_idempotent:
        hints["idempotentHint"] = True
    return hints


def input_schema(tool: Tool) -> msgspec.Raw:
    """The schema of the arguments, word for word, unless MCP does not allow it so (MCP-135, MCP-136): its root is an object,
    and it is of no other dialect than 2020-12."""
    renewed = None
    try:
        schema = model_schema(tool)
        root = _root(schema)
        renewed = latest_draft(bytes(schema))
    except msgspec.DecodeError:  # `true`, or no object at all
        schema, root = tool.input_schema, _Root()
    except RecursionError:  # nested without end; calls of it are refused
        return _OPEN
    if renewed is None and root.kind == "object" and b"\n" not in bytes(schema):
        return schema
    written: Any = msgspec.json.decode(schema) if renewed is None else renewed
    if not isinstance(written, dict):
        written = {}
    kind = written.get("type")
    if kind == "string":  # a tool that takes one text: as the one field of an object
        text = {key: value for key, value in written.items() if key != "$schema"}
        written = {"type": "object", "properties": {"input": text}, "required": ["input"]}
    return msgspec.Raw(msgspec.json.encode({"type": "object", **written, **{"type": "object"}}))


def icons_of(written: Any) -> list[dict[str, Any]]:
    """Icons that a client may load: of `https:` and `data:` addresses (MCP-291)."""
    if not isinstance(written, list | tuple):
        return []
    return [icon for icon in written[:_MOST_ICONS] if isinstance(icon, dict) and is_icon_address(icon.get("src"))]


def is_icon_address(source: Any) -> bool:
    """True for what may be shown as an icon without running or reaching anything else."""
    return isinstance(source, str) and source.lower().startswith(("https://", "data:image/"))
