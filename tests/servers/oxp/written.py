"""OXP definitions, quickly written."""

from __future__ import annotations

from typing import Any


def definition(tool_id: str, parameters: Any = None, output: Any = None, **more: Any) -> dict[str, Any]:
    """An OXP definition."""
    tool, _, version = tool_id.partition("@")
    return {
        "id": tool_id,
        "name": tool.replace(".", "_"),
        "description": f"Does what {tool} does.",
        "version": version,
        "input_schema": {"parameters": parameters if parameters is not None else {"type": "object"}},
        "output_schema": output,
        **more,
    }


ADDENDS = {
    "type": "object",
    "properties": {
        "a": {"type": "number", "description": "The first number."},
        "b": {"type": "number", "description": "The second number."},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
