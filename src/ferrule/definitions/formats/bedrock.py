"""Writes and reads tools for Amazon Bedrock's Converse: the value of `toolConfig`."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.definitions.formats.entries import UnreadableTool
from ferrule.definitions.formats.functions import FunctionDefinition, FunctionList
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.definitions.formats.openai import NAMES
from ferrule.model.value import JsonObject, JsonValue


class Bedrock(FunctionList):
    """`toolConfig` of Converse."""

    name = "bedrock"
    title = "Bedrock Converse"
    rule = NAMES
    profile = "bedrock"
    strict_profile = "anthropic-strict"
    schema_keys = frozenset({"inputSchema"})

    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a tool in its wrapper."""
        return "toolSpec" in definition

    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a tool, whose schema is under `json`."""
        tool = definition.get("toolSpec")
        if tool is None and ("cachePoint" in definition or "systemTool" in definition):
            key = next(iter(definition))
            raise UnreadableTool(f"`{key}` is no tool that can be called", (key,), is_expected=True)
        if not isinstance(tool, dict):
            raise UnreadableTool("there is no `toolSpec`", ("toolSpec",), "put the name and the schema into it")
        holder = tool.get("inputSchema")
        if not isinstance(holder, dict) or "json" not in holder:
            hint = 'write `"inputSchema": {"json": {"type": "object"}}`'
            raise UnreadableTool("the tool has no schema", ("toolSpec", "inputSchema"), hint)
        strict = {"strict": tool["strict"]} if isinstance(tool.get("strict"), bool) else {}
        return FunctionDefinition(tool.get("name"), tool.get("description"), holder["json"] or {}, strict)

    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns the tool in its wrapper. A description must not be empty."""
        tool: JsonObject = {"name": each.name}
        if each.description:
            tool["description"] = each.description
        tool["inputSchema"] = {"json": each.schema}
        if each.is_strict:
            tool["strict"] = True
        return {"toolSpec": tool}

    def build_document(self, definitions: list[JsonObject], groups: Sequence[JsonObject | None]) -> JsonValue:
        """Returns the value of `toolConfig`."""
        return {"tools": definitions}


FORMAT = Bedrock()
