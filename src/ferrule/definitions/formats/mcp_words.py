"""Writes the parts of a tool as MCP has them: its schema, its annotations, its icons."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.schema.internal_fields import model_schema
from ferrule.schema.validation.latest_draft import latest_draft

_HINTS = (("is_read_only", "readOnlyHint"), ("is_destructive", "destructiveHint"), ("is_open_world", "openWorldHint"))
_MOST_ICONS = 16
_OPEN = msgspec.Raw(b'{"type":"object"}')


class _Root(msgspec.Struct, gc=False):
    kind: Any = msgspec.field(default=None, name="type")


_root = msgspec.json.Decoder(_Root).decode


def build_annotations(tool: Tool, is_idempotent: bool) -> dict[str, bool]:
    """Returns annotations from the facts that a definition states; inferred facts are omitted."""
    hints = {
        hint: value
        for fact, hint in _HINTS
        if fact not in tool.inferred_facts and isinstance(value := getattr(tool.facts, fact), bool)
    }
    if is_idempotent:
        hints["idempotentHint"] = True
    return hints


def build_input_schema(tool: Tool) -> msgspec.Raw:
    """Returns the schema of the arguments, unchanged if MCP allows it (MCP-135, MCP-136): its root is an object, and its dialect
    is 2020-12."""
    renewed = None
    try:
        schema = model_schema(tool)
        root = _root(schema)
        renewed = latest_draft(bytes(schema))
    except msgspec.DecodeError:  # `true`, or anything but an object
        schema, root = tool.input_schema, _Root()
    except RecursionError:  # nested too deeply; calls of it are refused
        return _OPEN
    # Messages over stdio end at a line break, so a schema with one is encoded anew.
    if renewed is None and root.kind == "object" and b"\n" not in bytes(schema):
        return schema
    written: Any = msgspec.json.decode(schema) if renewed is None else renewed
    if not isinstance(written, dict):
        written = {}
    kind = written.get("type")
    if kind == "string":  # a tool whose input is one text gets it as the only field of an object
        text = {key: value for key, value in written.items() if key != "$schema"}
        written = {"type": "object", "properties": {"input": text}, "required": ["input"]}
    return msgspec.Raw(msgspec.json.encode({"type": "object", **written, **{"type": "object"}}))


def list_icons(written: object) -> list[JsonObject]:
    """Returns icons that a client may load: from `https:` and `data:` addresses (MCP-291)."""
    if not isinstance(written, list | tuple):
        return []
    return [icon for icon in written[:_MOST_ICONS] if isinstance(icon, dict) and is_icon_address(icon.get("src"))]


def is_icon_address(source: object) -> bool:
    """Returns True for an address that can be shown as an icon without running code or reaching other hosts."""
    return isinstance(source, str) and source.lower().startswith(("https://", "data:image/"))
