"""The page of every Agent Tool rule; those that only tables check are written here."""

from __future__ import annotations

from ferrule.contracts.rule import RuleInfo, info_of
from ferrule.definitions.rules.agent_tool.ambiguous_membership import AmbiguousMembership
from ferrule.definitions.rules.agent_tool.contracts import MissingInputContract, MissingOutputContract
from ferrule.definitions.rules.agent_tool.discovery import CustomKind, UnsearchableHint, UntitledTool
from ferrule.definitions.rules.agent_tool.flag_expressions import CircularExpression, UnknownExpression
from ferrule.definitions.rules.agent_tool.leaked_internal_field import LeakedInternalField
from ferrule.definitions.rules.agent_tool.library import AmbiguousAlias, NameCollision
from ferrule.definitions.rules.agent_tool.mismatched_identity import MismatchedIdentity
from ferrule.definitions.rules.agent_tool.profile_lint import (
    MalformedExecutionProfile,
    UnfamiliarAccessKind,
    VagueShellProfile,
)
from ferrule.definitions.rules.agent_tool.schema_version import (
    EarlierSchemaVersion,
    NewerSchemaVersion,
    UnknownSchemaVersion,
)
from ferrule.definitions.rules.agent_tool.security import CredentialValue, MissingPermissionProfile, UnclassifiableTool
from ferrule.model.diagnostic import Severity

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

_TABLE = (
    RuleInfo(
        "AT-1",
        "incomplete-declaration",
        _ERROR,
        "A declaration has schema_version, tool_id, namespace, name, description, lifecycle and tool_kind.",
        "Its other fields have the standard's types. Text that cannot be parsed, and a list item that is no record, are\n"
        "reported here too.\n"
        "Why: every reader of the standard relies on these seven.\n"
        'Bad:  {"tool_id": "clock", "tool_kind": "function"}\nGood: all seven',
    ),
    RuleInfo(
        "AT-10",
        "unknown-lifecycle",
        _ERROR,
        "`lifecycle` is draft, available, disabled, requires_setup, deferred, deprecated or retired.",
        'Bad:  "lifecycle": "active"\nGood: "lifecycle": "available"',
    ),
    RuleInfo(
        "AT-18",
        "unknown-kind",
        _ERROR,
        "`tool_kind` is one of the standard's seventeen kinds.",
        "Why: the kind decides the defaults and the executor; a tool defined here with another kind is refused.\n"
        'Bad:  "tool_kind": "rest"\nGood: "tool_kind": "openapi_operation"',
    ),
    RuleInfo(
        "AT-31",
        "incomplete-interface",
        _ERROR,
        "An interface has schema_version, interface_id and tool_id, and its fields have the standard's types.",
        "Embedded in a declaration it inherits all three.\n"
        'Bad:  {"tool_id": "clock", "is_read_only": true}\n'
        'Good: {"schema_version": "0.2.0", "interface_id": "tool_interface:clock", "tool_id": "clock"}',
    ),
    RuleInfo(
        "AT-35",
        "unknown-visibility",
        _ERROR,
        "`schema_visibility` is loaded, deferred, internal or native_ref.",
        'Bad:  "schema_visibility": "hidden"\nGood: "schema_visibility": "deferred"',
    ),
    RuleInfo(
        "AT-47",
        "unknown-interrupt-behavior",
        _WARNING,
        "`interrupt_behavior` of an interface is cancel or block; anything else is treated as block.",
        'Bad:  "interrupt_behavior": "stop"\nGood: "interrupt_behavior": "cancel"',
    ),
    RuleInfo(
        "AT-63",
        "incomplete-surface",
        _ERROR,
        "A surface has schema_version, surface_id and scope, and its fields have the standard's types.",
        'Bad:  {"surface_id": "main"}\nGood: {"schema_version": "0.2.0", "surface_id": "main", "scope": "session"}',
    ),
    RuleInfo(
        "AT-65",
        "unknown-scope",
        _WARNING,
        "`scope` of a surface is turn, task, session, tenant, skill, peer_agent, workspace, role or model_request.",
        'Bad:  "scope": "global"\nGood: "scope": "tenant"',
    ),
    RuleInfo(
        "AT-67",
        "unexplained-exclusion",
        _WARNING,
        "Every blocked or excluded tool of a surface has a reason a machine can read.",
        "Why: the caller is told why, and the tool can come back when the reason is gone.\n"
        'Bad:  {"tool_id": "clock"}\nGood: {"tool_id": "clock", "reason": "setup_required"}',
    ),
    RuleInfo(
        "AT-85",
        "unknown-argument-mode",
        _WARNING,
        "`argument_mode` is json, text, file, multipart, stream or custom.",
        'Bad:  "argument_mode": "form"\nGood: "argument_mode": "multipart"',
    ),
    RuleInfo(
        "AT-120",
        "incomplete-permission-profile",
        _ERROR,
        "A permission profile has schema_version, permission_profile_id and risk_level (low, medium, high, critical).",
        'Its other fields have the standard\'s types.\nBad:  "risk_level": "severe"\nGood: "risk_level": "high"',
    ),
    RuleInfo(
        "AT-160",
        "malformed-max-parallel",
        _ERROR,
        "`max_parallel` of a scheduler policy is a whole number of at least 1.",
        'Bad:  "max_parallel": 0\nGood: "max_parallel": 4',
    ),
    RuleInfo(
        "AT-163",
        "incomplete-scheduler-policy",
        _ERROR,
        "A scheduler policy has schema_version and scheduler_policy_id.",
        'Bad:  {"max_parallel": 4}\nGood: {"schema_version": "0.2.0", "scheduler_policy_id": "reads", "max_parallel": 4}',
    ),
    RuleInfo(
        "AT-164",
        "malformed-resource-locks",
        _ERROR,
        "`resource_locks` of a scheduler policy is a list of objects.",
        'Bad:  "resource_locks": "db"\nGood: "resource_locks": [{"resource": "db"}]',
    ),
    RuleInfo(
        "AT-165",
        "unknown-yield-policy",
        _WARNING,
        "`yield_policy` is progress_immediate_results_ordered, all_ordered or unordered_streaming.",
        'Bad:  "yield_policy": "unordered"\nGood: "yield_policy": "unordered_streaming"',
    ),
    RuleInfo(
        "AT-166",
        "unknown-ordering-policy",
        _WARNING,
        "`ordering_policy` is preserve_terminal_order, allow_unordered or serial.",
        'Bad:  "ordering_policy": "fifo"\nGood: "ordering_policy": "serial"',
    ),
    RuleInfo(
        "AT-168",
        "unknown-policy-interrupt-behavior",
        _WARNING,
        "`interrupt_behavior` of a scheduler policy is cancel or block.",
        'Bad:  "interrupt_behavior": "stop"\nGood: "interrupt_behavior": "cancel"',
    ),
    RuleInfo(
        "AT-170",
        "unknown-sibling-policy",
        _WARNING,
        "`sibling_failure_policy` is ignore, cancel_siblings or cancel_dependent.",
        'Bad:  "sibling_failure_policy": "abort"\nGood: "sibling_failure_policy": "cancel_siblings"',
    ),
    RuleInfo(
        "AT-175",
        "unknown-context-modifier-policy",
        _ERROR,
        "`context_modifier_policy` is allow_serial_only, defer_until_batch_complete or forbid.",
        "Why: modifiers of concurrent calls must never be applied in the order they happen to arrive.\n"
        'Bad:  "context_modifier_policy": "allow"\nGood: "context_modifier_policy": "allow_serial_only"',
    ),
    RuleInfo(
        "AT-180",
        "incomplete-deferred-tool",
        _ERROR,
        "A deferred tool of a surface has tool_id, name and loading_state.",
        "loading_state is loaded, deferred, discoverable, pending_provider or unavailable.\n"
        'Bad:  {"tool_id": "clock"}\nGood: {"tool_id": "clock", "name": "now", "loading_state": "discoverable"}',
    ),
)
_CLASSES = (
    UnknownSchemaVersion,
    EarlierSchemaVersion,
    NewerSchemaVersion,
    NameCollision,
    AmbiguousAlias,
    UnsearchableHint,
    UntitledTool,
    CustomKind,
    MissingInputContract,
    MissingOutputContract,
    MissingPermissionProfile,
    MismatchedIdentity,
    UnclassifiableTool,
    UnknownExpression,
    CircularExpression,
    LeakedInternalField,
    AmbiguousMembership,
    UnfamiliarAccessKind,
    CredentialValue,
    MalformedExecutionProfile,
    VagueShellProfile,
)


def _number(page: RuleInfo) -> int:
    return int(page.code.rpartition("-")[2])


PAGES: tuple[RuleInfo, ...] = tuple(sorted((*_TABLE, *map(info_of, _CLASSES)), key=_number))
