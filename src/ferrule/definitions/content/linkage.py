"""Joins a tool with the Agent Tool records that describe it: interface, execution profile, permission profile.

Dialects call it for records embedded in a declaration, the catalog builder for records found by reference. Facts that the
records state replace inferred ones; the others stay fail-closed. Unknown fields stay in the payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ferrule.model.tool import CLOSED_WORLD_KINDS, FACT_NAMES, Record, Tool, infer_facts, raw
from ferrule.model.value import JsonObject

EMBEDDED_AS = {
    "interface": "tool_interface",
    "execution_profile": "execution_profile",
    "permission_profile": "permission_profile",
}
"""The key of a payload under which a record of a kind is kept."""
REFERRED_BY = {
    "interface": "interface_ref",
    "execution_profile": "execution_profile_ref",
    "permission_profile": "permission_profile_ref",
}
"""The key of a declaration that names a record of a kind."""


_WORDS = {
    "interface": ("tool_interface:", "interface:"),
    "execution_profile": ("execution_profile:",),
    "permission_profile": ("permission_profile:",),
}


def list_possible_ids(kind: str, reference: str) -> tuple[str, ...]:
    """Returns the ids a reference may mean, the likeliest first: as written, then without or with the word for its kind."""
    words = _WORDS[kind]
    bare = next((reference.removeprefix(word) for word in words if reference.startswith(word)), None)
    return (reference, bare) if bare is not None else (reference, *(word + reference for word in words))


def apply_record(tool: Tool, kind: str, record: JsonObject) -> Tool:
    """Applies a linked record of this kind to a tool and keeps it in the tool's payload."""
    payload: JsonObject = msgspec.json.decode(tool.payload)
    payload[EMBEDDED_AS[kind]] = record
    return replace_payload(tool, payload)


def link_records(tools: Iterable[Tool], records: Iterable[Record]) -> tuple[Tool, ...]:
    """Applies to each tool the Agent Tool records it refers to."""
    described = {(record.kind, record.record_id): record for record in records if record.kind in REFERRED_BY}
    return tuple(_link_tool(tool, described) for tool in tools)


def _link_tool(tool: Tool, described: Mapping[tuple[str, str], Record]) -> Tool:
    """Applies the interface and profiles that a declaration refers to and does not embed itself."""
    if tool.dialect != "agent_tool":
        return tool
    for kind, key in REFERRED_BY.items():
        # Decoded in every round: apply_record gives the tool a new payload.
        payload = msgspec.json.decode(tool.payload)
        named = payload.get(key)
        meant = list_possible_ids(kind, named) if isinstance(named, str) else ()
        record = next((described[kind, name] for name in meant if (kind, name) in described), None)
        if record is not None and EMBEDDED_AS[kind] not in payload:
            tool = apply_record(tool, kind, msgspec.json.decode(record.payload))
    return tool


def replace_payload(tool: Tool, payload: JsonObject) -> Tool:
    """Returns the tool that a declaration and the records embedded in it describe."""
    contract, output = _get_mapping(payload, "input_contract"), _get_mapping(payload, "output_contract")
    interface, permission = _get_mapping(payload, "tool_interface"), _get_mapping(payload, "permission_profile")
    stated = {name: interface[name] for name in FACT_NAMES if name in interface}
    if "strict" in contract:
        stated.setdefault("strict", contract["strict"])
    listed = interface.get("inferred_facts")
    unstated = frozenset(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else frozenset()
    derived = {"is_open_world": tool.tool_kind not in CLOSED_WORLD_KINDS}
    derived |= {name: value for name, value in stated.items() if name in unstated}
    facts, defaulted = infer_facts({name: value for name, value in stated.items() if name not in unstated}, **derived)
    credentials = permission.get("credential_refs") or interface.get("required_credentials")
    return msgspec.structs.replace(
        tool,
        input_schema=raw(_find_first({}, contract, interface, keys=("model_input_schema", "schema"))),
        runtime_input_schema=_encode_optional(_find_first(None, contract, interface, keys=("runtime_input_schema",))),
        output_schema=_encode_optional(
            _find_first(None, output, interface, keys=("structured_schema", "output_schema"))
        ),
        facts=facts,
        inferred_facts=defaulted,
        approval_required=permission.get("approval_required") is True,
        credentials=raw(credentials) if credentials else None,
        payload=raw(payload),
    )


def _get_mapping(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _find_first(default: object, *holders: JsonObject, keys: tuple[str, ...]) -> Any:
    return next((holder[key] for holder in holders for key in keys if key in holder), default)


def _encode_optional(value: object) -> msgspec.Raw | None:
    return None if value is None else raw(value)
