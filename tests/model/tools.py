"""Makes small tools for the tests of the model."""

from __future__ import annotations

from typing import Any

from ferrule.model.tool import Tool, raw


def a_tool(name: str = "search", payload: Any = None, **fields: Any) -> Tool:
    """A tool with the fields given; `payload` is its native form."""
    usual: dict[str, Any] = {
        "tool_id": f"desk.{name}",
        "namespace": "desk",
        "name": name,
        "description": "Does it.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "agent_tool",
        "payload": raw({} if payload is None else payload),
    }
    return Tool(**{**usual, **fields})
