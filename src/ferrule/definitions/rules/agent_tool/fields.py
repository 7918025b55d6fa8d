"""The structural rules of Agent Tool declarations and interfaces. Records embedded in a declaration use the same rows."""

from __future__ import annotations

from ferrule.contracts.expect import boolean, integer, mapping, one_of, sequence, string
from ferrule.contracts.rule import Expectation, Required, Row
from ferrule.definitions.rules.agent_tool.profile_fields import build_execution_rows, build_permission_rows
from ferrule.model.diagnostic import Severity
from ferrule.model.tool import LIFECYCLES, TOOL_KINDS
from ferrule.model.value import JsonValue, type_name

FLAGS = ("is_read_only", "is_concurrency_safe", "is_destructive", "is_open_world")
"""Safety facts that may be an expression, asked per call."""
VISIBILITIES = ("loaded", "deferred", "internal", "native_ref")
CONTEXT_MODIFIER_POLICIES = ("allow_serial_only", "defer_until_batch_complete", "forbid")

_STRINGS = (
    "name", "namespace", "user_facing_name", "search_hint", "description", "sandbox_profile", "permission_profile_ref",
    "permission_matcher", "permission_channel", "decision_ref", "execution_profile_ref", "abort_semantics",
    "result_mapper", "persistence_policy_ref", "empty_result_policy", "ui_summary", "activity_description",
    "progress_render_hint", "rejected_render_hint", "error_render_hint", "transcript_search_text",
)  # fmt: skip
_STRING_LISTS = ("aliases", "capability_refs", "feature_gate_refs", "redaction_policy_refs")
_BOOLEANS = ("strict", "should_defer", "always_load", "requires_setup", "deny_before_io", "requires_user_interaction")
_MAPPINGS = (
    "native_ids", "model_requirements", "progress_schema", "rendering",
    "model_input_schema", "runtime_input_schema", "output_schema",
)  # fmt: skip
_INTERFACE_IDS = {
    "schema_version": 'write "0.2.0"',
    "interface_id": "the id declarations refer to by `interface_ref`",
    "tool_id": "the `tool_id` of the declaration this describes",
}
_ANSWERS = ("is_enabled", *FLAGS, "schema_validation", "value_validation", "io_preflight_validation")


def expect_boolean_or_string() -> Expectation:
    """Expects true, false, or an expression that is evaluated per call."""

    def check(value: JsonValue) -> str | None:
        return None if isinstance(value, bool | str) else f"must be true, false or a string, not a {type_name(value)}"

    check.describe = "true, false or a string"  # type: ignore[attr-defined]  # functions take attributes
    return check


def build_string_rows(path: str, rule: str, item_rule: str | None = None) -> tuple[Row, ...]:
    """Returns the rows of a list of strings."""
    return (Row(path, sequence(), rule), Row(f"{path}[]", string(), item_rule or rule))


def build_mapping_rows(path: str, rule: str) -> tuple[Row, ...]:
    """Returns the rows of a list of objects."""
    return (Row(path, sequence(), rule), Row(f"{path}[]", mapping(), rule))


def build_interface_rows(prefix: str = "") -> tuple[Row, ...]:
    """Returns the rows of an interface; an embedded one (with a prefix) inherits version and ids of its declaration."""
    rule = "AT-31"
    rows: list[Row] = []
    for key in _INTERFACE_IDS:
        if not prefix:
            rows.append(Row(key, Required(), rule, hint=_INTERFACE_IDS[key]))
        rows.append(Row(prefix + key, string(), rule))
    rows += [Row(prefix + key, string(), rule) for key in _STRINGS]
    rows += [row for key in _STRING_LISTS for row in build_string_rows(prefix + key, rule)]
    rows += build_string_rows(f"{prefix}required_credentials", rule, "AT-124")
    rows += build_mapping_rows(f"{prefix}external_mappings", rule)
    rows += [Row(prefix + key, boolean(), rule) for key in _BOOLEANS]
    rows += [Row(prefix + key, mapping(), rule) for key in _MAPPINGS]
    rows += [Row(prefix + key, expect_boolean_or_string(), rule) for key in _ANSWERS]
    rows += [
        Row(f"{prefix}timeout_ms", integer(0), rule),
        Row(f"{prefix}max_inline_chars", integer(0), rule),
        Row(f"{prefix}schema_visibility", one_of(*VISIBILITIES), "AT-35"),
        Row(f"{prefix}interrupt_behavior", one_of("cancel", "block"), "AT-47", Severity.WARNING),
        Row(f"{prefix}context_modifier_policy", one_of(*CONTEXT_MODIFIER_POLICIES), "AT-175"),
    ]
    return tuple(rows)


_REQUIRED = {
    "schema_version": 'write "0.2.0"',
    "tool_id": "an id that never changes, such as web.search",
    "namespace": "the server, product or domain the tool belongs to",
    "name": "the name the tool is called by",
    "description": "say what the tool does, when to use it and when not",
    "lifecycle": "available for a tool that can be called, draft for one that cannot yet",
    "tool_kind": "what runs the tool, such as function, mcp_tool or shell_command",
}
"""The seven fields of every declaration, and what to write there."""
_MODES = ("json", "text", "file", "multipart", "stream", "custom")

DECLARATION: tuple[Row, ...] = (
    *(Row(key, Required(), "AT-1", hint=hint) for key, hint in _REQUIRED.items()),
    *(Row(key, string(), "AT-1") for key in ("schema_version", "tool_id", "namespace", "name", "description")),
    Row("lifecycle", one_of(*LIFECYCLES), "AT-10"),
    Row("tool_kind", one_of(*TOOL_KINDS), "AT-18", hint="choose the kind nearest to what runs the tool"),
    *build_string_rows("aliases", "AT-1"),
    *build_string_rows("capability_refs", "AT-1"),
    *(Row(key, string(), "AT-1") for key in ("search_hint", "title")),
    *(Row(key, string(), "AT-1") for key in ("interface_ref", "execution_profile_ref", "permission_profile_ref")),
    Row("annotations", mapping(), "AT-1"),
    *build_mapping_rows("external_mappings", "AT-1"),
    Row("input_contract", mapping(), "AT-1"),
    Row("input_contract.schema", mapping(), "AT-22"),
    Row("input_contract.model_input_schema", mapping(), "AT-22"),
    Row("input_contract.runtime_input_schema", mapping(), "AT-22"),
    Row("input_contract.strict", boolean(), "AT-22"),
    Row("input_contract.defaults", mapping(), "AT-22"),
    *build_string_rows("input_contract.sensitive_fields", "AT-22"),
    *build_string_rows("input_contract.internal_only_fields", "AT-22"),
    Row("input_contract.argument_mode", one_of(*_MODES), "AT-85", Severity.WARNING),
    Row("output_contract", mapping(), "AT-1"),
    Row("output_contract.structured_schema", mapping(), "AT-23"),
    Row("output_contract.max_inline_bytes", integer(0), "AT-23"),
    Row("output_contract.max_inline_chars", integer(0), "AT-23"),
    Row("tool_interface", mapping(), "AT-31"),
    *build_interface_rows("tool_interface."),
    Row("execution_profile", mapping(), "AT-193"),
    *build_execution_rows("execution_profile."),
    Row("permission_profile", mapping(), "AT-120"),
    *build_permission_rows("permission_profile."),
)
INTERFACE: tuple[Row, ...] = build_interface_rows()
