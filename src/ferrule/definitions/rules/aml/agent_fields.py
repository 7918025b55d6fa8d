"""The table of structural rules for AML agent files, and the pages of the codes they carry."""

from __future__ import annotations

from ferrule.contracts.expect import a_type, boolean, integer, mapping, matching, one_of, sequence, string
from ferrule.contracts.rule import Closed, Required, Row, RuleInfo
from ferrule.model.diagnostic import Severity
from ferrule.model.value import JsonValue

IDENTIFIER = matching("[a-z0-9_-]{3,64}", "3 to 64 of the characters a-z, 0-9, _ and -")
STATUS = one_of("draft", "active", "deprecated", "disabled")
_NUMBERS = r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}"
_PRE_RELEASE = (
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
)
_BUILD = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
SEMANTIC_VERSION = matching(_NUMBERS + _PRE_RELEASE + _BUILD, "a semantic version such as 1.4.0")
RELEASE = matching(_NUMBERS, "a plain release version such as 1.4.0")

DEFINING_KEYS = frozenset(
    {"interface", "transport", "use_guidance", "error_codes", "parameters", "response_schema", "input_schema",
     "inputSchema"}
)  # fmt: skip
"""Keys that only a tool's own file has."""
_IDENTITY_KEYS = frozenset({"spec_version", "tool_id", "version", "status", "meta", "type", "name", "description"})
POLICIES = frozenset(
    {"pii_redaction", "allow_external_http", "allowed_connectors", "require_human_approval", "audit_level"}
)


def is_tool_definition(entry: JsonValue) -> bool:
    """Returns True for an entry of a tool list that defines a tool rather than naming one."""
    if not isinstance(entry, dict):
        return False
    if not DEFINING_KEYS.isdisjoint(entry):
        return True
    return "ref" not in entry and len(_IDENTITY_KEYS.intersection(entry)) >= 2


def _expect_reference(value: JsonValue) -> str | None:
    return "defines a tool where only a reference may stand" if is_tool_definition(value) else None


def _expect_tool_list(value: JsonValue) -> str | None:
    if isinstance(value, dict | list):
        return None
    return f"must be a mapping with `refs`, or a list of references, not {a_type(value)}"


def expect_mapping_or_null(value: JsonValue) -> str | None:
    """Expects a mapping or null."""
    return None if value is None or isinstance(value, dict) else f"must be a mapping, not {a_type(value)}"


def build_identity_rows(identifier: str, rule: str) -> tuple[Row, ...]:
    """Returns the rows of the fields that agents and roles share, reported under one code."""
    return (
        Row("spec_version", Required(), rule, hint='write `spec_version: "1.2"`'),
        Row(identifier, Required(), rule),
        Row(identifier, IDENTIFIER, rule),
        Row("version", Required(), rule),
        Row("version", SEMANTIC_VERSION, rule, hint="quote it, and give all three numbers"),
        Row("version", RELEASE, rule, Severity.WARNING, "leave out the pre-release and build parts"),
        Row("status", Required(), rule),
        Row("status", STATUS, rule),
        Row("meta", mapping(), rule, hint="give it `name`, `description` and `owner`"),
        *(row for key in ("name", "description", "owner") for row in _build_text_rows(f"meta.{key}", rule)),
    )


def _build_text_rows(path: str, rule: str) -> tuple[Row, ...]:
    return (Row(path, Required(deep=True), rule), Row(path, string(), rule))


def build_limit_rows(entry: str, rule: str) -> tuple[Row, ...]:
    """Returns the rows of the limits that may stand beside a `ref`."""
    return (
        Row(f"{entry}.approval_required", boolean(), rule, hint="write `true` or `false`, without quotes"),
        Row(f"{entry}.max_calls_per_run", integer(1), rule),
    )


def build_reference_rows(entry: str, rule: str) -> tuple[Row, ...]:
    """Returns the rows of an entry that names another file."""
    return (
        Row(entry, mapping(), rule, hint="write `- ref: the-name`"),
        Row(f"{entry}.ref", Required(), rule, hint="write `ref: the-name`"),
        Row(f"{entry}.ref", string(), rule),
    )


def _build_tool_rows(entry: str) -> tuple[Row, ...]:
    shape, *members = build_reference_rows(entry, "AML-90")
    inlined = Row(
        entry, _expect_reference, "AML-5", hint="move it to tools/<tool_id>.tool.md and write `ref: <tool_id>` here"
    )
    return (shape, inlined, *members, *build_limit_rows(entry, "AML-90"))


_CONFIRMATION = "guardrails.tool_calls.require_user_confirmation_for"

FIELDS: tuple[Row, ...] = (
    *build_identity_rows("agent_id", "AML-89"),
    Row("tools", _expect_tool_list, "AML-90", hint="list one `- ref: the-name` per tool"),
    Row("tools.tool_choice", one_of("none", "auto", "required"), "AML-90"),
    Row("tools.refs", sequence(), "AML-90", hint="list one `- ref: the-name` per tool"),
    *_build_tool_rows("tools.refs[]"),
    *_build_tool_rows("tools[]"),
    Row("role", Required(), "AML-93", Severity.WARNING, "name the iam file that bounds this agent: `role: <iam_id>`"),
    Row("role", string(), "AML-93", hint="name one iam file: `role: <iam_id>`"),
    Row("policies", expect_mapping_or_null, "AML-100"),
    Row("policies", Closed(POLICIES), "AML-100"),
    Row(_CONFIRMATION, sequence(), "AML-100"),
    Row(f"{_CONFIRMATION}[]", string(), "AML-100"),
)

INFOS = (
    RuleInfo(
        "AML-5",
        "inlined-tool",
        Severity.ERROR,
        "An agent names its tools. A tool defined inside an agent file has no owner, no version and no checks.",
        "Why: two copies of one tool drift apart.\n"
        "Bad:  tools: [{tool_id: send-email, interface: {…}}]\n"
        "Good: tools: [{ref: send-email}]",
    ),
    RuleInfo(
        "AML-89",
        "incomplete-agent",
        Severity.ERROR,
        "An agent file has an identity (`spec_version`, `agent_id`, `version`, `status`), a `meta` block with name, "
        "description and owner, and the sections Purpose, System behavior and Rules; it is named for its id, which no "
        "other file has.",
        "Why: without them nobody can tell which agent runs, who answers for it, and what it was told.\n"
        "Bad:  agent_id: Support Agent\n"
        "Good: agent_id: support-agent",
    ),
    RuleInfo(
        "AML-90",
        "malformed-tool-list",
        Severity.ERROR,
        "`tools` is a mapping with `refs` and perhaps `tool_choice` (none, auto or required), or a bare list; each "
        "entry has a `ref`, and may have `approval_required` (true or false) and `max_calls_per_run` (an integer of at "
        "least 1).",
        "Bad:  tools: {tool_choice: always, refs: [send-email]}\n"
        "Good: tools: {tool_choice: auto, refs: [{ref: send-email}]}",
    ),
)
