"""Lists the native fields of a tool: those of its own definition that no canonical field holds, such as `transport`.

A conversion into another format has no words for them and reports them by these names; the conversion back finds them by
the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ferrule.definitions.content.extension import decode_raw
from ferrule.model.loss import EXTENSION
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.model.value import JsonValue

Block = dict[str, Any]

_AML = frozenset(
    {"spec_version", "tool_id", "version", "status", "type", "approval_required", "max_calls_per_run", EXTENSION}
)
_AML_BLOCKS = {"meta": frozenset({"name", "description", "owner", "tags"}), "interface": frozenset({"input", "output"})}
_OXP = frozenset({"id", "name", "description", "version", "output_schema", "requirements"})
_OXP_INPUT = frozenset({"parameters", EXTENSION})
_ADL_ITEM = frozenset({"id", "name", "description", "tags", "schema"})
_AGENT_TOOL = frozenset(
    {"schema_version", "tool_id", "namespace", "name", "description", "lifecycle", "tool_kind", "title", "search_hint",
     "version", "aliases", "capability_refs", EXTENSION}
)  # fmt: skip
_AGENT_TOOL_BLOCKS = {
    "input_contract": frozenset({"schema", "model_input_schema", "runtime_input_schema", "strict"}),
    "output_contract": frozenset({"structured_schema"}),
    "tool_interface": frozenset(
        {"schema_version", "interface_id", "tool_id", "inferred_facts", "model_input_schema", "runtime_input_schema",
         "output_schema", "required_credentials", *FACT_NAMES}
    ),
    "execution_profile": frozenset({"schema_version", "execution_profile_id"}),
    "permission_profile": frozenset({"schema_version", "permission_profile_id", "approval_required", "credential_refs"}),
}  # fmt: skip
_PYTHON = frozenset({"input_contract", "tool_interface", "permission_profile", "execution_profile"})
_LIST_ENTRY = frozenset(
    {"type", "name", "title", "description", "parameters", "parametersJsonSchema", "parameters_json_schema",
     "input_schema", "inputSchema", "outputSchema", "function", "toolSpec"}
)  # fmt: skip
"""Members of an entry in the list of a server or provider that fields of the tool repeat."""


def list_native_fields(tool: Tool) -> Block:
    """Returns the native fields of a tool by dotted name: `permission_profile.risk_level`."""
    payload = decode_raw(tool.payload)
    if not isinstance(payload, dict):
        return {}
    return dict(_READERS.get(tool.dialect, _read_list_entry)(payload))


def _read_aml(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    return _iterate_unknown(payload, _AML, _AML_BLOCKS)


def _read_agent_tool(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    return _iterate_unknown(payload, _AGENT_TOOL, _AGENT_TOOL_BLOCKS)


def _read_oxp(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    wrapper = payload.get("input_schema")
    is_wrapped = isinstance(wrapper, dict) and "parameters" in wrapper  # a later draft has the schema itself there
    return _iterate_unknown(payload, _OXP if is_wrapped else _OXP | {"input_schema"}, {"input_schema": _OXP_INPUT})


def _read_adl(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    return _iterate_unknown(payload, frozenset({EXTENSION}), {"tool": _ADL_ITEM})


def _read_python(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    return _iterate_unknown(payload, _PYTHON, {})


def _read_list_entry(payload: Block) -> Iterator[tuple[str, JsonValue]]:
    definition = payload.get("definition", payload)
    for members in (definition, _get_member(definition, "function"), _get_member(definition, "toolSpec")):
        yield from _iterate_unknown(members, _LIST_ENTRY, {}) if isinstance(members, dict) else ()


def _iterate_unknown(
    value: Block, known: frozenset[str], blocks: dict[str, frozenset[str]]
) -> Iterator[tuple[str, JsonValue]]:
    for key, member in value.items():
        if key in blocks and isinstance(member, dict):
            yield from ((f"{key}.{name}", one) for name, one in member.items() if name not in blocks[key])
        elif key not in known and key not in blocks:
            yield key, member


def _get_member(value: object, key: str) -> JsonValue:
    return value.get(key) if isinstance(value, dict) else None


_READERS: dict[str, Callable[[Block], Iterator[tuple[str, JsonValue]]]] = {
    "aml": _read_aml,
    "adl": _read_adl,
    "oxp": _read_oxp,
    "agent_tool": _read_agent_tool,
    "python": _read_python,
}
