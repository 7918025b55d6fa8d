"""The surface: which tools one caller sees in one context, and why the others are blocked or excluded (AT-63 to AT-74).

`runtime/surface` makes it; servers list it. It knows no catalog and no policy.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, get_args

import msgspec

from ferrule.model.native_definition import native_ref
from ferrule.model.timestamps import iso
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject

Scope = Literal[
    "turn", "task", "session", "tenant", "skill", "peer_agent", "workspace", "role", "model_request"
]  # fmt: skip
SCOPES: tuple[Scope, ...] = get_args(Scope)

Standing = Literal["loaded", "deferred", "blocked", "excluded"]
HoldReason = Literal[
    "policy_blocked",
    "credential_missing",
    "setup_required",
    "model_unsupported",
    "recursive_tool_forbidden",
    "role_not_allowed",
    "feature_disabled",
    "deferred_until_discovered",
]
HOLD_REASONS: tuple[HoldReason, ...] = get_args(HoldReason)

LoadingState = Literal["loaded", "deferred", "discoverable", "pending_provider", "unavailable"]
DEFAULT_TENANT = "default"
"""The tenant of everybody who names none."""


class SurfaceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The caller of a surface, and the context. It can be stored, so that a parked call gets its surface back."""

    principal: str
    """On whose behalf calls are made."""
    channel: str
    """The credential and connection calls come by."""
    holder: str = ""
    """Whose credential that is, where it is not the principal's: both asked for the call, so neither is another person."""
    agent: str | None = None
    """The software that calls: an agent of the catalog."""
    tenant: str = DEFAULT_TENANT
    run_id: str = ""
    """The piece of agent work calls belong to; limits count per run."""
    is_shared_run: bool = False
    """True when the caller named the run, so that other processes may take part in it."""
    scope: Scope = "session"
    surface_id: str | None = None
    """A surface record of the catalog to follow, instead of everything the agent may use."""
    scheduler_policy: str | None = None
    """A scheduler policy record of the catalog to follow instead of the workspace's `[scheduler]`."""
    role: str | None = None
    """Another role than the agent's own; it can only tighten."""
    model: str | None = None
    model_capabilities: dict[str, Any] = {}
    """`strict_schemas`, `parallel_calls`, `deferred_refs`, `media`: what the model can do; absent means it can."""
    is_interactive: bool = True
    """False when nobody can be asked: what would ask is refused (AT-142)."""
    is_subagent: bool = False
    """True inside an agent that another agent called; agents as tools are then excluded (AT-70)."""
    has_browser: bool = False
    has_sandbox: bool = True
    features: frozenset[str] = frozenset()
    """Feature gates that are open."""
    pins: dict[str, str] = {}
    """Versions to use instead of the newest, by tool id."""
    brings_credentials: bool = False
    """True when what OXP tools require may come with each call, so that no tool is held back for want of it (OXP-38, OXP-39)."""
    defer_above: int | None = None
    """How many tools are shown with their schemas before the rest is deferred; None: the workspace's setting."""
    rules: tuple[dict[str, Any], ...] = ()
    """Extra rules for this surface alone (source `session`)."""
    selected: dict[str, str] = {}
    """Deferred tools that were loaded, by tool id, each with the search that selected it (AT-192)."""


class SurfaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[surface]`"""

    defer_above: int = 50
    """How many tools a surface shows with their schemas; above that all but `always_load` ones are deferred."""
    max_matches: int = 10
    """How many tools a search answers with, unless it asks for another number."""
    max_listed_chars: int = 8000
    """How much room the names and hints of deferred tools may take in what a model is shown."""


class SurfaceEntry(msgspec.Struct, frozen=True, gc=False):
    """One tool as a surface has it."""

    tool: Tool
    digest: str
    """The tool's content digest in the catalog."""
    standing: Standing
    reason: HoldReason | None = None
    """Why it is blocked, excluded or deferred."""
    detail: str = ""
    """The same for people, with what to do."""
    approval_from: tuple[str, ...] = ()
    """Who demands an approval: `tool`, `role`, `agent`, `policy`, `confirmation`."""
    max_calls_per_run: int | None = None
    loading_state: LoadingState = "loaded"
    pending_provider: str | None = None
    selection_ref: str | None = None
    """The search that loaded it (AT-192)."""
    pinned: str | None = None
    """The version somebody asked for; None when it is simply the newest."""
    is_judged: bool = False
    """True when a rule holds it back: whoever calls it all the same is refused by that rule, with a decision on record."""
    is_offered: bool = True
    """False for a tool that answers to its name and is shown to nobody: deprecated, and not named by agent or record."""

    @property
    def is_visible(self) -> bool:
        """True when the caller may know of the tool: it is loaded or deferred."""
        return self.standing in ("loaded", "deferred")


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of one context. Immutable: a change of policy, role, model or selection makes another one."""

    surface_id: str
    request: SurfaceRequest
    created_at: int
    entries: dict[str, SurfaceEntry]
    """Every tool considered, by tool id."""
    names: dict[str, tuple[str, ...]]
    """Callable names and aliases to tool ids; several ids mean the name is ambiguous (AT-6). Primary names win (AT-5)."""
    generation: int = 0
    """The state of catalog, policy and switches it was made from."""
    catalog_digest: str = ""
    policy_refs: tuple[str, ...] = ()
    max_tool_calls: int | None = None
    """The agent's limit of calls per run, all tools together (AML-102)."""
    audit_level: str = ""
    """What the agent's file says of its calls may be told: `none`, `standard` or `full`; empty when it says nothing (AML-107)."""
    is_confined: bool = False
    """True when the agent's file does not allow its calls to leave the hosts in `[network] allow` (AML-105)."""
    tool_choice: str = "auto"
    """`none`, `auto`, `required` or a tool's name."""
    instructions: str = ""
    """The agent's compiled guidance on its tools."""
    reason: str = ""
    """Why this surface exists."""
    record: dict[str, Any] = {}
    """Fields of the catalog's surface record, where one was followed."""

    def find(self, name: str) -> SurfaceEntry | None:
        """Returns the entry a name, alias or tool id leads to; None when there is none or several."""
        ids = self.names.get(name)
        if ids is not None:
            # A name of several tools leads nowhere, also where it is the id of another.
            return self.entries[ids[0]] if len(ids) == 1 else None
        return self.entries.get(name)

    def is_ambiguous(self, name: str) -> bool:
        """Returns True when a name means several tools here."""
        return len(self.names.get(name, ())) > 1

    def shown_name(self, entry: SurfaceEntry) -> str:
        """Returns the name that leads to this entry alone: its own, else with its namespace, else its id."""
        tool = entry.tool
        for name in (tool.name, f"{tool.namespace}.{tool.name}"):
            if self.names.get(name) == (tool.tool_id,):
                return name
        return tool.tool_id

    def standing(self, *standings: Standing) -> tuple[SurfaceEntry, ...]:
        """Returns the entries of these standings."""
        return tuple(entry for entry in self.entries.values() if entry.standing in standings)

    def to_record(self) -> JsonObject:
        """Returns the standard's `tool_surface` record."""
        request = self.request
        constraints = {"agent": request.agent, "role": request.role, "interactive": request.is_interactive}
        return {
            **self.record,
            "schema_version": "0.2.0",
            "surface_id": self.surface_id,
            "scope": request.scope,
            "created_at": iso(self.created_at),
            "producer": "ferrule",
            "tool_refs": list(self.entries),
            "loaded_tools": [entry.tool.tool_id for entry in self.standing("loaded")],
            "deferred_tools": [deferred_ref(entry) for entry in self.standing("deferred")],
            "blocked_tools": [_hold_record(entry) for entry in self.standing("blocked")],
            "excluded_tools": [_hold_record(entry) for entry in self.standing("excluded")],
            "selection_policy": {"tool_choice": self.tool_choice},
            "default_tool_choice": self.tool_choice,
            "model_capabilities": {**self.record.get("model_capabilities", {}), **request.model_capabilities},
            "role_constraints": {key: value for key, value in constraints.items() if value is not None},
            "policy_refs": [*self.record.get("policy_refs", ()), *self.policy_refs],
            "runtime_refs": [*self.record.get("runtime_refs", ()), *self._own_refs()],
            "surface_reason": self.reason,
        }

    def _own_refs(self) -> list[str]:
        return [f"catalog:{self.catalog_digest}"] if self.catalog_digest else []


def principal_key(request: SurfaceRequest) -> str:
    """Returns a key that tells principals apart, also those of one name in two tenants."""
    return request.principal if request.tenant == DEFAULT_TENANT else f"{request.tenant}\n{request.principal}"


def request_key(request: SurfaceRequest) -> str:
    """Returns a key that is equal for equal requests, whatever order their mappings and sets were written in."""
    return hashlib.sha256(msgspec.json.encode(request, order="sorted")).hexdigest()


def deferred_ref(entry: SurfaceEntry) -> JsonObject:
    """Returns the standard's `deferred_tool_ref`: enough to find a tool, nothing of its schema (AT-180)."""
    tool = entry.tool
    ref: dict[str, Any] = {
        "schema_version": "0.2.0",
        "tool_id": tool.tool_id,
        "name": tool.name,
        "namespace": tool.namespace,
        "loading_state": entry.loading_state,
        "schema_visibility": "loaded" if entry.loading_state == "loaded" else "deferred",
        "source": tool.dialect,
    }
    optional = {
        "search_hint": tool.search_hint,
        "reason": entry.reason,
        "pending_provider_or_server": entry.pending_provider,
        "selection_ref": entry.selection_ref,
        "native_ref": native_ref(tool),
    }
    ref.update((key, value) for key, value in optional.items() if value)
    return ref


def _hold_record(entry: SurfaceEntry) -> JsonObject:
    return {
        "tool_id": entry.tool.tool_id,
        "name": entry.tool.name,
        "reason": entry.reason,
        "detail": entry.detail,
    }


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of tool search: always a record, never prose (AT-185)."""

    search_id: str
    query: str
    query_type: Literal["select", "keyword"]
    matches: tuple[str, ...]
    """Tool ids, best first."""
    match_details: tuple[dict[str, Any], ...]
    """`{tool_id, name, score, reason, loading_state}` for each."""
    total_deferred_tools: int
    """All deferred tools, not only the matches (AT-186)."""
    pending_providers: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    """Names that lead to nothing the caller may know of (AT-191)."""
    ambiguous_names: dict[str, tuple[str, ...]] = {}
    """Names that mean several tools, each with the names that mean one (AT-6)."""
    next_action: Literal["load_schema_then_call", "refine_query", "wait_for_provider", "none"] = "none"

    def to_record(self) -> JsonObject:
        """Returns it as JSON."""
        return {"schema_version": "0.2.0", **msgspec.json.decode(msgspec.json.encode(self))}
