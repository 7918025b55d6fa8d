"""Agent Tool 0.2.0: declarations, interfaces, profiles, scheduler policies and surfaces, alone, in lists, or in several
YAML documents. Records of running calls (invocations, results, events, …) are recognised and hold no definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.contracts.dialect import Definition, Emitted
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.document import Document, Issue, Source
from ferrule.model.linkage import EMBEDDED_AS, REFERRED_BY, replace_payload
from ferrule.model.outline import Outline, RecordOutline, ToolOutline
from ferrule.model.tool import FACT_NAMES, Compiled, Record, Tool, raw

VERSION = "0.2.0"
RUNTIME = "runtime"

_IDS = {
    "interface": "interface_id",
    "execution_profile": "execution_profile_id",
    "permission_profile": "permission_profile_id",
    "scheduler_policy": "scheduler_policy_id",
    "surface": "surface_id",
}
_RUNTIME = (
    "invocation_id", "decision_id", "hook_id", "hook_event", "mutation_id", "progress_id", "result_id", "event_id",
    "event_type", "loading_state",
)  # fmt: skip
"""Fields that only records of running calls have, and references to deferred tools."""
_FOREIGN = ("spec_version", "apiVersion", "input_schema", "inputSchema", "jsonrpc", "call_id")
_DECLARED = (
    "tool_id", "tool_kind", "namespace", "lifecycle", "input_contract", "output_contract", "interface_ref",
    "execution_profile_ref", "permission_profile_ref", "capability_refs", "external_mappings", "search_hint",
)  # fmt: skip
_DECLARATION_ONLY = frozenset({"tool_kind", "lifecycle", "input_contract", "output_contract", "interface_ref", "title"})
_INTERFACE_ONLY = frozenset(
    {
        "model_input_schema", "runtime_input_schema", "output_schema", "schema_visibility", "strict", "is_enabled",
        "is_read_only", "is_concurrency_safe", "is_destructive", "is_open_world", "requires_user_interaction",
        "classifier_input", "permission_matcher", "max_inline_chars", "interrupt_behavior", "result_mapper",
        "value_validation", "should_defer", "always_load", "user_facing_name", "timeout_ms", "deny_before_io",
    }
)  # fmt: skip
_SURFACE_ONLY = frozenset({"loaded_tools", "deferred_tools", "blocked_tools", "excluded_tools", "tool_refs"})
_SCHEDULER_ONLY = frozenset(
    {"ordering_policy", "yield_policy", "sibling_failure_policy", "max_parallel", "context_modifier_policy"}
)
_COMPANY = {"interface": _INTERFACE_ONLY | {"tool_id"}, "surface": _SURFACE_ONLY | {"scope"}}
"""Ids that other formats know too: without a version, one of these must stand beside them."""
_RAW = re.compile(
    rb'(?:^|[\s"{,])(?:tool_kind|interface_id|surface_id|execution_profile_id|permission_profile_id|scheduler_policy_id)'
    rb'"?\s*:'
)
_RAW_VERSION = re.compile(rb'(?:^|[\s"{,])(?:schema_version|lifecycle|tool_id)"?\s*:')


def kind_of(value: object) -> str | None:
    """What kind of Agent Tool record a value is, perhaps one with mistakes; None when it is none."""
    if not isinstance(value, dict) or any(key in value for key in _FOREIGN):
        return None
    keys = value.keys()
    is_versioned = "schema_version" in keys
    if any(word in keys for word in _RUNTIME):
        return RUNTIME if is_versioned or "tool_id" in keys or "invocation_id" in keys else None
    for kind, key in _IDS.items():
        if key in keys and (is_versioned or not keys.isdisjoint(_COMPANY.get(kind, keys))):
            if kind == "surface" and "tool_kind" in keys:
                continue
            return kind
    if not keys.isdisjoint(_DECLARATION_ONLY) and ("tool_id" in keys or "tool_kind" in keys):
        return "declaration" if is_versioned + sum(key in keys for key in _DECLARED) >= 2 else None
    version = value.get("schema_version")
    return _unnamed(keys) if isinstance(version, str) and version.startswith("0.") else None


def _unnamed(keys: Any) -> str | None:
    """The kind of a record that lacks its id."""
    if "tool_id" in keys and not keys.isdisjoint(_INTERFACE_ONLY):
        return "interface"
    if "execution_kind" in keys:
        return "execution_profile"
    if "risk_level" in keys:
        return "permission_profile"
    if not keys.isdisjoint(_SURFACE_ONLY):
        return "surface"
    if len(keys & _SCHEDULER_ONLY) >= 2:
        return "scheduler_policy"
    is_named = "namespace" in keys and "name" in keys
    return "declaration" if is_named and ("tool_id" in keys or not keys.isdisjoint(_DECLARED[3:])) else None


class AgentToolDialect:
    """Records of the Agent Tool standard."""

    name = "agent_tool"

    def claims_name(self, source: Source) -> bool:
        """A text that names a record's key: enough to tell when it cannot be parsed."""
        if not source.name.lower().endswith((".json", ".yaml", ".yml")):
            return False
        return _RAW.search(source.data) is not None and _RAW_VERSION.search(source.data) is not None

    def detect(self, document: Document) -> bool:
        """A record of the standard, or a list with one in it."""
        if document.syntax == "front_matter":
            return False
        value = document.value
        if isinstance(value, list):
            return any(kind_of(item) is not None for item in value)
        return kind_of(value) is not None

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """One definition per record; none for records of running calls. A list item that is no record is an AT-1."""
        value = document.value
        if not isinstance(value, list):
            kind = kind_of(value)
            return ([] if kind in (None, RUNTIME) else [Definition(f"agent_tool.{kind}", (), value)]), []  # type: ignore[arg-type]  # a kind is a mapping's
        definitions: list[Definition] = []
        findings: list[Finding] = []
        for index, item in enumerate(value):
            kind = kind_of(item)
            if kind is None:
                findings.append(Finding("AT-1", (index,), "this is no Agent Tool record"))
            elif kind != RUNTIME:
                definitions.append(Definition(f"agent_tool.{kind}", (index,), item))
        return definitions, findings

    def issue_rule(self, issue: Issue) -> str:
        """Whatever the reader noticed, the record is not what AT-1 asks for."""
        return "AT-1"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Names and references. What is malformed is empty here."""
        value = definition.value
        kind = definition.kind.removeprefix("agent_tool.")
        place = {"file": document.source.file, "path": definition.path, "document": document.index}
        refs = {key: ref for key in REFERRED_BY.values() if isinstance(ref := value.get(key), str) and ref}
        if kind == "declaration":
            return (
                ToolOutline(
                    **place,  # type: ignore[arg-type]  # one mapping for two classes
                    dialect=self.name,
                    namespace=_text(value, "namespace") or "",
                    name=_text(value, "name") or "",
                    tool_id=_text(value, "tool_id") or "",
                    version=_text(value, "version"),
                    status=_text(value, "lifecycle"),
                    type=_text(value, "tool_kind"),
                    aliases=_aliases(value),
                    refs=refs,
                    name_path=("name",),
                ),
            )
        return (
            RecordOutline(
                **place,  # type: ignore[arg-type]  # one mapping for two classes
                kind=kind,
                record_id=_text(value, _IDS[kind]) or "",
                tool_id=_text(value, "tool_id"),
                name=_text(value, "name"),
                namespace=_text(value, "namespace"),
                aliases=_aliases(value),
                refs=refs,
                has_classifier_input=_says_something(value.get("classifier_input")),
            ),
        )

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """The tool of a declaration, embedded records applied; other records as they are."""
        value: Any = definition.value
        kind = definition.kind.removeprefix("agent_tool.")
        if kind != "declaration":
            record = Record(kind=kind, record_id=value[_IDS[kind]], dialect=self.name, payload=raw(value))
            return Compiled(records=(record,))
        tool = Tool(
            tool_id=value["tool_id"],
            namespace=value["namespace"],
            name=value["name"],
            description=value["description"],
            lifecycle=value["lifecycle"],
            tool_kind=value["tool_kind"],
            dialect=self.name,
            version=_text(value, "version"),
            title=value.get("title"),
            aliases=_aliases(value),
            search_hint=value.get("search_hint"),
            capability_refs=tuple(value.get("capability_refs", ())),
        )
        return Compiled((replace_payload(tool, value),))

    def emit(self, tool: Tool) -> Emitted:
        """The tool as four records: declaration, interface, execution profile, permission profile."""
        if tool.dialect == self.name:
            declaration = dict(msgspec.json.decode(tool.payload))
            return Emitted(_records(tool, declaration), ())
        declaration, losses = _declaration(tool)
        return Emitted(_records(tool, declaration), losses)


def _text(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) and found.strip() else None


def _says_something(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


def _aliases(value: dict[str, Any]) -> tuple[str, ...]:
    found = value.get("aliases")
    return tuple(found) if isinstance(found, list) and all(isinstance(alias, str) for alias in found) else ()


def _declaration(tool: Tool) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """A declaration for a tool of another dialect. Fields the standard has no name for are kept as extensions and told."""
    value: dict[str, Any] = {
        "schema_version": VERSION,
        "tool_id": tool.tool_id,
        "namespace": tool.namespace,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "lifecycle": tool.lifecycle,
        "tool_kind": tool.tool_kind,
        "aliases": list(tool.aliases),
        "search_hint": tool.search_hint,
        "capability_refs": list(tool.capability_refs),
        "input_contract": {"model_input_schema": _mapping(msgspec.json.decode(tool.input_schema))},
        "external_mappings": [{"source": tool.dialect, "tool_name": tool.name}],
    }
    if tool.runtime_input_schema is not None:
        value["input_contract"]["runtime_input_schema"] = _mapping(msgspec.json.decode(tool.runtime_input_schema))
    if tool.output_schema is not None:
        value["output_contract"] = {"structured_schema": _mapping(msgspec.json.decode(tool.output_schema))}
    extensions = {
        "version": tool.version,
        "tags": list(tool.tags),
        "owner": tool.owner,
        "max_calls_per_run": tool.max_calls_per_run,
    }
    value |= extensions
    losses = [
        Finding("AT-278", (key,), f"Agent Tool has no field `{key}`; it is kept as an extension", Severity.INFO)
        for key, member in extensions.items()
        if member
    ]
    if tool.credentials is not None:
        message = "credentials are named only as far as their ids are known"
        losses.append(Finding("AT-124", ("credentials",), message, Severity.WARNING))
    return {key: member for key, member in value.items() if member not in (None, [])}, tuple(losses)


def _mapping(schema: Any) -> dict[str, Any]:
    if isinstance(schema, dict):
        return schema
    return {} if schema is True else {"not": {}}


def _records(tool: Tool, declaration: dict[str, Any]) -> list[dict[str, Any]]:
    """The declaration and the records that describe it, linked by reference.

    A record that is referred to and was not found lives in another system; none is made up in its place.
    """
    declaration = declaration | {"schema_version": VERSION}
    if isinstance(contract := declaration.get("input_contract"), dict):
        declaration["input_contract"] = _marked(contract)
    records = [declaration]
    for kind, key in EMBEDDED_AS.items():
        embedded = declaration.pop(key, None)
        reference = declaration.get(REFERRED_BY[kind])
        if embedded is None and reference:
            continue
        record: dict[str, Any] = dict(embedded or {})
        identity = record.get(_IDS[kind]) or reference or f"{key}:{tool.namespace}.{tool.name}"
        declaration[REFERRED_BY[kind]] = reference or identity
        record |= {"schema_version": VERSION, _IDS[kind]: identity}
        records.append(_completed(tool, kind, record))
    return records


def _completed(tool: Tool, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """A record with what the tool knows: facts in the interface, the kind of execution, the risk."""
    if kind == "interface":
        facts = {fact: getattr(tool.facts, fact) for fact in FACT_NAMES}
        return record | {"tool_id": tool.tool_id} | facts | {"inferred_facts": list(tool.inferred_facts)}
    if kind == "execution_profile":
        return {"execution_kind": _EXECUTED_BY.get(tool.tool_kind, "embedded_runtime")} | record
    risk = "medium" if tool.facts.is_read_only is True else "high"
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


DIALECT = AgentToolDialect()
