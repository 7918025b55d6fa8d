"""What a tool's own format says of it that the canonical model has no field for, and a list of functions has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule.model.carried import decoded
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import Tool

_CANONICAL: dict[str, frozenset[str]] = {
    "aml": frozenset(
        {"spec_version", "tool_id", "version", "status", "meta", "type", "interface", "approval_required",
         "max_calls_per_run", EXTENSION}
    ),
    "adl": frozenset({"id", "name", "description", "schema", "tags", EXTENSION}),
    "oxp": frozenset({"id", "name", "description", "version", "input_schema", "output_schema", EXTENSION}),
    "agent_tool": frozenset(
        {"schema_version", "tool_id", "namespace", "name", "aliases", "search_hint", "title", "description", "lifecycle",
         "tool_kind", "capability_refs", "input_contract", "output_contract", "version", "tags", "owner",
         "max_calls_per_run", "external_mappings", "interface_ref", "execution_profile_ref", "permission_profile_ref",
         "tool_interface", "execution_profile", "permission_profile", EXTENSION}
    ),
    "mcp": frozenset({"name", "title", "description", "inputSchema", "outputSchema"}),
    "python": frozenset({"input_contract", "tool_interface", "permission_profile", "execution_profile"}),
}  # fmt: skip
"""Members of a payload that fields of the tool repeat, or that are about running it here."""
_BLOCKS = {"aml": (("meta", ("name", "description", "owner", "tags")), ("interface", ("input", "output")))}
_INSIDE = {"adl": "tool", "mcp": "definition", "oxp_server": "definition"}
"""Where a payload holds the definition itself."""
_FUNCTION = frozenset(
    {"type", "name", "description", "parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema",
     "inputSchema", "function", "toolSpec"}
)  # fmt: skip


def own_words(tool: Tool) -> Iterator[str]:
    """Keys of the source's own, as a loss names them: `aml.transport`, `anthropic.cache_control`."""
    payload = decoded(tool.payload)
    if not isinstance(payload, dict):
        return
    definition: Any = payload.get(_INSIDE.get(tool.dialect, "definition"), payload)
    if not isinstance(definition, dict):
        return
    for members in (definition, definition.get("function"), definition.get("toolSpec")):
        if isinstance(members, dict):
            canonical = _CANONICAL.get(tool.dialect, _FUNCTION)
            yield from (f"{tool.dialect}.{key}" for key in members if key not in canonical)
    for block, known in _BLOCKS.get(tool.dialect, ()):
        if isinstance(definition.get(block), dict):
            yield from (f"{tool.dialect}.{block}.{key}" for key in definition[block] if key not in known)
