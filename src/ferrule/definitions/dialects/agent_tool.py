"""Agent Tool 0.2.0: declarations, interfaces, profiles, scheduler policies and surfaces, alone, in lists, or in several
YAML documents. Records of running calls (invocations, results, events, …) are recognised and hold no definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ferrule.contracts.dialect import Definition
from ferrule.definitions.content.extension import apply_extension
from ferrule.definitions.content.linkage import REFERRED_BY, replace_payload
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.loss import EXTENSION
from ferrule.model.outline import Outline, RecordOutline, ToolOutline
from ferrule.model.tool import Compiled, Record, Tool, raw
from ferrule.model.value import JsonObject

VERSION = "0.2.0"
RUNTIME = "runtime"

IDS = {
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
"""Ids that other formats use too: without a version, one of these must stand beside them."""
_RAW = re.compile(
    rb'(?:^|[\s"{,])(?:tool_kind|interface_id|surface_id|execution_profile_id|permission_profile_id|scheduler_policy_id)'
    rb'"?\s*:'
)
_RAW_VERSION = re.compile(rb'(?:^|[\s"{,])(?:schema_version|lifecycle|tool_id)"?\s*:')


def detect_kind(value: object) -> str | None:
    """Returns the kind of an Agent Tool record, perhaps one with mistakes; None for other values."""
    if not isinstance(value, dict) or any(key in value for key in _FOREIGN):
        return None
    keys = value.keys()
    is_versioned = "schema_version" in keys
    if any(word in keys for word in _RUNTIME):
        return RUNTIME if is_versioned or "tool_id" in keys or "invocation_id" in keys else None
    for kind, key in IDS.items():
        if key in keys and (is_versioned or not keys.isdisjoint(_COMPANY.get(kind, keys))):
            if kind == "surface" and "tool_kind" in keys:
                continue
            return kind
    if not keys.isdisjoint(_DECLARATION_ONLY) and ("tool_id" in keys or "tool_kind" in keys):
        return "declaration" if is_versioned + sum(key in keys for key in _DECLARED) >= 2 else None
    version = value.get("schema_version")
    return _detect_kind_without_id(keys) if isinstance(version, str) and version.startswith("0.") else None


def _detect_kind_without_id(keys: Any) -> str | None:
    """Returns the kind of a record that lacks its id."""
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
        """Returns True for a text with a record's keys, even when it cannot be parsed."""
        if not source.name.lower().endswith((".json", ".yaml", ".yml")):
            return False
        return _RAW.search(source.data) is not None and _RAW_VERSION.search(source.data) is not None

    def detect(self, document: Document) -> bool:
        """Returns True for a record of the standard, or a list with one in it."""
        if document.syntax == "front_matter":
            return False
        value = document.value
        if isinstance(value, list):
            return any(detect_kind(item) is not None for item in value)
        return detect_kind(value) is not None

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """Returns one definition per record, none for records of running calls; AT-1 for list items that are no record."""
        value = document.value
        if not isinstance(value, list):
            kind = detect_kind(value)
            return ([] if kind in (None, RUNTIME) else [Definition(f"agent_tool.{kind}", (), value)]), []  # type: ignore[arg-type]  # a kind is a mapping's
        definitions: list[Definition] = []
        findings: list[Finding] = []
        for index, item in enumerate(value):
            kind = detect_kind(item)
            if kind is None:
                findings.append(Finding("AT-1", (index,), "this is no Agent Tool record"))
            elif kind != RUNTIME:
                definitions.append(Definition(f"agent_tool.{kind}", (index,), item))
        return definitions, findings

    def issue_rule(self, issue: Issue) -> str:
        """Returns AT-1: unreadable text is no record."""
        return "AT-1"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Outlines names and references. Malformed ones are empty."""
        value = definition.value
        kind = definition.kind.removeprefix("agent_tool.")
        place = {"file": document.source.file, "path": definition.path, "document": document.index}
        refs = {key: ref for key in REFERRED_BY.values() if isinstance(ref := value.get(key), str) and ref}
        if kind == "declaration":
            return (
                ToolOutline(
                    **place,  # type: ignore[arg-type]  # one mapping for two classes
                    dialect=self.name,
                    namespace=_get_text(value, "namespace") or "",
                    name=_get_text(value, "name") or "",
                    tool_id=_get_text(value, "tool_id") or "",
                    version=_get_text(value, "version"),
                    status=_get_text(value, "lifecycle"),
                    type=_get_text(value, "tool_kind"),
                    aliases=_list_aliases(value),
                    refs=refs,
                    name_path=("name",),
                ),
            )
        return (
            RecordOutline(
                **place,  # type: ignore[arg-type]  # one mapping for two classes
                kind=kind,
                record_id=_get_text(value, IDS[kind]) or "",
                tool_id=_get_text(value, "tool_id"),
                name=_get_text(value, "name"),
                namespace=_get_text(value, "namespace"),
                aliases=_list_aliases(value),
                refs=refs,
                has_classifier_input=_has_content(value.get("classifier_input")),
            ),
        )

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """Compiles a declaration with its embedded records to a tool; keeps other records as they are."""
        value: Any = definition.value
        kind = definition.kind.removeprefix("agent_tool.")
        if kind != "declaration":
            record = Record(kind=kind, record_id=value[IDS[kind]], dialect=self.name, payload=raw(value))
            return Compiled(records=(record,))
        return Compiled((apply_extension(compile_declaration(value), value.get(EXTENSION)),))


def compile_declaration(value: JsonObject) -> Tool:
    """Compiles a declaration without errors and its embedded records; members under our key do not count."""
    tool = Tool(
        tool_id=value["tool_id"],
        namespace=value["namespace"],
        name=value["name"],
        description=value["description"],
        lifecycle=value["lifecycle"],
        tool_kind=value["tool_kind"],
        dialect="agent_tool",
        version=_get_text(value, "version"),
        title=value.get("title"),
        aliases=_list_aliases(value),
        search_hint=value.get("search_hint"),
        capability_refs=tuple(value.get("capability_refs", ())),
    )
    return replace_payload(tool, value)


def _get_text(value: JsonObject, key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) and found.strip() else None


def _has_content(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, [], {})


def _list_aliases(value: JsonObject) -> tuple[str, ...]:
    found = value.get("aliases")
    return tuple(found) if isinstance(found, list) and all(isinstance(alias, str) for alias in found) else ()


DIALECT = AgentToolDialect()
