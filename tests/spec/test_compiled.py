"""Requirements about what a definition compiles into, by their ids: the `build` lines of requirements.toml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.definitions.compiler.pack import canonical, digest_of
from ferrule.model.tool import FACT_NAMES, Tool
from ferrule.workspace.workspace import Workspace
from tests.definitions.dialects.emitting import emit_agent_tool

AML = """\
---
spec_version: "1.2"
tool_id: find-order
version: "1.0.0"
status: active
meta:
  name: Find order
  description: Finds an order by its number. Use it before speaking about one.
  owner: store
type: TYPE
interface:
  input: {type: object, properties: {number: {type: string, description: Its number.}}, required: [number]}
  output: {type: object}
transport:
  type: rest-api
  base_url: https://store.example/api
  endpoint: GET /orders
  credentials: {scheme: none}
use_guidance:
  use_when: [an order is spoken of]
  avoid_when: [there is no number]
  side_effects: None.
---
BODY
"""
DECLARATION: dict[str, Any] = {
    "schema_version": "0.2.0",
    "tool_id": "tool_notes",
    "namespace": "notes",
    "name": "search",
    "description": "Search the notes. Not for mail.",
    "lifecycle": "available",
    "tool_kind": "function",
    "input_contract": {"model_input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}},
}
MANIFEST = """\
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: helper, description: Helps, version: 1.0.0}
spec:
  capabilities: {streaming: true, pushNotifications: false, stateTransitionHistory: false}
  server: {port: 8080}
  language: {go: {module: example.com/helper, version: "1.24"}}
  config: {tools: {read: {enabled: true}}}
  tools:
    - id: read
    - id: bash
"""


def compile_text(folder: Path, name: str, text: str) -> tuple[list[Tool], dict[str, dict[str, str]]]:
    """Tools and documentation of one file."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    items = [item for found in Workspace.open(folder).compile([file]) for item in found.compiled]
    documentation = {key: texts for item in items for key, texts in item.documentation.items()}
    return [tool for item in items for tool in item.tools], documentation


def aml(folder: Path, kind: str = "retrieval", body: str = "") -> Tool:
    tools, _ = compile_text(folder, "find-order.tool.md", AML.replace("TYPE", kind).replace("BODY", body))
    return tools[0]


def compile_declaration(folder: Path, **changes: Any) -> Tool:
    tools, _ = compile_text(folder, "notes.json", json.dumps({**DECLARATION, **changes}))
    return tools[0]


def emit_records(tool: Tool) -> list[dict[str, Any]]:
    """The tool as Agent Tool records: declaration, interface and profiles."""
    value: Any = emit_agent_tool(tool).value
    assert isinstance(value, list)
    return value


def test_body_changes_documentation_and_no_digest(tmp_path: Path) -> None:
    """AML-3, AML-4"""
    text = AML.replace("TYPE", "retrieval")
    (plain,), nothing = compile_text(tmp_path, "find-order.tool.md", text.replace("BODY", ""))
    (told,), documentation = compile_text(tmp_path, "find-order.tool.md", text.replace("BODY", "# Purpose\n\nTo find."))
    assert digest_of(canonical(plain)) == digest_of(canonical(told))
    assert not nothing
    assert documentation[told.tool_id]["purpose"].strip() == "To find."


def test_payload_spells_out_the_transport_defaults(tmp_path: Path) -> None:
    """AML-87"""
    payload = msgspec.json.decode(aml(tmp_path).payload)
    assert payload["transport"]["timeout_ms"] == 5000
    assert payload["transport"]["retry_policy"]["max_attempts"] == 3
    assert "documentation" not in payload


def test_a_reserved_tool_gets_its_canonical_form(tmp_path: Path) -> None:
    """ADL-18, ADL-20: what is listed is filled in; what is not enabled is disabled."""
    tools, _ = compile_text(tmp_path, "helper.yaml", MANIFEST)
    read, bash = sorted(tools, key=lambda tool: tool.tool_id, reverse=True)
    assert (read.tool_kind, read.lifecycle, read.facts.is_read_only) == ("file_operation", "available", True)
    assert (bash.tool_kind, bash.lifecycle) == ("shell_command", "disabled")
    assert read.description
    assert "file_path" in msgspec.json.decode(read.input_schema)["properties"]
    assert msgspec.json.decode(bash.input_schema)["additionalProperties"] is False


def test_identity_survives_edits_and_conversion(tmp_path: Path) -> None:
    """AT-3, AT-9: another description or alias is the same tool, and the description is what the model reads."""
    before = compile_declaration(tmp_path)
    after = compile_declaration(tmp_path, description="Search all notes.", aliases=["find_notes"])
    assert before.tool_id == after.tool_id == emit_records(after)[0]["tool_id"]
    assert emit_records(after)[0]["description"] == after.description == "Search all notes."


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("is_concurrency_safe", False),  # AT-41
        ("is_read_only", False),  # AT-42
        ("is_destructive", False),  # AT-43, and AT-49: inferred, so no proof of harmlessness
        ("is_open_world", True),  # AT-44
        ("requires_user_interaction", False),  # AT-45
        ("strict", True),  # AT-46
        ("interrupt_behavior", "block"),  # AT-47
        ("classifier_input", ""),  # AT-48
    ],
)
def test_an_unstated_fact_is_the_safest_and_marked(fact: str, value: object, tmp_path: Path) -> None:
    tool = compile_declaration(tmp_path)
    assert getattr(tool.facts, fact) == value
    assert fact in tool.inferred_facts


def test_stating_a_fact_takes_it_off_the_list_of_inferred_ones(tmp_path: Path) -> None:
    """AT-51, and AT-25: an embedded interface counts like one of its own."""
    tool = compile_declaration(tmp_path, tool_interface={"is_read_only": True})
    assert tool.facts.is_read_only is True
    assert set(tool.inferred_facts) == set(FACT_NAMES) - {"is_read_only"}
    declaration, interface, *_ = emit_records(tool)
    assert interface["inferred_facts"] == list(tool.inferred_facts)
    assert declaration["interface_ref"] == interface["interface_id"]
    assert interface["tool_id"] == declaration["tool_id"]


@pytest.mark.parametrize(
    ("kind", "is_open"), [("file_operation", False), ("web_search", True), ("policy_check", False)]
)
def test_openness_depends_on_the_kind(kind: str, is_open: bool, tmp_path: Path) -> None:
    """AT-44"""
    assert compile_declaration(tmp_path, tool_kind=kind).facts.is_open_world is is_open


def test_annotations_relax_nothing(tmp_path: Path) -> None:
    """AT-28"""
    tool = compile_declaration(tmp_path, annotations={"readOnlyHint": True, "is_read_only": True})
    assert tool.facts.is_read_only is False
    assert msgspec.json.decode(tool.payload)["annotations"]["readOnlyHint"] is True


def test_each_record_is_emitted_on_its_own(tmp_path: Path) -> None:
    """AT-30: declaration, interface, execution profile and permission profile."""
    records = emit_records(compile_declaration(tmp_path))
    ids = ("tool_kind", "interface_id", "execution_profile_id", "permission_profile_id")
    assert [next(key for key in ids if key in record) for record in records] == list(ids)
    assert {record["schema_version"] for record in records} == {"0.2.0"}


def test_unknown_fields_survive_at_every_level(tmp_path: Path) -> None:
    """AT-278, AT-279, AT-281, AT-21, AT-32, AT-34, AT-257: what we do not know, we keep."""
    extra = {
        "x_team": {"deep": [1, {"er": None}]},
        "capability_refs": ["note_search"],
        "external_mappings": [{"source": "quantum", "native_id": "Q7"}],
        "tool_interface": {"user_facing_name": "Notes", "rendering": {"ui_summary": "short", "x_icon": "pen"}},
    }
    declaration, interface, *_ = emit_records(compile_declaration(tmp_path, **extra))
    for key in ("x_team", "capability_refs", "external_mappings"):
        assert declaration[key] == extra[key]
    assert interface["rendering"] == {"ui_summary": "short", "x_icon": "pen"}
    assert interface["user_facing_name"] == "Notes"


def test_the_older_spelling_of_the_input_schema_is_read(tmp_path: Path) -> None:
    """AT-86, and AT-29: the schema stays what it was."""
    schema = {"type": "object", "properties": {"q": {"type": "string", "x-unit": "words"}}}
    tool = compile_declaration(tmp_path, input_contract={"schema": schema})
    assert msgspec.json.decode(tool.input_schema) == schema


def test_the_type_of_an_aml_tool_states_its_facts(tmp_path: Path) -> None:
    """AT-42: an action is possibly anything, a retrieval is read-only because its type says so."""
    assert "is_read_only" not in aml(tmp_path).inferred_facts
    action = aml(tmp_path, "action")
    assert action.facts.is_read_only is False
    assert "is_destructive" in action.inferred_facts
