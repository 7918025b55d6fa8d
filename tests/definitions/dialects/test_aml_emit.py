"""Tools written as AML files, and what AML cannot say."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.tool import SafetyFacts, Tool, raw
from tests.definitions.dialects.aml_files import compile_file, document
from tests.definitions.dialects.emitting import emit_aml
from tests.definitions.rules.cases import HERE

BASES = HERE / "bases"


@pytest.mark.parametrize("path", sorted((BASES / "tools").glob("*.tool.md")), ids=lambda path: path.name)
def test_an_emitted_tool_compiles_to_the_same(path: Any) -> None:
    (tool,) = compile_file(path.read_text(encoding="utf-8")).tools
    text, losses, demands = emit_aml(tool)
    assert (losses, demands) == ((), ())
    assert compile_file(str(text)).tools == (tool,)


def test_a_foreign_tool_is_emitted_with_a_report_of_losses() -> None:
    tool = Tool(
        tool_id="Shop.SendMail",
        namespace="Shop",
        name="Shop_SendMail",
        description="Sends a mail.",
        lifecycle="requires_setup",
        tool_kind="function",
        dialect="oxp",
        version="1.0",
        aliases=("mail",),
        input_schema=raw({"properties": {"to": {"$ref": "#/x"}}}),
        inferred_facts=tuple(SafetyFacts.__struct_fields__),
        approval_required=True,
        max_calls_per_run=2,
    )
    text, losses, demands = emit_aml(tool)
    value: Any = document(str(text)).value
    assert (value["tool_id"], value["version"], value["status"]) == ("shop-sendmail", "0.1.0", "active")
    assert (value["type"], value["approval_required"], value["max_calls_per_run"]) == ("action", True, 2)
    assert value["interface"]["input"] == {"type": "object", "properties": {"to": {}}}
    assert {loss.field: (loss.instead, loss.rule) for loss in losses} == {
        "tool_id": ("extension", "AML-9"),
        "namespace": ("extension", "AML-15"),
        "name": ("extension", "AML-9"),
        "version": ("extension", "AML-10"),
        "title": ("extension", "AML-12"),
        "aliases": ("extension", "AML-15"),
        "owner": ("extension", "AML-12"),
        "lifecycle": ("extension", "AML-11"),
        "tool_kind": ("extension", ""),
        "facts.is_open_world": ("extension", "AML-14"),
        "inferred_facts": ("extension", "AML-14"),
        "input_schema/type": ("extension", "AML-25"),
        "input_schema/properties/to/$ref": ("extension", "AML-26"),
        "output_schema": ("extension", "AML-23"),
    }
    assert [(found.rule, found.path) for found in demands] == [
        ("AML-74", ("Shop.SendMail", "use_guidance")),
        ("AML-37", ("Shop.SendMail", "transport")),
    ]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"is_read_only": True, "is_open_world": False}, "function"),
        ({"is_read_only": True}, "retrieval"),
        ({"is_read_only": False}, "action"),
        ({"is_read_only": "classifier:x"}, "action"),
        ({"requires_user_interaction": True}, "human"),
    ],
)
def test_a_foreign_tool_gets_the_type_its_facts_allow(facts: dict[str, Any], expected: str) -> None:
    tool = Tool(
        tool_id="a",
        namespace="n",
        name="a",
        description="",
        lifecycle="retired",
        tool_kind="function",
        dialect="agent_tool",
        facts=SafetyFacts(**facts),
        inferred_facts=tuple(name for name in SafetyFacts.__struct_fields__ if name not in facts),
        input_schema=raw(True),
        output_schema=raw({"type": "array"}),
    )
    value: Any = document(str(emit_aml(tool).value)).value
    assert value["type"] == expected
    assert value["interface"]["output"]["properties"]["value"] == {"type": "array"}
    assert (value["tool_id"], value["status"], value["meta"]["description"]) == ("tool-a", "disabled", "a")
