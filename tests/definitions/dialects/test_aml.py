"""AML files: recognised by content, compiled into the model, and written back."""

from __future__ import annotations

import string
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.dialects.aml import DIALECT, compile_tool
from ferrule.model.document import Issue, Source
from ferrule.model.outline import AgentOutline, BrokenOutline, RoleOutline, ToolOutline
from ferrule.model.tool import SafetyFacts, Tool
from tests.definitions.dialects.aml_files import compile_file, document
from tests.definitions.dialects.emitting import emit_aml
from tests.definitions.rules.cases import HERE

BASES = HERE / "bases"
MAIL = (BASES / "tools" / "send-mail.tool.md").read_text(encoding="utf-8")


def payload(tool: Tool) -> Any:
    return msgspec.json.decode(tool.payload)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("anything.md", "---\ntool_id: a-tool\n---\n", True),
        ("anything.md", "---\nagent_id: an-agent\n---\n", True),
        ("anything.md", "---\niam_id: a-role\n---\n", True),
        ("anything.md", '---\nspec_version: "1.2"\ninterface: {}\n---\n', True),
        ("anything.md", "---\ntitle: A post\ndate: 2026-01-01\n---\n", False),
        ("anything.md", "---\nname: reviewer\ndescription: Reviews.\ntools: Read\n---\n", False),
        ("anything.yaml", "tool_id: a-tool\nspec_version: '1.2'\n", False),
        ("anything.md", "---\n---\n", False),
    ],
)
def test_files_are_recognised_by_what_they_hold(name: str, text: str, expected: bool) -> None:
    assert DIALECT.detect(document(text, name)) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tool.md", "no front matter", True),
        ("a.agent.md", "", True),
        ("a.iam.md", "", True),
        ("README.md", "# About\n\ntool_id: prose\n", False),
        ("notes.md", "---\ntool_id: a-tool\nmeta: [\n---\n", True),
        ("notes.md", "---\ntool_id: never closed\n", True),
        ("notes.md", "---\ntitle: [\n---\ntool_id: in the body\n", False),
        ("notes.txt", "---\ntool_id: a-tool\n---\n", False),
    ],
)
def test_broken_files_are_claimed_by_name_or_raw_text(name: str, text: str, expected: bool) -> None:
    assert DIALECT.claims_name(Source(name, text.encode())) is expected


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.md", "---\ntool_id: a-tool\n---\n", "aml.tool"),
        ("x.tool.md", "---\nagent_id: an-agent\n---\n", "aml.agent"),
        ("x.iam.md", "---\ntitle: nothing of ours\n---\n", "aml.role"),
        ("x.agent.md", "---\ntool_id: a-tool\nagent_id: an-agent\n---\n", "aml.agent"),
        ("x.md", '---\nspec_version: "1.2"\ntransport: {}\n---\n', "aml.tool"),
    ],
)
def test_the_kind_comes_from_the_id_then_the_name(name: str, text: str, kind: str) -> None:
    assert DIALECT.definitions(document(text, name))[0][0].kind == kind


def test_what_the_reader_notices_gets_its_rule() -> None:
    assert DIALECT.issue_rule(Issue("syntax", "", 1)) == "AML-2"
    assert DIALECT.issue_rule(Issue("front_matter", "", 1)) == "AML-2"
    assert DIALECT.issue_rule(Issue("duplicate_key", "", 1)) == "AML-6"
    assert DIALECT.issue_rule(Issue("recursion", "", 1, path=("interface", "input"))) == "AML-26"
    assert DIALECT.issue_rule(Issue("recursion", "", 1, path=("meta",))) == "AML-2"


def test_outline_tells_what_other_files_need() -> None:
    text = MAIL.replace("status: active", "status: deprecated\napproval_required: true\nmax_calls_per_run: 4")
    text += "\n# Notes\n\nUse post-mail\ninstead.\n"
    read_document = document(text)
    (outline,) = DIALECT.outline(read_document, DIALECT.definitions(read_document)[0][0], "shop")
    assert outline == ToolOutline(
        file="tools/send-mail.tool.md",
        dialect="aml",
        namespace="shop",
        name="send-mail",
        tool_id="send-mail",
        version="1.0.0",
        status="deprecated",
        type="action",
        approval_required=True,
        max_calls_per_run=4,
        notes="Use post-mail instead.",
        name_path=("tool_id",),
    )


def test_outline_leaves_out_what_is_wrong() -> None:
    text = MAIL.replace("version: 1.0.0", "version: one").replace("status: active", "status: [active]")
    read_document = document(text.replace("type: action", "type: robot"))
    (outline,) = DIALECT.outline(read_document, DIALECT.definitions(read_document)[0][0], "shop")
    assert isinstance(outline, ToolOutline)
    assert (outline.version, outline.status, outline.type) == (None, None, None)


@pytest.mark.parametrize("written", ["", "tool_id:", "tool_id: 7", 'tool_id: " "'])
def test_of_a_tool_without_an_id_only_its_files_name_is_known(written: str) -> None:
    read_document = document(MAIL.replace("tool_id: send-mail", written))
    outlines = list(DIALECT.outline(read_document, DIALECT.definitions(read_document)[0][0], "shop"))
    assert outlines == [BrokenOutline("tools/send-mail.tool.md", "tool", "send-mail")]


def test_agents_and_roles_are_outlined_whole() -> None:
    agent = document("---\nagent_id: helper\nrole: r\n---\n", "a.agent.md")
    role = document("---\niam_id: 7\n---\n", "a.iam.md")
    assert list(DIALECT.outline(agent, DIALECT.definitions(agent)[0][0], "shop")) == [
        AgentOutline("a.agent.md", "helper", {"agent_id": "helper", "role": "r"})
    ]
    assert list(DIALECT.outline(role, DIALECT.definitions(role)[0][0], "shop")) == [
        RoleOutline("a.iam.md", None, {"iam_id": 7}),
        BrokenOutline("a.iam.md", "role", "a"),
    ]


def test_a_tool_compiles_into_the_model() -> None:
    result = compile_file(MAIL)
    (tool,) = result.tools
    assert (tool.tool_id, tool.namespace, tool.name, tool.title) == ("send-mail", "shop", "send-mail", "Send mail")
    assert (tool.lifecycle, tool.tool_kind, tool.version) == ("available", "native_tool", "1.0.0")
    assert (tool.owner, tool.tags) == ("mail-team", ("mail", "customers"))
    assert msgspec.json.decode(tool.credentials or b"") == {
        "scheme": "bearer-token",
        "source": "env",
        "name": "MAIL_TOKEN",
    }
    assert payload(tool)["error_codes"].keys() == {"400", "429"}
    assert payload(tool)["meta"]["last_updated"] == "2026-03-01"
    assert result.documentation == {"send-mail": {"purpose": "Mail for customers."}}


def test_the_body_is_no_part_of_the_tool() -> None:
    assert compile_file(MAIL + "\n# NOTES #\nmore\n").tools == compile_file(MAIL).tools
    assert compile_file(MAIL + "\n# NOTES #\nmore\n").documentation["send-mail"]["notes"] == "more"


@pytest.mark.parametrize(
    ("file", "path", "value"),
    [
        ("upload-file", ("timeout_ms",), 5000),
        ("upload-file", ("retry_policy",), {"max_attempts": 3}),
        ("send-mail", ("timeout_ms",), 4000),
        ("queue-job", ("credentials", "version"), "latest"),
        ("queue-job", ("message_format",), "avro"),
    ],
)
def test_defaults_of_the_transport_are_written_out(file: str, path: tuple[str, ...], value: object) -> None:
    text = (BASES / "tools" / f"{file}.tool.md").read_text(encoding="utf-8")
    found = payload(compile_file(text).tools[0])["transport"]
    for step in path:
        found = found[step]
    assert found == value


def test_defaults_of_formats_are_written_out() -> None:
    lambda_tool = (BASES / "tools" / "run-job.tool.md").read_text(encoding="utf-8").replace("payload_format: json", "")
    queue_tool = (BASES / "tools" / "queue-job.tool.md").read_text(encoding="utf-8").replace("message_format: avro", "")
    assert payload(compile_file(lambda_tool).tools[0])["transport"]["payload_format"] == "json"
    assert payload(compile_file(queue_tool).tools[0])["transport"]["message_format"] == "json"


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        ("retrieval", {"is_read_only": True, "is_concurrency_safe": True, "is_destructive": False}),
        ("action", {"is_read_only": False}),
        ("human", {"requires_user_interaction": True}),
    ],
)
def test_facts_are_stated_by_the_type_and_inferred_otherwise(kind: str, stated: dict[str, Any]) -> None:
    (tool,) = compile_file(MAIL.replace("type: action", f"type: {kind}")).tools
    assert tool.facts == SafetyFacts(**stated, is_open_world=True)
    assert set(tool.inferred_facts).isdisjoint(stated)
    assert "is_open_world" in tool.inferred_facts


def test_a_function_without_transport_is_closed() -> None:
    (tool,) = compile_file((BASES / "tools" / "add-up.tool.md").read_text(encoding="utf-8")).tools
    assert tool.facts.is_open_world is False
    assert (tool.tool_kind, tool.lifecycle, tool.credentials) == ("function", "draft", None)


def test_kinds_follow_type_and_transport() -> None:
    mcp = (BASES / "tools" / "call-mcp.tool.md").read_text(encoding="utf-8")
    assert compile_file(mcp).tools[0].tool_kind == "mcp_tool"
    assert compile_file(MAIL.replace("type: action", "type: retrieval")).tools[0].tool_kind == "retrieval"


def test_an_agent_keeps_its_body_and_a_role_does_not() -> None:
    agent = (BASES / "agents" / "support-agent.agent.md").read_text(encoding="utf-8")
    (record,) = compile_file(agent, "support-agent.agent.md").records
    assert (record.kind, record.record_id) == ("agent", "support-agent")
    assert {"purpose", "system behavior", "rules"} <= payload(record)["body"].keys()  # type: ignore[arg-type]
    role = (BASES / "iam" / "support-role.iam.md").read_text(encoding="utf-8")
    (record,) = compile_file(role, "support-role.iam.md").records
    assert (record.kind, "body" in payload(record)) == ("role", False)  # type: ignore[arg-type]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "yes",
        "no",
        "on",
        "null",
        "~",
        "1.2",
        "0o14",
        "1e3",
        "0x1f",
        "2026-01-01",
        "12:30",
        "- a",
        "a: b",
        "#",
        "---",
        "&a",
        "*a",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    default=VALUES,
    name=TEXTS.filter(str.strip),
    extra=VALUES,
    key=st.text(string.ascii_letters, min_size=9, max_size=12).map("x_".__add__),
)
def test_parse_emit_parse_is_stable(default: Any, name: str, extra: Any, key: str) -> None:
    (tool,) = compile_file(MAIL).tools
    value = payload(tool)
    value["meta"]["name"] = name
    value["interface"]["input"]["properties"]["text"]["default"] = default
    value[key] = extra
    changed = compile_tool(value, "shop")
    once = str(emit_aml(changed).value)
    (parsed,) = compile_file(once).tools
    assert payload(parsed) == value
    assert emit_aml(parsed).value == once
