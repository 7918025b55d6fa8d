"""A tool of a shop, and what a format writes of it."""

from __future__ import annotations

from typing import Any

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.tool import FACT_NAMES, Tool, raw

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "note": {"type": "string"}},
    "required": ["order"],
}


def tool(name: str = "refund", **more: Any) -> Tool:
    given: dict[str, Any] = {
        "tool_id": f"shop.{name}",
        "namespace": "shop",
        "name": name,
        "description": "Give money back.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "agent_tool",
        "input_schema": raw(SCHEMA),
        "inferred_facts": FACT_NAMES,
    }
    return Tool(**given | more)


def write_tools(name: str, *tools: Tool, **options: Any) -> Any:
    return FORMATS.get(name).write(tools, WriteOptions(**options)).value
