"""What a tool's own dialect says of it and no canonical field does, by name: `transport`, `permission_profile.risk_level`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ferrule.dialects import adl_emit, agent_tool_emit, aml_emit, oxp_emit
from ferrule.formats.own_words import own_words
from ferrule.model.carried import decoded
from ferrule.model.tool import Tool

_NATIVE: dict[str, Callable[[dict[str, Any]], Mapping[str, Any]]] = {
    "aml": aml_emit.beyond,
    "adl": adl_emit.beyond_item,
    "oxp": oxp_emit.beyond,
    "agent_tool": agent_tool_emit.beyond,
}


def beyond(tool: Tool) -> dict[str, Any]:
    """By dotted name, with what is said. Empty for a dialect that has no words of its own."""
    if tool.dialect not in _NATIVE:
        prefix = f"{tool.dialect}."
        return {name.removeprefix(prefix): None for name in own_words(tool)}
    payload = decoded(tool.payload)
    return dict(_NATIVE[tool.dialect](payload)) if isinstance(payload, dict) else {}
