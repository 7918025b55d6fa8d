"""One tool in the words of one revision (sections 11 and 29 of the digest).

Hints come from facts that a definition declares; what was only inferred is not told. A tool of an upstream server is shown in
its own words, marked as such: what a stranger says about its safety is not our claim (MCP-288).
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.locking.tools import DIALECT as UPSTREAM
from ferrule.model.internal_fields import model_schema
from ferrule.model.tool import Tool
from ferrule.servers.mcp.guidance import described
from ferrule.servers.mcp.output_schemas import output_schema
from ferrule.servers.mcp.wire import OWN

OLDEST, SECOND = "2025-03-26", "2025-06-18"
META_UPSTREAM = f"{OWN}upstream"
ALWAYS_LOAD, SEARCH_HINT = "anthropic/alwaysLoad", "anthropic/searchHint"
"""Hints for clients that defer tools themselves."""
DEFER_LOADING = f"{OWN}deferLoading"
_LATEST_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_HINTS = (("is_read_only", "readOnlyHint"), ("is_destructive", "destructiveHint"), ("is_open_world", "openWorldHint"))
_NOT_RELAYED = frozenset({"name", "execution", "inputSchema", "outputSchema", "_meta", "icons", "title", "annotations"})
_MOST_ICONS = 16
_OPEN = msgspec.Raw(b'{"type":"object"}')


class _Said(msgspec.Struct, gc=False):
    """What a payload may say of a tool that the canonical model has no field for."""

    idempotent: Any = None
    icons: Any = None
    definition: Any = None
    server_id: Any = None


class _Root(msgspec.Struct, gc=False):
    kind: Any = msgspec.field(default=None, name="type")
    draft: Any = msgspec.field(default=None, name="$schema")


_said = msgspec.json.Decoder(_Said).decode
_root = msgspec.json.Decoder(_Root).decode


def projected(tool: Tool, name: str, revision: str, description: str = "", **hints: Any) -> dict[str, Any]:
    """A tool as `tools/list` shows it. `description`: in place of the tool's own. `hints`: members of `_meta`."""
    said = _payload(tool)
    native = said.definition if tool.dialect == UPSTREAM and isinstance(said.definition, dict) else None
    shown: dict[str, Any] = {"name": name}
    title = tool.title if revision != OLDEST else None
    if title:
        shown["title"] = title
    shown["description"] = description or described(tool) or tool.title or name
    shown["inputSchema"] = input_schema(tool)
    if native is not None:
        _relay(shown, native, revision)
    if revision == OLDEST:
        annotations = _annotations(tool, said, native)
        if tool.title:
            annotations.setdefault("title", tool.title)
    else:
        schema = output_schema(tool, revision)
        if schema is not None:
            shown["outputSchema"] = schema
        annotations = _annotations(tool, said, native)
    if annotations:
        shown["annotations"] = annotations
    if revision not in (OLDEST, SECOND):
        icons = icons_of(said.icons if native is None else native.get("icons"))
        if icons:
            shown["icons"] = icons
    meta = {} if revision == OLDEST else _meta(tool, said, native, hints)
    if meta:
        shown["_meta"] = meta
    return shown


def input_schema(tool: Tool) -> msgspec.Raw:
    """The schema of the arguments, word for word, unless MCP does not allow it so (MCP-135, MCP-136): its root is an object,
    and it names no other dialect than 2020-12."""
    try:
        schema = model_schema(tool)
        root = _root(schema)
    except msgspec.DecodeError:  # `true`, or no object at all
        schema, root = tool.input_schema, _Root()
    except RecursionError:  # nested without end; calls of it are refused
        return _OPEN
    if root.kind == "object" and root.draft in (None, _LATEST_DRAFT) and b"\n" not in bytes(schema):
        return schema
    written: Any = msgspec.json.decode(schema)
    if not isinstance(written, dict):
        written = {}
    kind = written.get("type")
    if kind == "string":  # a tool that takes one text: as the one field of an object
        text = {key: value for key, value in written.items() if key != "$schema"}
        written = {"type": "object", "properties": {"input": text}, "required": ["input"]}
    return msgspec.Raw(msgspec.json.encode({"type": "object", **_latest(written), **{"type": "object"}}))


def _latest(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that does not ask for another dialect: strict clients would refuse the tool."""
    return (
        schema
        if schema.get("$schema") in (None, _LATEST_DRAFT)
        else {k: v for k, v in schema.items() if k != "$schema"}
    )


def icons_of(written: Any) -> list[dict[str, Any]]:
    """Icons that a client may load: of `https:` and `data:` addresses (MCP-291)."""
    if not isinstance(written, list | tuple):
        return []
    return [icon for icon in written[:_MOST_ICONS] if isinstance(icon, dict) and is_icon_address(icon.get("src"))]


def is_icon_address(source: Any) -> bool:
    """True for what may be shown as an icon without running or reaching anything else."""
    return isinstance(source, str) and source.lower().startswith(("https://", "data:image/"))


def _relay(shown: dict[str, Any], native: dict[str, Any], revision: str) -> None:
    """Members of an upstream's definition that have no place of their own here; the oldest revision has none besides."""
    if revision != OLDEST:
        shown.update((key, value) for key, value in native.items() if key not in _NOT_RELAYED and key not in shown)


def _annotations(tool: Tool, said: _Said, native: dict[str, Any] | None) -> dict[str, Any]:
    if native is not None:
        written = native.get("annotations")
        return dict(written) if isinstance(written, dict) else {}
    hints = {
        hint: value
        for fact, hint in _HINTS
        if fact not in tool.inferred_facts and isinstance(value := getattr(tool.facts, fact), bool)
    }
    if said.idempotent is True:
        hints["idempotentHint"] = True
    return hints


def _meta(tool: Tool, said: _Said, native: dict[str, Any] | None, hints: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if native is not None:
        written = native.get("_meta")
        meta = dict(written) if isinstance(written, dict) else {}
        meta[META_UPSTREAM] = {"server": said.server_id, "tool": native.get("name"), "annotations": "untrusted"}
    if tool.search_hint:
        meta.setdefault(SEARCH_HINT, tool.search_hint)
    return meta | hints


def _payload(tool: Tool) -> _Said:
    try:
        return _said(tool.payload)
    except msgspec.DecodeError:
        return _Said()
