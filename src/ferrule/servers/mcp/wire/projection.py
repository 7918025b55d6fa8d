"""One tool in the words of one revision (sections 11 and 29 of the digest).

Hints come from facts that a definition declares; what was only inferred is not told. A tool of an upstream server is shown in
its own words, marked as such: what a stranger says about its safety is not our claim (MCP-288).
"""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.formats.mcp_words import hints_of, icons_of, input_schema
from ferrule.definitions.guidance import described
from ferrule.infra.lockfile.tools import DIALECT as UPSTREAM
from ferrule.model.tool import Tool
from ferrule.servers.mcp.wire.messages import OWN
from ferrule.servers.mcp.wire.output_schemas import output_schema

OLDEST, SECOND = "2025-03-26", "2025-06-18"
META_UPSTREAM = f"{OWN}upstream"
ALWAYS_LOAD, SEARCH_HINT = "anthropic/alwaysLoad", "anthropic/searchHint"
"""Hints for clients that defer tools themselves."""
DEFER_LOADING = f"{OWN}deferLoading"
_NOT_RELAYED = frozenset({"name", "execution", "inputSchema", "outputSchema", "_meta", "icons", "title", "annotations"})


class _Said(msgspec.Struct, gc=False):
    """What a payload may say of a tool that the canonical model has no field for."""

    idempotent: Any = None
    icons: Any = None
    definition: Any = None
    server_id: Any = None


_said = msgspec.json.Decoder(_Said).decode


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


def _relay(shown: dict[str, Any], native: dict[str, Any], revision: str) -> None:
    """Members of an upstream's definition that have no place of their own here; the oldest revision has none besides."""
    if revision != OLDEST:
        shown.update((key, value) for key, value in native.items() if key not in _NOT_RELAYED and key not in shown)


def _annotations(tool: Tool, said: _Said, native: dict[str, Any] | None) -> dict[str, Any]:
    if native is not None:
        written = native.get("annotations")
        return dict(written) if isinstance(written, dict) else {}
    return hints_of(tool, said.idempotent is True)


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
