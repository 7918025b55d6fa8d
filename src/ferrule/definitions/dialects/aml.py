"""AML 1.2: tools, agents and IAM roles as Markdown files with YAML front matter. Knows no rules.

It recognises them by members of the front matter or by the ending of the name. `aml_emit.py` writes tools as AML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ferrule.contracts.dialect import Definition
from ferrule.definitions.content.extension import apply_extension
from ferrule.definitions.content.sections import split_sections
from ferrule.model.diagnostic import Finding
from ferrule.model.document import Document, Issue, Source
from ferrule.model.loss import EXTENSION
from ferrule.model.outline import AgentOutline, BrokenOutline, Outline, RecordOutline, RoleOutline, ToolOutline
from ferrule.model.tool import Compiled, Record, SafetyFacts, Tool, infer_facts, raw
from ferrule.model.value import JsonObject, JsonValue, is_integer

_KINDS = {".tool.md": "aml.tool", ".agent.md": "aml.agent", ".iam.md": "aml.role"}
_ID_KEYS = {"tool_id": "aml.tool", "agent_id": "aml.agent", "iam_id": "aml.role"}
_COLLECTION_ID = "collection_id"
_NEIGHBOUR_IDS = frozenset({_COLLECTION_ID, "guardrail_id", "kb_id", "knowledge_base_id", "model_id"})
_NEIGHBOUR_ENDINGS = (".collection.md", ".guardrail.md", ".kb.md", ".model.md")
"""Other files of AML, which resemble tools. Roles need one fact about a collection; all others are ignored."""
_RAW_ID = re.compile(rb"^(?:tool_id|agent_id|iam_id)[ \t]*:", re.MULTILINE)
_MANY_DIGITS = re.compile(r"[0-9A-Fa-f]{16}")
_LARGEST = 2**63 - 1
_START = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n")
_HEAD = 65_536
_TOOL_SHAPE = frozenset({"interface", "transport", "use_guidance", "error_codes", "parameters", "response_schema"})
_AML_SHAPE = _TOOL_SHAPE | {"spec_version", "meta"}
_STATUSES = {"draft": "draft", "active": "available", "deprecated": "deprecated", "disabled": "disabled"}
_TYPES = frozenset({"retrieval", "action", "function", "human"})
_ID = re.compile(r"[a-z0-9_-]{3,64}")
_SEMVER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}(?:[-+][0-9A-Za-z.+-]+)?")
_DOCUMENTATION = {"purpose": "purpose", "side effects": "side_effects", "notes": "notes"}
_NOTE_LENGTH = 300

_TRANSPORT_DEFAULTS: dict[str, dict[str, JsonValue]] = {
    "rest-api": {"timeout_ms": 5000},
    "lambda": {"payload_format": "json"},
    "message-queue": {"message_format": "json"},
}
_STATED_FACTS: dict[str, JsonObject] = {
    "retrieval": {"is_read_only": True, "is_concurrency_safe": True, "is_destructive": False},
    "function": {"is_read_only": True, "is_concurrency_safe": True, "is_destructive": False},
    "action": {"is_read_only": False},
    "human": {"requires_user_interaction": True},
}
"""Safety facts that a tool's type declares; the rest is inferred, fail-closed."""


class AmlDialect:
    """Tools, agents and roles in AML 1.2."""

    name = "aml"

    def claims_name(self, source: Source) -> bool:
        """Returns True for a name with one of AML's endings, or front matter (however broken) with one of its ids."""
        name = source.name.lower()
        if name.endswith(tuple(_KINDS)):
            return True
        if not name.endswith(".md") or _START.match(source.data) is None:
            return False
        return _RAW_ID.search(source.data[:_HEAD].partition(b"\n---")[0]) is not None

    def detect(self, document: Document) -> bool:
        """Returns True for front matter with one of AML's ids, or with several of the blocks only AML has."""
        if document.syntax != "front_matter":
            return False
        value = document.value
        if not isinstance(value, dict):
            return False
        if not _ID_KEYS.keys().isdisjoint(value) or _is_collection(value):
            return True
        if not _NEIGHBOUR_IDS.isdisjoint(value) or document.source.name.lower().endswith(_NEIGHBOUR_ENDINGS):
            return False
        return len(_AML_SHAPE.intersection(value)) >= 2

    def definitions(self, document: Document) -> tuple[list[Definition], list[Finding]]:
        """Returns the front matter as the only definition."""
        value = document.value
        if not isinstance(value, dict):
            return [], []
        return [Definition(_find_kind(document.source, value), (), value)], []

    def issue_rule(self, issue: Issue) -> str:
        """Returns AML-6 for a repeated key, AML-26 for a schema that contains itself, AML-2 for other unusable text."""
        if issue.kind == "duplicate_key":
            return "AML-6"
        return "AML-26" if issue.kind == "recursion" and issue.path[:1] == ("interface",) else "AML-2"

    def outline(self, document: Document, definition: Definition, namespace: str) -> Iterable[Outline]:
        """Outlines the members that agents, roles and other tools refer to."""
        value, file = definition.value, document.source.file
        if definition.kind != "aml.tool" and _MANY_DIGITS.search(document.text):
            value = _clamp_integers(value)  # outlines of agents and roles hold the value itself, stored with 64 bits
        if definition.kind == "aml.agent":
            return (AgentOutline(file, _get_text(value, "agent_id"), value),)
        if definition.kind == "aml.role":
            iam_id = _get_text(value, "iam_id")
            return (RoleOutline(file, iam_id, value), *_outline_broken_file(document.source, iam_id, "role", ".iam.md"))
        if definition.kind == "aml.collection":
            return _outline_collection(file, value)
        tool_id = _get_text(value, "tool_id")
        stem = _outline_broken_file(document.source, tool_id, "tool", ".tool.md")
        return stem if tool_id is None else (_outline_tool(document, value, tool_id, namespace), *stem)

    def compile(self, document: Document, definition: Definition, namespace: str) -> Compiled:
        """Compiles a tool, or an agent or role as a record. An agent's body is behaviour and part of the record."""
        value: Any = definition.value
        if definition.kind == "aml.agent":
            payload = {**value, "body": split_sections(document.body)}
            return Compiled(records=(_build_record("agent", value["agent_id"], value, payload),))
        if definition.kind == "aml.role":
            return Compiled(records=(_build_record("role", value["iam_id"], value, value),))
        if definition.kind == "aml.collection":
            return Compiled()
        tool = apply_extension(compile_tool(value, namespace), value.get(EXTENSION))
        return Compiled(
            (tool,),
            documentation={tool.tool_id: documentation} if (documentation := _read_documentation(document)) else {},
        )


def _find_kind(source: Source, value: dict[str, JsonValue]) -> str:
    """Returns the kind of a file: by its only id, else by name, else by shape."""
    if _is_collection(value):
        return "aml.collection"
    written = [kind for key, kind in _ID_KEYS.items() if key in value]
    if len(written) == 1:
        return written[0]
    name = source.name.lower()
    for suffix, kind in _KINDS.items():
        if name.endswith(suffix):
            return kind
    return written[0] if written else "aml.tool"


def _is_collection(value: dict[str, JsonValue]) -> bool:
    return _COLLECTION_ID in value and _ID_KEYS.keys().isdisjoint(value)


def _outline_collection(file: str, value: JsonObject) -> tuple[Outline, ...]:
    """Outlines a collection for roles: whether it accepts writes (AML-96)."""
    collection_id, writeback = _get_text(value, _COLLECTION_ID), value.get("writeback")
    if collection_id is None:
        return ()
    enabled = writeback.get("enabled") if isinstance(writeback, dict) else writeback
    refs = {"writeback": "off"} if enabled is False or enabled == "off" else {}
    return (RecordOutline(file, "collection", collection_id, refs=refs),)


def _outline_broken_file(source: Source, identifier: str | None, kind: str, suffix: str) -> tuple[Outline, ...]:
    """Outlines a file whose id is missing or malformed by its name, so that references to it are not reported as well."""
    if (identifier is not None and _ID.fullmatch(identifier)) or not source.name.endswith(suffix):
        return ()
    return (BrokenOutline(source.file, kind, source.name.removesuffix(suffix)),)


def _clamp_integers(value: object) -> Any:
    """Returns the value with every integer limited to 64 bits."""
    if isinstance(value, dict):
        return {key: _clamp_integers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_clamp_integers(item) for item in value]
    if is_integer(value):
        return max(-_LARGEST, min(_LARGEST, value))
    return value


def _get_text(value: dict[str, JsonValue], key: str) -> str | None:
    text = value.get(key)
    return text if isinstance(text, str) and text.strip() else None


def _outline_tool(document: Document, value: JsonObject, tool_id: str, namespace: str) -> ToolOutline:
    version, status, kind = value.get("version"), value.get("status"), value.get("type")
    approval, calls = value.get("approval_required"), value.get("max_calls_per_run")
    return ToolOutline(
        file=document.source.file,
        dialect="aml",
        namespace=namespace,
        name=tool_id,
        tool_id=tool_id,
        document=document.index,
        version=version if isinstance(version, str) and _SEMVER.fullmatch(version) else None,
        status=status if isinstance(status, str) and status in _STATUSES else None,
        type=kind if isinstance(kind, str) and kind in _TYPES else None,
        approval_required=approval if isinstance(approval, bool) else None,
        # Outlines are stored with 64-bit integers.
        max_calls_per_run=calls if is_integer(calls) and 1 <= calls <= _LARGEST else None,
        aliases=_list_aliases(value),
        notes=_read_deprecation_note(document) if status == "deprecated" else None,
        name_path=("tool_id",),
    )


def _list_aliases(value: JsonObject) -> tuple[str, ...]:
    """Lists the aliases that the file gives the tool under our key."""
    extension = value.get(EXTENSION)
    found = extension.get("aliases") if isinstance(extension, dict) else None
    return tuple(found) if isinstance(found, list) and all(isinstance(alias, str) for alias in found) else ()


def _read_deprecation_note(document: Document) -> str | None:
    """Returns the note that names a deprecated tool's replacement."""
    text = split_sections(document.body).get("notes")
    return None if text is None else " ".join(text.split())[:_NOTE_LENGTH]


def _read_documentation(document: Document) -> dict[str, str]:
    if not document.body.strip():
        return {}
    written = split_sections(document.body)
    return {member: written[heading] for heading, member in _DOCUMENTATION.items() if heading in written}


def _build_record(kind: str, record_id: str, value: JsonObject, payload: JsonObject) -> Record:
    return Record(
        kind=kind, record_id=record_id, dialect="aml", version=_get_text(value, "version"), payload=raw(payload)
    )


def compile_tool(value: JsonObject, namespace: str) -> Tool:
    """Compiles the tool of front matter without errors; members under our key do not count."""
    meta, interface, transport = value["meta"], value["interface"], value.get("transport")
    facts, unstated = _infer_facts(value["type"], has_transport=isinstance(transport, dict))
    payload = _build_payload(value)
    return Tool(
        tool_id=value["tool_id"],
        namespace=namespace,
        name=value["tool_id"],
        description=meta["description"],
        lifecycle=_STATUSES[value["status"]],
        tool_kind=_find_tool_kind(value["type"], transport),
        dialect="aml",
        version=value["version"],
        title=meta["name"],
        tags=tuple(meta.get("tags", ())),
        owner=meta["owner"],
        input_schema=raw(interface["input"]),
        output_schema=raw(interface["output"]),
        facts=facts,
        inferred_facts=unstated,
        approval_required=value.get("approval_required", False),
        max_calls_per_run=value.get("max_calls_per_run"),
        credentials=raw(payload["transport"]["credentials"]) if isinstance(transport, dict) else None,
        payload=raw(payload),
    )


def _find_tool_kind(kind: str, transport: object) -> str:
    if kind == "function":
        return "function"
    if isinstance(transport, dict) and transport.get("type") == "mcp":
        return "mcp_tool"
    return "retrieval" if kind == "retrieval" else "native_tool"


def _infer_facts(kind: str, *, has_transport: bool) -> tuple[SafetyFacts, tuple[str, ...]]:
    stated = _STATED_FACTS[kind]
    if kind == "function" and not has_transport:
        stated = {**stated, "is_open_world": False}
    return infer_facts(stated, is_open_world=has_transport)


def _build_payload(value: JsonObject) -> JsonObject:
    """Returns the front matter with the transport's defaults written out (AML-87)."""
    transport = value.get("transport")
    if not isinstance(transport, dict):
        return {key: member for key, member in value.items() if key != "transport"}
    filled = {**_TRANSPORT_DEFAULTS.get(transport["type"], {}), **transport}
    if transport["type"] == "rest-api":
        filled["retry_policy"] = {"max_attempts": 3, **filled.get("retry_policy", {})}
    credentials = filled["credentials"]
    if credentials.get("source") == "gcp_secret_manager" and "version" not in credentials:
        filled["credentials"] = {**credentials, "version": "latest"}
    return {**value, "transport": filled}


DIALECT = AmlDialect()
