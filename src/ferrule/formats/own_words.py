"""What a tool's own format says of it that the canonical model has no field for, and a list of functions has no place for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

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


_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def own_words(tool: Tool) -> Iterator[str]:
    """Keys of the source's own, as a loss names them: `aml.transport`, `anthropic.cache_control`."""
    payload = _members(tool.payload)
    definition = _members(payload.get(_INSIDE.get(tool.dialect, "definition"))) or payload
    canonical = _CANONICAL.get(tool.dialect, _FUNCTION)
    for members in (definition, _members(definition.get("function")), _members(definition.get("toolSpec"))):
        yield from (f"{tool.dialect}.{key}" for key in members if key not in canonical)
    for block, known in _BLOCKS.get(tool.dialect, ()):
        members = _members(definition.get(block))
        yield from (f"{tool.dialect}.{block}.{key}" for key in members if key not in known)


def _members(written: msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    """The members of an object, unread; none of what is no object."""
    if written is None:
        return {}
    try:
        return _object(written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
