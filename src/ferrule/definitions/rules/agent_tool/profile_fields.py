"""The structural rules of execution profiles, permission profiles, scheduler policies and surfaces."""

from __future__ import annotations

from ferrule.contracts.expect import boolean, integer, mapping, one_of, sequence, string
from ferrule.contracts.rule import Expectation, Required, Row
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue, type_name

EXECUTION_KINDS = (
    "mcp_server", "http_api", "native_app", "local_process", "shell", "browser", "model_service", "peer_agent",
    "embedded_runtime", "hybrid",
)  # fmt: skip
ACCESS_KINDS = (
    "file_read", "file_write", "network", "browser", "credential", "payment", "external_send", "code_execution",
)  # fmt: skip
WRITE_EFFECTS = ("none", "local_draft", "local_persistent", "remote_mutation", "irreversible")
SCOPES = (
    "turn", "task", "session", "tenant", "skill", "peer_agent", "peer-agent", "workspace", "role", "model_request",
)  # fmt: skip
_CAPABILITIES = (
    "supports_progress", "supports_cancel", "supports_resume", "supports_retries", "supports_partial_results",
    "supports_background", "supports_artifacts", "supports_context_modifiers", "sandboxed", "supports_timeout",
    "supports_result_persistence", "supports_credential_delegation", "supports_offline",
)  # fmt: skip
_PERMISSION_STRINGS = (
    "network_scope", "tenant_scope", "sandbox_profile", "approval_reason", "permission_channel", "data_sensitivity",
    "retention_hint",
)  # fmt: skip


def expect_string_or_mapping() -> Expectation:
    """Expects an id, or an object with one."""

    def check(value: JsonValue) -> str | None:
        return None if isinstance(value, str | dict) else f"must be a string or a mapping, not a {type_name(value)}"

    check.describe = "a string or a mapping"  # type: ignore[attr-defined]  # functions take attributes
    return check


def _build_identity_rows(prefix: str, record_id: str, rule: str) -> list[Row]:
    """Returns the rows of version and id: required, unless the record is embedded and inherits them."""
    rows: list[Row] = []
    for key in ("schema_version", record_id):
        if not prefix:
            hint = 'write "0.2.0"' if key == "schema_version" else "an id that other records can refer to"
            rows.append(Row(key, Required(), rule, hint=hint))
        rows.append(Row(prefix + key, string(), rule))
    return rows


def build_execution_rows(prefix: str = "") -> tuple[Row, ...]:
    """Returns the rows of an execution profile. Its kind is open: runtimes may know others."""
    rule = "AT-193"
    return (
        *_build_identity_rows(prefix, "execution_profile_id", rule),
        Row(f"{prefix}execution_kind", Required(), rule, hint="such as http_api, mcp_server or shell"),
        Row(f"{prefix}execution_kind", string(), rule),
        *(Row(prefix + key, boolean(), rule) for key in _CAPABILITIES),
        Row(f"{prefix}sandbox_profile", string(), rule),
        Row(f"{prefix}timeout_ms", integer(0), rule),
        Row(f"{prefix}task", one_of("auto", "required", "never"), rule),
        Row(f"{prefix}external_mappings", sequence(), rule),
        Row(f"{prefix}external_mappings[]", mapping(), rule),
    )


def build_permission_rows(prefix: str = "") -> tuple[Row, ...]:
    """Returns the rows of a permission profile."""
    rule = "AT-120"
    rows = [
        *_build_identity_rows(prefix, "permission_profile_id", rule),
        Row(f"{prefix}risk_level", Required(), rule, hint="low, medium, high or critical"),
        Row(f"{prefix}risk_level", one_of("low", "medium", "high", "critical"), rule),
        *(Row(prefix + key, string(), rule) for key in _PERMISSION_STRINGS),
        Row(f"{prefix}credential_refs", sequence(), rule),
        Row(f"{prefix}credential_refs[]", string(), "AT-124", hint="name the credential; its value stays elsewhere"),
    ]
    for key in ("access_kinds", "write_effects", "rule_matching_fields"):
        rows += [Row(prefix + key, sequence(), rule), Row(f"{prefix}{key}[]", string(), rule)]
    rows += [
        Row(f"{prefix}policy_refs", sequence(), rule),
        Row(f"{prefix}policy_refs[]", expect_string_or_mapping(), rule),
    ]
    for key in ("approval_required", "redaction_required", "non_interactive_prompt_avoidable"):
        rows.append(Row(prefix + key, boolean(), rule))
    return tuple(rows)


EXECUTION: tuple[Row, ...] = build_execution_rows()
PERMISSION: tuple[Row, ...] = build_permission_rows()

_WARNING = Severity.WARNING
SCHEDULER: tuple[Row, ...] = (
    *_build_identity_rows("", "scheduler_policy_id", "AT-163"),
    Row("scope", string(), "AT-163"),
    Row("max_parallel", integer(1), "AT-160"),
    Row("ordering_policy", one_of("preserve_terminal_order", "allow_unordered", "serial"), "AT-166", _WARNING),
    Row(
        "yield_policy",
        one_of("progress_immediate_results_ordered", "all_ordered", "unordered_streaming"),
        "AT-165",
        _WARNING,
    ),
    Row("interrupt_behavior", one_of("cancel", "block"), "AT-168", _WARNING),
    Row("sibling_failure_policy", one_of("ignore", "cancel_siblings", "cancel_dependent"), "AT-170", _WARNING),
    Row("context_modifier_policy", one_of("allow_serial_only", "defer_until_batch_complete", "forbid"), "AT-175"),
    Row("resource_locks", sequence(), "AT-164"),
    Row("resource_locks[]", mapping(), "AT-164"),
)

_DEFERRED = "deferred_tools[]"
SURFACE: tuple[Row, ...] = (
    *_build_identity_rows("", "surface_id", "AT-63"),
    Row("scope", Required(), "AT-63", hint="such as turn, session or workspace"),
    Row("scope", string(), "AT-63"),
    Row("scope", one_of(*SCOPES), "AT-65", _WARNING),
    *(Row(key, string(), "AT-63") for key in ("created_at", "producer", "surface_reason")),
    *(Row(key, mapping(), "AT-63") for key in ("selection_policy", "model_capabilities", "role_constraints")),
    *(
        row
        for key in ("tool_refs", "capability_requirements")
        for row in (Row(key, sequence(), "AT-63"), Row(f"{key}[]", string(), "AT-63"))
    ),
    *(
        row
        for key in ("policy_refs", "runtime_refs")  # written as ids; objects are accepted
        for row in (Row(key, sequence(), "AT-63"), Row(f"{key}[]", expect_string_or_mapping(), "AT-63"))
    ),
    Row("loaded_tools", sequence(), "AT-63"),
    Row("loaded_tools[]", expect_string_or_mapping(), "AT-63"),
    Row("deferred_tools", sequence(), "AT-63"),
    Row(_DEFERRED, expect_string_or_mapping(), "AT-63"),
    Row(f"{_DEFERRED}.tool_id", Required(), "AT-180"),
    Row(f"{_DEFERRED}.tool_id", string(), "AT-180"),
    Row(f"{_DEFERRED}.name", Required(), "AT-180"),
    Row(f"{_DEFERRED}.name", string(), "AT-180"),
    Row(f"{_DEFERRED}.loading_state", Required(), "AT-180", hint="such as deferred or discoverable"),
    Row(
        f"{_DEFERRED}.loading_state",
        one_of("loaded", "deferred", "discoverable", "pending_provider", "unavailable"),
        "AT-180",
    ),
    Row(f"{_DEFERRED}.schema_visibility", one_of("loaded", "deferred", "internal", "native_ref"), "AT-35"),
    Row(f"{_DEFERRED}.native_ref", mapping(), "AT-180"),
    *(
        row
        for key in ("blocked_tools", "excluded_tools")
        for row in (
            Row(key, sequence(), "AT-63"),
            Row(f"{key}[]", mapping(), "AT-63"),
            Row(f"{key}[].reason", Required(), "AT-67", _WARNING, "such as policy_blocked or setup_required"),
            Row(f"{key}[].reason", string(), "AT-67", _WARNING),
        )
    ),
)
