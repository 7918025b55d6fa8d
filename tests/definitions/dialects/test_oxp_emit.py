"""Tools written as OXP definitions, and what OXP cannot say."""

from __future__ import annotations

from ferrule.model.tool import FACT_NAMES, Tool, raw
from tests.definitions.dialects.emitting import emit_oxp
from tests.definitions.dialects.oxp_definitions import compile_definition


def test_a_tool_of_another_dialect_is_emitted_with_its_losses() -> None:
    tool = Tool(
        tool_id="send-mail",
        namespace="my mail",
        name="send-mail",
        description="Sends.",
        lifecycle="deprecated",
        tool_kind="function",
        dialect="aml",
        version="1.0.0-rc.1",
        owner="post",
        approval_required=True,
        inferred_facts=tuple(name for name in FACT_NAMES if name != "is_read_only"),
        input_schema=raw({"$defs": {"a": {}}, "properties": {"to": {"$ref": "#/$defs/a"}, "x": True}}),
    )
    emitted, losses, _ = emit_oxp(tool)
    assert isinstance(emitted, dict)
    assert emitted["id"] == "my_mail.send_mail@1.0.0"
    parameters = {"properties": {"to": {"description": "to"}, "x": {"description": "x"}}}
    assert emitted["input_schema"]["parameters"] == parameters
    told = {loss.field for loss in losses}
    assert {"owner", "approval_required", "inferred_facts", "lifecycle", "version", "name", "title"} <= told
    assert {"input_schema/$defs", "input_schema/properties/to/$ref", "input_schema/properties/x"} <= told
    assert {loss.instead for loss in losses} == {"extension"}
    assert compile_definition(emitted)[0].tool_id == "my_mail.send_mail"
