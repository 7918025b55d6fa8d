"""The tool that a function makes of itself, and its schema."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.runtime.functions import functions_in


def make_tool(function: Any) -> Tool:
    """The tool of a function, in the namespace `shop`."""
    (binding,) = functions_in(function, namespace="shop")
    assert binding.tool is not None
    return binding.tool


def read_input_schema(function: Any) -> dict[str, Any]:
    """The schema of its arguments."""
    schema: dict[str, Any] = msgspec.json.decode(make_tool(function).input_schema)
    return schema
