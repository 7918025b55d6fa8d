"""Writes a tool as records of Agent Tool: a declaration, an interface, an execution profile and a permission profile, linked.

The draft is one declaration with the others embedded, which is how they are read back; `split_records` separates them.
"""

from __future__ import annotations

from ferrule.definitions.content.extension import decode_raw, encode_field, find_differences
from ferrule.definitions.content.linkage import EMBEDDED_AS, REFERRED_BY
from ferrule.definitions.dialects.agent_tool import IDS, VERSION, compile_declaration
from ferrule.definitions.dialects.writing import (
    DialectDraft,
    DialectWriter,
    Shortfall,
    WrittenTool,
    find_base,
    list_secret_names,
    write_tool,
)
from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import FACT_NAMES, Tool, risk_of
from ferrule.model.value import JsonObject, is_blank

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
"""Keys under which an older or embedded record may state the same (AT-86)."""


def emit_tool(tool: Tool, native_fields: tuple[str, ...] = (), is_plain: bool = False) -> WrittenTool:
    """Writes the declaration with its records embedded."""
    return write_tool(tool, WRITER, native_fields, is_plain=is_plain)


def _write_draft(tool: Tool) -> DialectDraft:
    shortfalls: dict[str, Shortfall] = {}
    base = _read_base(find_base(tool, "agent_tool"))
    if base is None:
        value: JsonObject = {"schema_version": VERSION}
        fields = {*_TEXTS, *_LISTS, *_CONTRACTS, "facts", "inferred_facts", "approval_required", "credentials"}
        value["external_mappings"] = [*native_refs(tool), build_native_id(tool)]
        value |= {key: {} for key in EMBEDDED_AS.values()}
    else:
        value, back = base
        fields = {place.partition("/")[0].partition(".")[0] for place in find_differences(tool, back)}
    _write_fields(value, tool, fields, shortfalls)
    if isinstance(contract := value.get("input_contract"), dict):
        value["input_contract"] = _mark_internal_fields(contract)
        shortfalls.setdefault(
            "runtime_input_schema", Shortfall("internal fields are marked as such", "AT-58", "visibility: internal")
        )
    return DialectDraft(value, shortfalls, is_fresh=base is None)


def build_native_id(tool: Tool) -> JsonObject:
    """Returns a tool's names in the dialect it was written in (AT-257)."""
    payload = decode_raw(tool.payload)
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


def _read_base(base: JsonObject | None) -> tuple[JsonObject, Tool] | None:
    """Returns a declaration to start from and the tool it describes; None for one that cannot be read."""
    if base is None:
        return None
    value = {key: member for key, member in base.items() if key != EXTENSION}
    try:
        return value, compile_declaration(value)
    except Exception:  # the payload is a stranger's: dialects promise nothing about definitions with errors
        return None


def _write_fields(value: JsonObject, tool: Tool, fields: set[str], shortfalls: dict[str, Shortfall]) -> None:
    """Writes the fields that the value does not state yet."""
    for field in _TEXTS:
        if field in fields:
            _set_or_remove(value, field, _write_text(tool, field, shortfalls))
    for field in _LISTS:
        if field in fields:
            _set_or_remove(value, field, list(getattr(tool, field)) or None)
    for field, (block, key) in _CONTRACTS.items():
        if field in fields:
            _write_schema(value, tool, field, block, key)
            shortfalls[field] = Shortfall("a schema is an object", "AT-22")
    if not fields.isdisjoint({"facts", "inferred_facts"}):
        facts = {fact: getattr(tool.facts, fact) for fact in FACT_NAMES}
        unstated = [fact for fact in FACT_NAMES if fact in tool.inferred_facts]
        value["tool_interface"] = {**_get_block(value, "tool_interface"), **facts, "inferred_facts": unstated}
    if "approval_required" in fields:
        permission = {**_get_block(value, "permission_profile"), "approval_required": tool.approval_required}
        value["permission_profile"] = permission
    if "credentials" in fields:
        _write_credentials(value, tool, shortfalls)


def _write_text(tool: Tool, field: str, shortfalls: dict[str, Shortfall]) -> str | None:
    text: str | None = getattr(tool, field)
    if field not in _REQUIRED or not is_blank(text):
        return text
    put = tool.name if field == "description" and not is_blank(tool.name) else "unnamed"
    shortfalls[field] = Shortfall("a declaration says it", "AT-1", put, is_default=True)
    return put


def _write_schema(value: JsonObject, tool: Tool, field: str, block: str, key: str) -> None:
    members = {name: member for name, member in _get_block(value, block).items() if name not in _ELSEWHERE[field]}
    schema = encode_field(tool, field)
    if getattr(tool, field) is not None:
        members[key] = schema if isinstance(schema, dict) else ({} if schema is True else {"not": {}})
    else:
        members.pop(key, None)
        interface = {
            name: one for name, one in _get_block(value, "tool_interface").items() if name not in _ELSEWHERE[field]
        }
        _set_or_remove(value, "tool_interface", interface if value.get("tool_interface") is not None else None)
    _set_or_remove(value, block, members or None)


def _write_credentials(value: JsonObject, tool: Tool, shortfalls: dict[str, Shortfall]) -> None:
    names = list(list_secret_names(encode_field(tool, "credentials")))
    shortfalls["credentials"] = Shortfall(
        "credentials are named, and it is not said where they are kept", "AT-124", ", ".join(names)
    )
    permission = {key: one for key, one in _get_block(value, "permission_profile").items() if key != "credential_refs"}
    interface = {key: one for key, one in _get_block(value, "tool_interface").items() if key != "required_credentials"}
    value["permission_profile"] = {**permission, **({"credential_refs": names} if names else {})}
    _set_or_remove(value, "tool_interface", interface if value.get("tool_interface") is not None else None)


def _set_or_remove(value: JsonObject, key: str, member: object) -> None:
    if member is None:
        value.pop(key, None)
    else:
        value[key] = member


def _get_block(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


WRITER = DialectWriter(
    "agent_tool",
    "Agent Tool",
    "AT-278",
    _write_draft,
    compile_declaration,
    lambda value, extension: {**value, EXTENSION: extension},
)


def split_records(tool: Tool, declaration: JsonObject) -> list[JsonObject]:
    """Splits a declaration from the records that describe it, and links them by reference.

    A record that is referred to and was not found lives in another system; none is made up in its place. The version of
    the standard stays the written one (AT-280).
    """
    version = declaration.get("schema_version", VERSION)
    declaration = {"schema_version": version, **declaration}
    records = [declaration]
    for kind, key in EMBEDDED_AS.items():
        embedded = declaration.pop(key, None)
        reference = declaration.get(REFERRED_BY[kind])
        if embedded is None and reference:
            continue
        record: JsonObject = dict(embedded or {})
        identity = record.get(IDS[kind]) or reference or _invent_id(tool, key)
        declaration[REFERRED_BY[kind]] = reference or identity
        record = {"schema_version": version, **record, IDS[kind]: identity}
        records.append(_complete_record(tool, kind, record))
    return records


def _invent_id(tool: Tool, key: str) -> str:
    version = f"@{tool.version}" if tool.version else ""
    return f"{key}:{tool.namespace}.{tool.name}{version}"


def _complete_record(tool: Tool, kind: str, record: JsonObject) -> JsonObject:
    """Completes a record with the tool's fields: facts in the interface, the kind of execution, the risk."""
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
"""The default execution kind; all other kinds of tools run inside the runtime."""


def _mark_internal_fields(contract: JsonObject) -> JsonObject:
    """Lists and marks every internal field of a contract (AT-58): readers look at one or the other."""
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
