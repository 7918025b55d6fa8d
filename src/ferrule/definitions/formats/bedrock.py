"""Tools for Amazon Bedrock's Converse: the value of `toolConfig`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrule.definitions.formats.entries import Unreadable
from ferrule.definitions.formats.functions import FunctionList, Said
from ferrule.definitions.formats.offer import Offered
from ferrule.definitions.formats.openai import NAMES
from ferrule.model.value import JsonValue


class Bedrock(FunctionList):
    """`toolConfig` of Converse."""

    name = "bedrock"
    title = "Bedrock Converse"
    rule = NAMES
    profile = "bedrock"
    strict_profile = "anthropic-strict"
    schema_keys = frozenset({"inputSchema"})

    def claims(self, definition: dict[str, Any]) -> bool:
        """A tool in its wrapper."""
        return "toolSpec" in definition

    def said(self, definition: dict[str, Any]) -> Said:
        """What a tool says. Its schema is a document under `json`."""
        tool = definition.get("toolSpec")
        if tool is None and ("cachePoint" in definition or "systemTool" in definition):
            key = next(iter(definition))
            raise Unreadable(f"`{key}` is no tool that can be called", (key,), is_expected=True)
        if not isinstance(tool, dict):
            raise Unreadable("there is no `toolSpec`", ("toolSpec",), "put the name and the schema into it")
        holder = tool.get("inputSchema")
        if not isinstance(holder, dict) or "json" not in holder:
            hint = 'write `"inputSchema": {"json": {"type": "object"}}`'
            raise Unreadable("the tool has no schema", ("toolSpec", "inputSchema"), hint)
        strict = {"strict": tool["strict"]} if isinstance(tool.get("strict"), bool) else {}
        return Said(tool.get("name"), tool.get("description"), holder["json"] or {}, strict)

    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """The tool in its wrapper. A description must not be empty."""
        tool: dict[str, Any] = {"name": each.name}
        if each.description:
            tool["description"] = each.description
        tool["inputSchema"] = {"json": each.schema}
        if each.is_strict:
            tool["strict"] = True
        return {"toolSpec": tool}

    def document(self, definitions: list[dict[str, Any]], groups: Sequence[dict[str, Any] | None]) -> JsonValue:
        """What goes into `toolConfig`."""
        return {"tools": definitions}


FORMAT = Bedrock()
