"""The ADL dialect: what it recognises, outlines, compiles and writes back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.dialect import Definition
from ferrule.definitions.compiler.read import read
from ferrule.definitions.dialects.adl import DIALECT
from ferrule.model.builtin_tools import BUILTIN_TOOLS
from ferrule.model.credentials import is_secret_name
from ferrule.model.document import Source
from ferrule.model.outline import ToolOutline
from ferrule.model.tool import SafetyFacts
from ferrule.schema.validation.soundness import schema_defects
from tests import ROOT
from tests.definitions.dialects.emitting import emit_adl
from tests.definitions.dialects.manifests import compile_manifest, document, manifest, user_tool

BASES = ROOT / "tests" / "definitions" / "rules" / "bases" / "adl"


@pytest.mark.parametrize(
    ("text", "is_adl"),
    [
        ("apiVersion: adl.inference-gateway.com/v1", True),
        ("apiVersion: adl.inference-gateway.com/v9\nkind: Other", True),
        ("kind: Agent\nspec: {capabilities: {}, server: {}}", True),
        ("spec: {capabilities: {}, server: {}, language: {}}", True),
        ("kind: Agent\nspec: {server: {}}", False),
        ("apiVersion: v1\nkind: Agent\nspec: {}", False),
        ("apiVersion: apps/v1\nkind: Deployment\nspec: {template: {}, server: {}}", False),
        ("- adl.inference-gateway.com/v1", False),
        ("adl.inference-gateway.com/v1", False),
        ("", False),
    ],
)
def test_a_manifest_is_told_by_its_content(text: str, is_adl: bool) -> None:
    assert [DIALECT.detect(part) for part in read(Source("x.yaml", text.encode()))] in (
        [is_adl],
        [] if not is_adl else [True],
    )


@pytest.mark.parametrize(
    ("text", "is_claimed"),
    [
        (b"apiVersion: adl.inference-gateway.com/v1\n[", True),
        (b'{"apiVersion": "adl.inference-gateway.com/v1", ', True),
        (b"data:\n  agent.yaml: |\n    apiVersion: adl.inference-gateway.com/v1\n", False),
        (b"see: https://adl.inference-gateway.com/docs\n", False),
    ],
)
def test_broken_text_is_claimed_only_when_it_opens_a_manifest(text: bytes, is_claimed: bool) -> None:
    assert DIALECT.claims_name(Source("x.yaml", text)) is is_claimed


def test_markdown_about_manifests_is_no_manifest() -> None:
    text = b"# How to\n\n```yaml\napiVersion: adl.inference-gateway.com/v1\n```\n"
    assert not DIALECT.claims_name(Source("README.md", text))


def test_a_manifest_after_another_document_is_one_finding() -> None:
    text = b"apiVersion: v1\nkind: Service\n---\napiVersion: adl.inference-gateway.com/v1\nkind: Agent\n"
    outcomes = [DIALECT.definitions(part) for part in read(Source("x.yaml", text))]
    assert [definitions for definitions, _ in outcomes] == [[], []]
    assert [(finding.rule, finding.line) for _, findings in outcomes for finding in findings] == [("ADL-1", 3)]


def test_outlines_name_the_sound_tools() -> None:
    value = manifest(tools=[{"id": "read"}, user_tool(), user_tool(), {"id": "no-good"}, 7])
    outlines = list(DIALECT.outline(document(json.dumps(value)), Definition("adl.manifest", (), value), "elsewhere"))
    assert [type(outline) for outline in outlines] == [ToolOutline, ToolOutline]
    first, second = outlines
    assert isinstance(first, ToolOutline) and isinstance(second, ToolOutline)
    assert (first.tool_id, first.status, first.type) == ("shop.read", "disabled", "file_operation")
    assert (second.tool_id, second.name, second.namespace) == ("shop.sell", "sell", "shop")
    assert (second.version, second.path, second.status) == ("2.0.1", ("spec", "tools", 1), "available")


def test_a_user_defined_tool_is_a_function_with_inferred_facts() -> None:
    (tool,) = compile_manifest(manifest(tools=[user_tool(name="Sell")])).tools
    assert (tool.tool_id, tool.name, tool.title, tool.tool_kind) == ("shop.sell", "sell", "Sell", "function")
    assert (tool.lifecycle, tool.version, tool.tags) == ("available", "2.0.1", ("sales",))
    assert tool.facts == SafetyFacts()
    assert set(tool.inferred_facts) == set(SafetyFacts.__struct_fields__)
    assert msgspec.json.decode(tool.input_schema)["properties"] == {"what": {"type": "string"}}


def test_built_ins_are_expanded_and_disabled_until_enabled() -> None:
    value = manifest(
        tools=[{"id": name} for name in BUILTIN_TOOLS] + [user_tool()],
        config={"tools": {"read": {"enabled": True, "max_lines": 9}, "bash": {"enabled": False}}},
    )
    tools = {tool.name: tool for tool in compile_manifest(value).tools}
    assert {name: tool.lifecycle for name, tool in tools.items()} == {
        "read": "available",
        "bash": "disabled",
        "write": "disabled",
        "edit": "disabled",
        "fetch": "disabled",
        "sell": "available",
    }
    read_tool = tools["read"]
    assert (read_tool.title, read_tool.tool_kind, read_tool.tags) == ("Read", "file_operation", ("filesystem", "read"))
    assert read_tool.facts.is_read_only is True and "is_read_only" not in read_tool.inferred_facts
    assert msgspec.json.decode(read_tool.payload)["config"] == {"enabled": True, "max_lines": 9}
    assert {name for name, tool in tools.items() if tool.facts.is_open_world} == {"bash", "fetch", "sell"}
    assert tools["bash"].tool_kind == "shell_command" and tools["fetch"].tool_kind == "native_tool"


def test_canonical_values_of_a_built_in_win_but_tags_are_free() -> None:
    (tool,) = compile_manifest(
        manifest(tools=[{"id": "bash", "name": "Mine", "description": "Mine", "tags": ["mine"]}])
    ).tools
    assert (tool.title, tool.description, tool.tags) == ("Bash", BUILTIN_TOOLS["bash"].description, ("mine",))


@pytest.mark.parametrize("name", BUILTIN_TOOLS)
def test_built_in_schemas_are_sound_and_closed(name: str) -> None:
    schema = BUILTIN_TOOLS[name].schema
    assert schema_defects(schema) == []
    assert schema["additionalProperties"] is False and set(schema["required"]) <= set(schema["properties"])


def test_the_manifest_survives_whole_but_for_its_secrets() -> None:
    value = manifest(
        config={"mail": {"apiKey": "abc", "url": "${MAIL_URL}"}, "tools": {"my": {"apiKey": "abc"}}},
        agent={"mcp": {"enabled": True, "servers": [{"name": "s", "transport": "http", "env": {"A_TOKEN": "abc"}}]}},
        deployment={"vercel": {"environment": {"DB": "postgres://u:p@h/d", "LEVEL": "info"}}},
        novelty={"kept": True},
    )
    (record,) = compile_manifest(value).records
    payload = msgspec.json.decode(record.payload)
    assert (record.kind, record.record_id, record.version) == ("manifest", "shop", "2.0.1")
    assert payload["spec"]["novelty"] == {"kept": True}
    assert payload["spec"]["config"]["mail"] == {"apiKey": "${MAIL_API_KEY}", "url": "${MAIL_URL}"}
    assert payload["spec"]["agent"]["mcp"]["servers"][0]["env"] == {"A_TOKEN": "${MCP_SERVERS_0_ENV_A_TOKEN}"}
    assert payload["spec"]["deployment"]["vercel"]["environment"]["LEVEL"] == "info"
    assert b"u:p@h" not in bytes(record.payload)


def test_credentials_are_the_variables_of_injected_groups() -> None:
    value = manifest(
        tools=[user_tool(inject=["config.mail", "logger"]), user_tool(id="other")],
        config={"mail": {"key": "${MAIL_KEY}", "at": ["${MAIL_HOST:-x}"]}, "bank": {"key": "${BANK_KEY}"}},
    )
    first, second = compile_manifest(value).tools
    assert first.credentials is not None
    assert msgspec.json.decode(first.credentials) == {"environment": ["MAIL_HOST", "MAIL_KEY"]}
    assert second.credentials is None


texts = st.text(min_size=1, max_size=12)
tools = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True) | st.sampled_from(sorted(BUILTIN_TOOLS)),
        "name": texts,
        "description": texts,
        "tags": st.lists(texts, min_size=1, max_size=2),
        "schema": st.dictionaries(texts, st.booleans() | texts | st.integers(-(2**53), 2**53), min_size=1, max_size=3),
    },
    optional={"inject": st.lists(st.sampled_from(["logger", "config"]), unique=True)},
)


@given(st.lists(tools, max_size=4))
def test_parse_emit_parse_is_stable(items: list[dict[str, Any]]) -> None:
    first = compile_manifest(manifest(tools=items))
    emitted: Any = [emit_adl(tool) for tool in first.tools]
    assert not any(one.losses for one in emitted)
    assert compile_manifest(manifest(tools=[one.value["spec"]["tools"][0] for one in emitted])).tools == first.tools


@pytest.mark.parametrize(
    "name", ["maxTokens", "tokenUrl", "secretName", "passwordPolicy", "apiKeys", "secretKey", "", "é"]
)
def test_names_that_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", ["APIKey", "apiKey", "api_key", "X-API-KEY", "dbPassword", "OAuthToken", "privatekey"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("base", ["agent.yaml", "full.yaml"])
def test_example_manifests_compile(base: str) -> None:
    parsed = document((BASES / base).read_text(encoding="utf-8"))
    definitions, findings = DIALECT.definitions(parsed)
    assert findings == [] and len(definitions) == 1
    assert DIALECT.compile(parsed, definitions[0], "x").tools
