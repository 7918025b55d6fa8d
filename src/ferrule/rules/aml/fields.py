"""The table of structural rules for AML tool files, apart from `transport`, and the pages of the codes it carries."""

from __future__ import annotations

import re

from ferrule.contracts.expect import (
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
from ferrule.contracts.rule import Closed, Required, Row, RuleInfo
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue, is_blank, type_name

ROOT_KEYS = frozenset(
    [
        "spec_version",
        "tool_id",
        "version",
        "status",
        "meta",
        "type",
        "interface",
        "transport",
        "error_codes",
        "use_guidance",
    ]
)
GOVERNANCE_KEYS = ("approval_required", "max_calls_per_run", "log_args", "data_classification")
"""Keys other parts of the standard take from the tool, though its page has no room for them (AML-17)."""
SUPERSEDED_ROOT_KEYS = {
    "parameters": "move it to `interface.input`",
    "response_schema": "move it to `interface.output`",
}
TYPES = ("retrieval", "action", "function", "human")
STATUSES = ("draft", "active", "deprecated", "disabled")
_NUMBERS = r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = rf"{_NUMBERS}(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_STATUS_CODE = re.compile("[1-5][0-9][0-9]")
_WARNING = Severity.WARNING


def _block(value: JsonValue) -> str | None:
    """A mapping; a block left empty is reported field by field (AML-7)."""
    return None if isinstance(value, dict) or is_blank(value) else f"must be a mapping, not {type_name(value)}"


def _not_empty(value: JsonValue) -> str | None:
    return None if value else "is empty"


def _effects(value: JsonValue) -> str | None:
    if value is None or isinstance(value, str | list):
        return None
    return f"must be a string or a list of strings, not {type_name(value)}"


def _text(path: str) -> tuple[Row, ...]:
    return (Row(path, Required(deep=True), "AML-7"), Row(path, string(), "AML-12"))


def _guidance(path: str) -> tuple[Row, ...]:
    return (
        Row(path, Required(blank_ok=True), "AML-74", _WARNING, "say in a few phrases when that is"),
        Row(path, sequence(), "AML-73", hint="write a list of phrases"),
        Row(path, _not_empty, "AML-74", _WARNING, "say in a few phrases when that is"),
        Row(f"{path}[]", string(), "AML-73"),
    )


FIELDS: tuple[Row, ...] = (
    Row("", Closed(ROOT_KEYS | frozenset(GOVERNANCE_KEYS) | frozenset(SUPERSEDED_ROOT_KEYS)), "AML-15", _WARNING),
    Row("spec_version", Required(), "AML-7"),
    Row("tool_id", Required(), "AML-7"),
    Row("tool_id", matching("[a-z0-9_-]{3,64}", "3 to 64 of the characters a-z, 0-9, _ and -"), "AML-9"),
    Row("version", Required(), "AML-7"),
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
    Row("meta", _block, "AML-12"),
    Row("meta", Closed(frozenset({"name", "description", "owner", "tags", "last_updated"})), "AML-15", _WARNING),
    *_text("meta.name"),
    *_text("meta.description"),
    *_text("meta.owner"),
    Row("meta.tags", sequence(), "AML-12"),
    Row("meta.tags[]", string(), "AML-12"),
    Row("meta.last_updated", iso_date(), "AML-12"),
    Row("type", Required(), "AML-7"),
    Row("type", one_of(*TYPES), "AML-14", hint="how the tool is reached belongs in `transport.type`"),
    Row("interface", _block, "AML-23"),
    Row("interface", Closed(frozenset({"input", "output"})), "AML-15", _WARNING),
    Row("interface.input", Required(deep=True), "AML-7"),
    Row("interface.input", mapping(), "AML-23"),
    Row("interface.output", Required(deep=True), "AML-7"),
    Row("interface.output", mapping(), "AML-23"),
    Row("error_codes", mapping(), "AML-36"),
    Row("error_codes.*", mapping(), "AML-36"),
    Row("error_codes.*", Closed(frozenset({"meaning", "agent_action"})), "AML-15", _WARNING),
    Row("error_codes.*.meaning", Required(), "AML-36"),
    Row("error_codes.*.meaning", filled_string(), "AML-36"),
    Row("error_codes.*.agent_action", Required(), "AML-36"),
    Row("error_codes.*.agent_action", filled_string(), "AML-36"),
    Row("use_guidance", Required(), "AML-7"),
    Row("use_guidance", mapping(), "AML-73"),
    Row("use_guidance", Closed(frozenset({"use_when", "avoid_when", "side_effects"})), "AML-15", _WARNING),
    *_guidance("use_guidance.use_when"),
    *_guidance("use_guidance.avoid_when"),
    Row("use_guidance.side_effects", _effects, "AML-73"),
    Row("use_guidance.side_effects[]", string(), "AML-73"),
    Row("approval_required", boolean(), "AML-17"),
    Row("max_calls_per_run", integer(1), "AML-17"),
    Row("log_args", filled_string(), "AML-17"),
    Row("data_classification", mapping(), "AML-17"),
    Row("data_classification.input_pii_risk", boolean(), "AML-17"),
)


def is_status_code(key: str) -> bool:
    """True for the text of an HTTP status code."""
    return _STATUS_CODE.fullmatch(key) is not None


FIELD_PAGES = (
    RuleInfo(
        "AML-2",
        "unreadable-front-matter",
        Severity.ERROR,
        "A tool, agent or role file begins with YAML front matter: a line `---`, one mapping, and a line `---`.",
        "Why: everything the compiler reads stands there; the Markdown below it is for people.\n"
        "Bad:  a file without the closing `---`\nGood: `---`, the fields, `---`, then prose",
    ),
    RuleInfo(
        "AML-6",
        "repeated-key",
        Severity.ERROR,
        'A key is written once. `400` and `"400"` are the same key.',
        "Why: readers disagree on which of the two values counts.\nBad:  status: draft … status: active\nGood: status: active",
    ),
    RuleInfo(
        "AML-7",
        "missing-field",
        Severity.ERROR,
        "A tool file has spec_version, tool_id, version, status, meta.name, meta.description, meta.owner, type, "
        "interface.input, interface.output and use_guidance, and none of them is empty.",
        "Why: catalog, model and runtime each need them.\nBad:  owner:\nGood: owner: payments-team",
    ),
    RuleInfo(
        "AML-9",
        "malformed-tool-id",
        Severity.ERROR,
        "`tool_id` is 3 to 64 lower-case letters, digits, hyphens and underscores.",
        "Why: the id is a file name, a callable name and a reference at once.\n"
        "Bad:  tool_id: Send Email\nGood: tool_id: send-email",
    ),
    RuleInfo(
        "AML-10",
        "malformed-version",
        Severity.ERROR,
        "`version` is a semantic version; a pre-release or build label is accepted with a warning.",
        "Why: publishing compares versions.\nBad:  version: v1.0\nGood: version: 1.0.0",
    ),
    RuleInfo(
        "AML-11",
        "unknown-status",
        Severity.ERROR,
        "`status` is draft, active, deprecated or disabled.",
        "Bad:  status: retired\nGood: status: deprecated",
    ),
    RuleInfo(
        "AML-12",
        "malformed-meta",
        Severity.ERROR,
        "`meta` is a mapping of texts; `tags` is a list of texts and `last_updated` a calendar date, YYYY-MM-DD.",
        "Bad:  last_updated: April 2025\nGood: last_updated: 2025-04-01",
    ),
    RuleInfo(
        "AML-14",
        "unknown-tool-type",
        Severity.ERROR,
        "`type` says how the tool behaves: retrieval, action, function or human.",
        "Why: the runtime caches, repeats and pauses by it. The protocol belongs in `transport.type`.\n"
        "Bad:  type: rest-api\nGood: type: action",
    ),
    RuleInfo(
        "AML-15",
        "unknown-key",
        Severity.WARNING,
        "The blocks of a tool file take no other keys than the standard's; in `transport` those of its type.",
        "Why: a misspelt key is silently without effect.\nBad:  use_guidence:\nGood: use_guidance:",
    ),
    RuleInfo(
        "AML-23",
        "malformed-interface",
        Severity.ERROR,
        "`interface`, `interface.input` and `interface.output` are mappings.",
        "Bad:  input: none\nGood: input: {type: object}",
    ),
    RuleInfo(
        "AML-73",
        "malformed-guidance",
        Severity.ERROR,
        "`use_guidance` is a mapping; `use_when` and `avoid_when` are lists of texts, `side_effects` a text or a list of texts.",
        "Bad:  use_when: always\nGood: use_when: [the customer asks for an invoice]",
    ),
    RuleInfo(
        "AML-74",
        "missing-guidance",
        Severity.WARNING,
        "`use_when` and `avoid_when` are both given and not empty.",
        "Why: they are what the model is told when it chooses between tools.\n"
        "Bad:  avoid_when: []\nGood: avoid_when: [the address has not been verified]",
    ),
)
"""Pages of the codes in this table (those with a class of their own are documented there)."""
