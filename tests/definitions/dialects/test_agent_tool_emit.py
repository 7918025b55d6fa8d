"""Tools exported as Agent Tool records."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.content.linkage import REFERRED_BY
from ferrule.definitions.dialects.agent_tool import detect_kind
from ferrule.model.tool import FACT_NAMES, Tool, raw
from tests.definitions.dialects.agent_records import DECLARATION, compile_declaration
from tests.definitions.dialects.emitting import emit_agent_tool


def test_export_is_four_complete_records() -> None:
    records = emit_agent_tool(compile_declaration(DECLARATION)).value
    assert isinstance(records, list)
    declaration, interface, execution, permission = records
    assert [detect_kind(record) for record in records] == ["declaration", *REFERRED_BY]
    assert {record["schema_version"] for record in records} == {"0.2.0"}
    assert interface["inferred_facts"] == list(FACT_NAMES)
    assert declaration["interface_ref"] == interface["interface_id"]
    assert (execution["execution_kind"], permission["risk_level"]) == ("shell", "high")


def test_export_makes_up_no_record_that_lives_elsewhere() -> None:
    emitted: Any = emit_agent_tool(compile_declaration(DECLARATION | {"permission_profile_ref": "elsewhere"})).value
    assert [detect_kind(record) for record in emitted] == ["declaration", "interface", "execution_profile"]
    assert emitted[0]["permission_profile_ref"] == "elsewhere"


def test_internal_fields_are_listed_and_marked_on_export() -> None:
    contract = {
        "runtime_input_schema": {"properties": {"a": {"visibility": "internal"}, "b": {}, "c": {}}},
        "internal_only_fields": ["b"],
    }
    records: Any = emit_agent_tool(compile_declaration(DECLARATION | {"input_contract": contract})).value
    exported = records[0]["input_contract"]
    assert exported["internal_only_fields"] == ["b", "a"]
    members = exported["runtime_input_schema"]["properties"]
    assert [members[name].get("visibility") for name in "abc"] == ["internal", "internal", None]


def test_a_tool_of_another_dialect_is_exported_whole() -> None:
    tool = Tool(
        tool_id="send-mail",
        namespace="post",
        name="send-mail",
        description="Sends.",
        lifecycle="available",
        tool_kind="native_tool",
        dialect="aml",
        version="1.0.0",
        owner="post",
        inferred_facts=FACT_NAMES,
        output_schema=raw({"type": "object"}),
    )
    emitted, losses, _ = emit_agent_tool(tool)
    again = compile_declaration(emitted)
    assert (again.tool_id, again.version, again.inferred_facts) == ("send-mail", "1.0.0", FACT_NAMES)
    assert [(loss.field, loss.instead, loss.rule) for loss in losses] == [("owner", "extension", "AT-278")]
    assert again.owner == "post"
