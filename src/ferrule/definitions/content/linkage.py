"""Joins a tool with the Agent Tool records that describe it: interface, execution profile, permission profile.

A dialect calls it for records embedded in a declaration, the catalog builder for records found by reference. What the
records state replaces what was inferred; what they do not state stays fail-closed. Unknown fields stay in the payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ferrule.model.tool import CLOSED_WORLD_KINDS, FACT_NAMES, Record, Tool, infer_facts, raw

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


def ids_meant(kind: str, reference: str) -> tuple[str, ...]:
    """The ids a reference may mean, the likeliest first: as written, and without or with the word for its kind."""
    words = _WORDS[kind]
    bare = next((reference.removeprefix(word) for word in words if reference.startswith(word)), None)
    return (reference, bare) if bare is not None else (reference, *(word + reference for word in words))


def apply_record(tool: Tool, kind: str, record: dict[str, Any]) -> Tool:
    """The tool with what a linked record of this kind states; the record is kept in the payload."""
    payload: dict[str, Any] = msgspec.json.decode(tool.payload)
    payload[EMBEDDED_AS[kind]] = record
    return replace_payload(tool, payload)


def linked(tools: Iterable[Tool], records: Iterable[Record]) -> tuple[Tool, ...]:
    """The tools, each with the Agent Tool records it points at."""
    described = {(record.kind, record.record_id): record for record in records if record.kind in REFERRED_BY}
    return tuple(_linked(tool, described) for tool in tools)


def _linked(tool: Tool, described: Mapping[tuple[str, str], Record]) -> Tool:
    """A tool with the interface and profiles its declaration points at, where it does not carry them itself."""
    if tool.dialect != "agent_tool":
        return tool
    for kind, key in REFERRED_BY.items():
        payload = msgspec.json.decode(tool.payload)
        named = payload.get(key)
        meant = ids_meant(kind, named) if isinstance(named, str) else ()
        record = next((described[kind, name] for name in meant if (kind, name) in described), None)
        if record is not None and EMBEDDED_AS[kind] not in payload:
            tool = apply_record(tool, kind, msgspec.json.decode(record.payload))
    return tool


def replace_payload(tool: Tool, payload: dict[str, Any]) -> Tool:
    """The tool as its declaration and the records embedded in it describe it."""
    contract, output = _mapping(payload, "input_contract"), _mapping(payload, "output_contract")
    interface, permission = _mapping(payload, "tool_interface"), _mapping(payload, "permission_profile")
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
        input_schema=raw(_first({}, contract, interface, keys=("model_input_schema", "schema"))),
        runtime_input_schema=_raw_or_none(_first(None, contract, interface, keys=("runtime_input_schema",))),
        output_schema=_raw_or_none(_first(None, output, interface, keys=("structured_schema", "output_schema"))),
        facts=facts,
        inferred_facts=defaulted,
        approval_required=permission.get("approval_required") is True,
        credentials=raw(credentials) if credentials else None,
        payload=raw(payload),
    )


def _mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _first(default: Any, *holders: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((holder[key] for holder in holders for key in keys if key in holder), default)


def _raw_or_none(value: Any) -> msgspec.Raw | None:
    return None if value is None else raw(value)
