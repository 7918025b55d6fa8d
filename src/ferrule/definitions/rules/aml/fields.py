"""The table of structural rules for AML tool files, apart from `transport`. Pages: `pages.py`."""

from __future__ import annotations

import re

from ferrule.contracts.expect import (
    a_type,
    boolean,
    filled_string,
    integer,
    iso_date,
    mapping,
    matching,
    one_of,
    sequence,
    string,
)
from ferrule.contracts.rule import Closed, Required, Row
from ferrule.model.diagnostic import Severity
from ferrule.model.loss import EXTENSION
from ferrule.model.value import JsonValue, is_blank

ROOT_KEYS = frozenset(
    {"spec_version", "tool_id", "version", "status", "meta", "type", "interface", "transport", "error_codes",
     "use_guidance"}
)  # fmt: skip
GOVERNANCE_KEYS = ("approval_required", "max_calls_per_run", "log_args", "data_classification")
"""Keys other parts of the standard take from the tool, though its page has no room for them (AML-17)."""
SUPERSEDED_ROOT_KEYS = {
    "parameters": "move it to `interface.input`",
    "response_schema": "move it to `interface.output`",
}
MISSING_FIELDS = {
    "spec_version": 'write `spec_version: "1.2"`',
    "tool_id": "name the tool as agents will, such as `send-email`",
    "version": "a new tool begins with `version: 1.0.0`",
    "meta.name": "give the tool a name for people, such as `Send email`",
    "meta.description": "say in two to five sentences what the tool does and when to use it",
    "meta.owner": "name the team that answers for the tool",
    "interface.input": "describe the arguments by a JSON Schema; without any it is `{type: object}`",
    "interface.output": "describe the result by a JSON Schema; without any it is `{type: object}`",
    "use_guidance": "tell the model when to use the tool: `use_when`, `avoid_when`, `side_effects`",
}
"""Hints for required fields that are missing (AML-7)."""
TYPES = ("retrieval", "action", "function", "human")
_PROTOCOLS = (
    "rest-api", "rest", "http", "lambda", "mcp", "grpc", "graphql", "message-queue", "queue", "database", "sql",
)  # fmt: skip
STATUSES = ("draft", "active", "deprecated", "disabled")
_NUMBERS = r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = rf"{_NUMBERS}(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_STATUS_CODE = re.compile("[1-5][0-9][0-9]")
_WARNING = Severity.WARNING
_PHRASES = "list a few situations in words; the model chooses between tools by them"


def _expect_block(value: JsonValue) -> str | None:
    """Expects a mapping; an empty block is reported field by field (AML-7)."""
    return None if isinstance(value, dict) or is_blank(value) else f"must be a mapping, not {a_type(value)}"


def _expect_content(value: JsonValue) -> str | None:
    return None if value else "is empty"


def _expect_effects(value: JsonValue) -> str | None:
    if value is None or isinstance(value, str | list):
        return None
    return f"must be a string or a list of strings, not {a_type(value)}"


def _build_text_rows(path: str) -> tuple[Row, ...]:
    return (
        Row(path, Required(deep=True), "AML-7", hint=MISSING_FIELDS[path]),
        Row(path, string(), "AML-12", hint="quote it if it is meant as text"),
    )


def _build_schema_rows(path: str) -> tuple[Row, ...]:
    return (
        Row(path, Required(deep=True), "AML-7", hint=MISSING_FIELDS[path]),
        Row(path, mapping(), "AML-23", hint="write a JSON Schema of `type: object`"),
    )


def _build_guidance_rows(path: str) -> tuple[Row, ...]:
    return (
        Row(path, Required(blank_ok=True), "AML-74", _WARNING, _PHRASES),
        Row(path, sequence(), "AML-73", hint="write a list of phrases"),
        Row(path, _expect_content, "AML-74", _WARNING, _PHRASES),
        Row(f"{path}[]", string(), "AML-73"),
    )


FIELDS: tuple[Row, ...] = (
    Row(
        "",
        Closed(ROOT_KEYS | {*GOVERNANCE_KEYS, EXTENSION}, elsewhere=frozenset(SUPERSEDED_ROOT_KEYS)),
        "AML-15",
        _WARNING,
    ),
    Row(EXTENSION, mapping(), "AML-15", _WARNING, "it holds fields of the canonical tool, such as `tool_kind`"),
    Row("spec_version", Required(), "AML-7", hint=MISSING_FIELDS["spec_version"]),
    Row("tool_id", Required(), "AML-7", hint=MISSING_FIELDS["tool_id"]),
    Row(
        "tool_id",
        matching("[a-z0-9_-]{3,64}", "3 to 64 of the characters a-z, 0-9, _ and -"),
        "AML-9",
        hint="write lower-case words with hyphens, such as `send-email`",
    ),
    Row("version", Required(), "AML-7", hint=MISSING_FIELDS["version"]),
    Row("version", matching(_SEMVER, "a semantic version such as 1.4.0"), "AML-10"),
    Row(
        "version",
        matching(_NUMBERS, "three numbers without a label"),
        "AML-10",
        _WARNING,
        "the published schema takes no pre-release or build labels",
    ),
    Row("status", Required(), "AML-7"),
    Row("status", one_of(*STATUSES), "AML-11"),
    Row("meta", _expect_block, "AML-12"),
    Row("meta", Closed(frozenset({"name", "description", "owner", "tags", "last_updated"})), "AML-15", _WARNING),
    *_build_text_rows("meta.name"),
    *_build_text_rows("meta.description"),
    *_build_text_rows("meta.owner"),
    Row("meta.tags", sequence(), "AML-12"),
    Row("meta.tags[]", string(), "AML-12"),
    Row("meta.last_updated", iso_date(), "AML-12"),
    Row("type", Required(), "AML-7"),
    Row(
        "type",
        one_of(*TYPES),
        "AML-14",
        hint="`type` says how the tool behaves; how it is reached belongs in `transport.type`",
        hints=dict.fromkeys(_PROTOCOLS, "how the tool is reached belongs in `transport.type`"),
    ),
    Row("interface", _expect_block, "AML-23"),
    Row("interface", Closed(frozenset({"input", "output"})), "AML-15", _WARNING),
    *_build_schema_rows("interface.input"),
    *_build_schema_rows("interface.output"),
    Row("error_codes", mapping(), "AML-36"),
    Row("error_codes.*", mapping(), "AML-36", hint="write `{meaning: …, agent_action: …}`"),
    Row("error_codes.*", Closed(frozenset({"meaning", "agent_action"})), "AML-15", _WARNING),
    Row("error_codes.*.meaning", Required(), "AML-36", hint="say what the status means for this tool"),
    Row("error_codes.*.meaning", filled_string(), "AML-36"),
    Row("error_codes.*.agent_action", Required(), "AML-36", hint="say what the model should do then"),
    Row("error_codes.*.agent_action", filled_string(), "AML-36"),
    Row("use_guidance", Required(), "AML-7", hint=MISSING_FIELDS["use_guidance"]),
    Row("use_guidance", mapping(), "AML-73", hint=MISSING_FIELDS["use_guidance"]),
    Row("use_guidance", Closed(frozenset({"use_when", "avoid_when", "side_effects"})), "AML-15", _WARNING),
    *_build_guidance_rows("use_guidance.use_when"),
    *_build_guidance_rows("use_guidance.avoid_when"),
    Row("use_guidance.side_effects", _expect_effects, "AML-73"),
    Row("use_guidance.side_effects[]", string(), "AML-73"),
    Row("approval_required", boolean(), "AML-17"),
    Row("max_calls_per_run", integer(1), "AML-17"),
    Row("log_args", filled_string(), "AML-17"),
    Row("data_classification", mapping(), "AML-17"),
    Row("data_classification.input_pii_risk", boolean(), "AML-17"),
)


def is_status_code(key: str) -> bool:
    """Returns True for the text of an HTTP status code."""
    return _STATUS_CODE.fullmatch(key) is not None
