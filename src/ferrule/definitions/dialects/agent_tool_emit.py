"""Writes a tool as records of Agent Tool: a declaration, an interface, an execution profile and a permission profile, linked.

The draft is one declaration with the others embedded, which is how they are read back; `records_of` takes it apart.
"""

from __future__ import annotations

from typing import Any

from ferrule.definitions.content.extension import as_json, decoded, differences
from ferrule.definitions.content.linkage import EMBEDDED_AS, REFERRED_BY
from ferrule.definitions.dialects.agent_tool import IDS, VERSION, compiled_declaration
from ferrule.definitions.dialects.writing import Draft, Told, Words, Written, base_of, secret_names, written
from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import FACT_NAMES, Tool, risk_of
from ferrule.model.value import is_blank

_TEXTS = ("tool_id", "namespace", "name", "description", "lifecycle", "tool_kind", "title", "search_hint", "version")
_REQUIRED = frozenset({"tool_id", "namespace", "name", "description", "lifecycle", "tool_kind"})
_LISTS = ("aliases", "capability_refs")
_CONTRACTS = {
    "input_schema": ("input_contract", "model_input_schema"),
    "runtime_input_schema": ("input_contract", "runtime_input_schema"),
    "output_schema": ("output_contract", "structured_schema"),
}
_ELSEWHERE = {
    "input_schema": ("schema", "model_input_schema"),
    "runtime_input_schema": ("runtime_input_schema",),
    "output_schema": ("output_schema",),
}
"""Where an older or embedded record may say the same (AT-86)."""


def written_tool(tool: Tool, beyond: tuple[str, ...] = (), is_plain: bool = False) -> Written:
    """The declaration with its records embedded."""
    return written(tool, WORDS, beyond, is_plain=is_plain)


def _draft(tool: Tool) -> Draft:
    told: dict[str, Told] = {}
    base = _usable(base_of(tool, "agent_tool"))
    if base is None:
        value: dict[str, Any] = {"schema_version": VERSION}
        fields = {*_TEXTS, *_LISTS, *_CONTRACTS, "facts", "inferred_facts", "approval_required", "credentials"}
        value["external_mappings"] = [*native_refs(tool), native_id(tool)]
        value |= {key: {} for key in EMBEDDED_AS.values()}
    else:
        value, back = base
        fields = {place.partition("/")[0].partition(".")[0] for place in differences(tool, back)}
    _say(value, tool, fields, told)
    if isinstance(contract := value.get("input_contract"), dict):
        value["input_contract"] = _marked(contract)
        told.setdefault(
            "runtime_input_schema", Told("internal fields are marked as such", "AT-58", "visibility: internal")
        )
    return Draft(value, told, is_fresh=base is None)


def native_id(tool: Tool) -> dict[str, Any]:
    """What a tool is called in the dialect it was written in (AT-257)."""
    payload = decoded(tool.payload)
    payload = payload if isinstance(payload, dict) else {}
    item = payload.get("tool")
    match tool.dialect:
        case "aml":
            known = {"tool_id": payload.get("tool_id"), "version": payload.get("version")}
        case "oxp":
            known = {"tool_id": payload.get("id"), "tool_name": payload.get("name")}
        case "adl":
            known = {"agent": tool.namespace, "tool_id": item.get("id") if isinstance(item, dict) else tool.name}
        case "python":
            known = {"function": payload.get("function"), "tool_name": tool.name}
        case _:
            known = {"tool_id": tool.tool_id, "tool_name": tool.name}
    return {"source": tool.dialect, **{key: value for key, value in known.items() if isinstance(value, str)}}


def _usable(base: dict[str, Any] | None) -> tuple[dict[str, Any], Tool] | None:
    """A declaration to begin with, and what it says; None for one that cannot be read."""
    if base is None:
        return None
    value = {key: member for key, member in base.items() if key != EXTENSION}
    try:
        return {**value}, compiled_declaration(value)
    except Exception:  # a payload that somebody else wrote down: dialects promise nothing about definitions with errors
        return None


def _say(value: dict[str, Any], tool: Tool, fields: set[str], told: dict[str, Told]) -> None:
    """Writes the fields that the value does not say yet."""
    for field in _TEXTS:
        if field in fields:
            _put(value, field, _text(tool, field, told))
    for field in _LISTS:
        if field in fields:
            _put(value, field, list(getattr(tool, field)) or None)
    for field, (block, key) in _CONTRACTS.items():
        if field in fields:
            _say_schema(value, tool, field, block, key)
            told[field] = Told("a schema is an object", "AT-22")
    if not fields.isdisjoint({"facts", "inferred_facts"}):
        facts = {fact: getattr(tool.facts, fact) for fact in FACT_NAMES}
        unstated = [fact for fact in FACT_NAMES if fact in tool.inferred_facts]
        value["tool_interface"] = {**_block(value, "tool_interface"), **facts, "inferred_facts": unstated}
    if "approval_required" in fields:
        permission = {**_block(value, "permission_profile"), "approval_required": tool.approval_required}
        value["permission_profile"] = permission
    if "credentials" in fields:
        _say_credentials(value, tool, told)


def _text(tool: Tool, field: str, told: dict[str, Told]) -> str | None:
    text: str | None = getattr(tool, field)
    if field not in _REQUIRED or not is_blank(text):
        return text
    put = tool.name if field == "description" and not is_blank(tool.name) else "unnamed"
    told[field] = Told("a declaration says it", "AT-1", put, is_default=True)
    return put


def _say_schema(value: dict[str, Any], tool: Tool, field: str, block: str, key: str) -> None:
    members = {name: member for name, member in _block(value, block).items() if name not in _ELSEWHERE[field]}
    schema = as_json(tool, field)
    if getattr(tool, field) is not None:
        members[key] = schema if isinstance(schema, dict) else ({} if schema is True else {"not": {}})
    else:
        members.pop(key, None)
        interface = {
            name: one for name, one in _block(value, "tool_interface").items() if name not in _ELSEWHERE[field]
        }
        _put(value, "tool_interface", interface if value.get("tool_interface") is not None else None)
    _put(value, block, members or None)


def _say_credentials(value: dict[str, Any], tool: Tool, told: dict[str, Told]) -> None:
    names = list(secret_names(as_json(tool, "credentials")))
    told["credentials"] = Told(
        "credentials are named, and it is not said where they are kept", "AT-124", ", ".join(names)
    )
    permission = {key: one for key, one in _block(value, "permission_profile").items() if key != "credential_refs"}
    interface = {key: one for key, one in _block(value, "tool_interface").items() if key != "required_credentials"}
    value["permission_profile"] = {**permission, **({"credential_refs": names} if names else {})}
    _put(value, "tool_interface", interface if value.get("tool_interface") is not None else None)


def _put(value: dict[str, Any], key: str, member: Any) -> None:
    if member is None:
        value.pop(key, None)
    else:
        value[key] = member


def _block(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


WORDS = Words(
    "agent_tool",
    "Agent Tool",
    "AT-278",
    _draft,
    compiled_declaration,
    lambda value, extension: {**value, EXTENSION: extension},
)


def records_of(tool: Tool, declaration: dict[str, Any]) -> list[dict[str, Any]]:
    """The declaration and the records that describe it, linked by reference.

    A record that is referred to and was not found lives in another system; none is made up in its place. The version of the
    standard stays the one that was written (AT-280).
    """
    version = declaration.get("schema_version", VERSION)
    declaration = {"schema_version": version, **declaration}
    records = [declaration]
    for kind, key in EMBEDDED_AS.items():
        embedded = declaration.pop(key, None)
        reference = declaration.get(REFERRED_BY[kind])
        if embedded is None and reference:
            continue
        record: dict[str, Any] = dict(embedded or {})
        identity = record.get(IDS[kind]) or reference or _made_up(tool, key)
        declaration[REFERRED_BY[kind]] = reference or identity
        record = {"schema_version": version, **record, IDS[kind]: identity}
        records.append(_completed(tool, kind, record))
    return records


def _made_up(tool: Tool, key: str) -> str:
    version = f"@{tool.version}" if tool.version else ""
    return f"{key}:{tool.namespace}.{tool.name}{version}"


def _completed(tool: Tool, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """A record with what the tool knows: facts in the interface, the kind of execution, the risk."""
    if kind == "interface":
        facts = {fact: getattr(tool.facts, fact) for fact in FACT_NAMES}
        return record | {"tool_id": tool.tool_id} | facts | {"inferred_facts": list(tool.inferred_facts)}
    if kind == "execution_profile":
        return {"execution_kind": _EXECUTED_BY.get(tool.tool_kind, "embedded_runtime")} | record
    risk = risk_of(tool, {"permission_profile": record})
    return {"risk_level": risk} | record | ({"approval_required": True} if tool.approval_required else {})


_EXECUTED_BY = {
    "mcp_tool": "mcp_server",
    "openapi_operation": "http_api",
    "web_search": "http_api",
    "shell_command": "shell",
    "code_execution": "local_process",
    "browser_action": "browser",
    "model_task": "model_service",
    "peer_agent_tool": "peer_agent",
    "native_tool": "native_app",
}
"""The execution kind that goes without saying; whatever else runs inside the runtime."""


def _marked(contract: dict[str, Any]) -> dict[str, Any]:
    """The contract with every internal field listed and marked (AT-58): readers look at one or the other."""
    runtime = contract.get("runtime_input_schema")
    listed = list(contract.get("internal_only_fields") or ())
    if not isinstance(runtime, dict) or not isinstance(runtime.get("properties"), dict):
        return contract
    members = dict(runtime["properties"])
    for name, member in members.items():
        if not isinstance(member, dict):
            continue
        if name in listed:
            members[name] = member | {"visibility": "internal"}
        elif member.get("visibility") == "internal":
            listed.append(name)
    if not listed:
        return contract
    return contract | {"runtime_input_schema": runtime | {"properties": members}, "internal_only_fields": listed}
