"""The canonical tool, in Agent Tool 0.2.0 words. Every dialect compiles into it and emits from it.

An exposure says how a tool is reached when it is no tool to a model: a resource has an address, a person chooses a
prompt. Reading a resource, getting a prompt and completing an argument are calls like any other: validated, decided,
limited and recorded. Only where they are listed differs, and who picks them. This module knows no dialect and no wire
format.
"""

from __future__ import annotations

import json
from typing import Any, Literal, get_args

import msgspec

from ferrule.model.decision import RISKS, Risk
from ferrule.model.value import JsonObject


class ResourceExposure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="resource"):
    """A tool that is read by its address."""

    uri: str
    """Its address, or a template of addresses (RFC 6570) whose variables are the tool's arguments."""
    mime_type: str = ""
    """Of what it gives, where that is known beforehand."""
    is_template: bool = False
    size: int | None = None
    """Bytes, where that is known beforehand."""
    annotations: dict[str, Any] = {}
    """`audience`, `priority`, `lastModified`, as MCP has them."""
    icons: tuple[dict[str, Any], ...] = ()
    completions: dict[str, tuple[str, ...]] = {}
    """Values that a variable may have, by its name."""


class PromptExposure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="prompt"):
    """A tool that gives messages for a conversation."""

    icons: tuple[dict[str, Any], ...] = ()
    completions: dict[str, tuple[str, ...]] = {}
    """Values that an argument may have, by its name."""


class CompletionExposure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="as", tag="completion"
):
    """A tool that finds values for an argument of a prompt, or for a variable of a template."""

    of: str
    """The id of the tool whose argument it is."""
    argument: str


Exposure = ResourceExposure | PromptExposure | CompletionExposure


Lifecycle = Literal["draft", "available", "disabled", "requires_setup", "deferred", "deprecated", "retired"]
ToolKind = Literal[
    "function",
    "mcp_tool",
    "openapi_operation",
    "native_tool",
    "browser_action",
    "shell_command",
    "code_execution",
    "file_operation",
    "web_search",
    "retrieval",
    "model_task",
    "skill_tool",
    "peer_agent_tool",
    "policy_check",
    "artifact_operation",
    "evidence_export",
    "custom",
]
LIFECYCLES: tuple[str, ...] = get_args(Lifecycle)
TOOL_KINDS: tuple[str, ...] = get_args(ToolKind)

CLOSED_WORLD_KINDS = frozenset({"file_operation", "policy_check", "artifact_operation", "evidence_export"})
"""Kinds whose `is_open_world` is false when nothing is stated; every other kind is open (AT-44)."""

Flag = bool | str
"""A safety fact: a plain answer, or an expression evaluated per call (`classifier:<name>`, `same_as:<field>`)."""

TaskUse = Literal["auto", "required", "never"]
"""How callers that know tasks get one for a call: when it takes long, always (others are refused), or never."""
TASK_USES: tuple[TaskUse, ...] = get_args(TaskUse)

EMPTY = msgspec.Raw(b"{}")


class SafetyFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The effects a tool may have, with the fail-closed defaults of AT-41 to AT-48 for everything its definition does
    not state."""

    is_read_only: Flag = False
    is_concurrency_safe: Flag = False
    is_destructive: Flag = False
    is_open_world: Flag = True
    requires_user_interaction: bool = False
    strict: bool = True
    interrupt_behavior: Literal["cancel", "block"] = "block"
    classifier_input: Any = ""


FACT_NAMES: tuple[str, ...] = SafetyFacts.__struct_fields__


class Tool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One callable capability, the same whatever dialect it was written in."""

    tool_id: str
    """Stable identity (AT-3)."""
    namespace: str
    """The collision boundary (AT-4)."""
    name: str
    """The primary callable name."""
    description: str
    """Guidance for the model."""
    lifecycle: str
    tool_kind: str
    dialect: str
    """The format it was written in: `aml`, `adl`, `oxp`, `agent_tool`."""
    version: str | None = None
    title: str | None = None
    aliases: tuple[str, ...] = ()
    search_hint: str | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    capability_refs: tuple[str, ...] = ()
    input_schema: msgspec.Raw = EMPTY
    """JSON Schema of the arguments the model may send."""
    runtime_input_schema: msgspec.Raw | None = None
    """JSON Schema of the arguments after hooks and prompts, where it differs."""
    output_schema: msgspec.Raw | None = None
    """JSON Schema of the structured result; None when the dialect states none."""
    facts: SafetyFacts = SafetyFacts()
    inferred_facts: tuple[str, ...] = ()
    """Facts that no definition stated and the fail-closed defaults filled in (AT-51)."""
    approval_required: bool = False
    max_calls_per_run: int | None = None
    credentials: msgspec.Raw | None = None
    """References to secrets, never their values."""
    payload: msgspec.Raw = EMPTY
    """The dialect's own compiled form, unknown fields included; what executors and emitters read."""
    exposed_as: Exposure | None = None
    """A resource, a prompt or a completion: what is reached in another way than by a model that calls it. None for a tool."""


def infer_facts(stated: JsonObject, **derived: Any) -> tuple[SafetyFacts, tuple[str, ...]]:
    """Returns the facts that a definition states or its dialect implies, with the fail-closed defaults for the rest.

    `stated` facts count as declared. `derived` values fill the gaps and are marked as inferred, and so are the
    defaults.
    """
    values = {name: value for name, value in derived.items() if name not in stated} | stated
    return SafetyFacts(**values), tuple(name for name in FACT_NAMES if name not in stated)


def permission_profile(payload: JsonObject) -> JsonObject:
    """Returns the permission profile in a tool's payload; empty when it has none."""
    profile = payload.get("permission_profile")
    return profile if isinstance(profile, dict) else {}


def risk_of(tool: Tool, payload: JsonObject) -> Risk:
    """Returns the risk that a tool's profile states, else medium for a tool that only reads and high for every other."""
    stated = permission_profile(payload).get("risk_level")
    if stated in RISKS:
        known: Risk = stated
        return known
    if stated is not None:
        return "critical"  # a word nobody knows is no reason to trust
    return "medium" if tool.facts.is_read_only is True else "high"


def raw(value: object) -> msgspec.Raw:
    """Encodes a JSON value as the bytes a tool carries."""
    try:
        return msgspec.Raw(msgspec.json.encode(value))
    except (OverflowError, UnicodeEncodeError):  # numbers past 64 bits, text with half a character
        return msgspec.Raw(json.dumps(value, separators=(",", ":")).encode())


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something compiled that is no tool: an agent, a role, a surface, a profile."""

    kind: str
    """`agent`, `role`, `manifest`, `surface`, `interface`, `execution_profile`, `permission_profile`, `scheduler_policy`."""
    record_id: str
    dialect: str
    version: str | None = None
    payload: msgspec.Raw = EMPTY


class Compiled(msgspec.Struct, frozen=True):
    """The compiled form of one definition."""

    tools: tuple[Tool, ...] = ()
    records: tuple[Record, ...] = ()
    documentation: dict[str, dict[str, str]] = {}
    """Editorial text by tool id; shown to people, never part of a payload (AML-3)."""
