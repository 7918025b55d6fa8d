"""`ferrule show`: everything about one tool, what was inferred, who uses it, and where to look when it is broken."""

from __future__ import annotations

import json
from pathlib import Path

from ferrule.cli.show_tool import schema_lines
from tests.cli.run import ferrule


def test_show_marks_what_was_inferred_and_names_the_users(workspace: Path) -> None:
    ran = ferrule("show", "send-reply", folder=workspace)
    assert ran.code == 0
    assert ran.out.startswith("send-reply@1.0.0\nSend reply\n")
    assert "tools/send-reply.tool.md:1" in ran.out
    assert "(inferred)" in ran.out
    lines = [line.strip() for line in ran.out.split("\n")]
    assert "agents      support (approval required)" in lines
    assert "roles       support-role (approval required, at most 3 a run)" in lines
    assert "subject*: string, at most 120 characters. Subject line." in lines


def test_show_follows_references_and_tells_alternatives() -> None:
    card = {"title": "Card", "properties": {"number": {"type": "string", "minLength": 4}}, "required": ["number"]}
    schema = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "description": "What is  ordered."},
            "state": {"type": "string", "enum": ["open", "paid", "sent", "lost", "done"]},
            "pay": {"oneOf": [card, {"$ref": "#/$defs/cash"}]},
        },
        "required": ["lines"],
        "additionalProperties": False,
        "$defs": {
            "line": {"type": "object", "properties": {"isbn": {"type": "string"}}},
            "cash": {"properties": {"till": {}}},
        },
    }
    assert list(schema_lines(schema)) == [
        "  lines*: array of object. What is ordered.",
        "    isbn: string",
        '  state: one of 5: "open", "paid", "sent", "lost", "done"',
        "  pay: object",
        "    exactly one of, 1: object. Card",
        "      number*: string, at least 4 characters",
        "    exactly one of, 2: object",
        "      till: anything",
        "  (nothing else)",
    ]
    assert list(schema_lines({"type": "string"})) == ["  the value: string"]
    assert list(schema_lines({"type": "object"})) == []


def test_show_tells_where_a_tool_lives(workspace: Path) -> None:
    told = ferrule("show", "find-customer", folder=workspace).out
    assert "behind it   rest-api https://crm.example.com/v1 GET /customers/{email}" in told
    assert "behind it" not in ferrule("show", "Text.Translate", folder=workspace).out


def test_show_json_holds_the_tool(workspace: Path) -> None:
    shown = json.loads(ferrule("show", "find-customer@1.0.0", "--json", folder=workspace).out)
    assert shown["tool"]["tool_kind"] == "retrieval"
    assert [use["name"] for use in shown["agents"]] == ["support"]


def test_show_knows_what_the_interface_of_a_tool_says_in_another_file(tmp_path: Path) -> None:
    """AT-51: a stated fact is not told to be inferred, wherever it is stated."""
    tool = {
        "schema_version": "0.2.0", "tool_id": "find", "namespace": "shop", "name": "find", "title": "Find", "description":
        "Find an order.", "lifecycle": "available", "tool_kind": "function", "interface_ref": "tool_interface:find",
        "input_contract": {"model_input_schema": {"type": "object"}},
    }  # fmt: skip
    interface = {"schema_version": "0.2.0", "interface_id": "find", "tool_id": "find", "is_read_only": True}
    (tmp_path / "ferrule.toml").touch()
    (tmp_path / "find.json").write_text(json.dumps(tool))
    (tmp_path / "interface.json").write_text(json.dumps(interface))
    shown = json.loads(ferrule("show", "find", "--json", folder=tmp_path).out)["tool"]
    assert shown["facts"] == {"is_read_only": True}
    assert "is_read_only" not in shown["inferred_facts"]
    assert "is_destructive" in shown["inferred_facts"]


def test_show_of_a_broken_tool_says_where_to_look(broken: Path) -> None:
    ran = ferrule("show", "send-reply", folder=broken)
    assert ran.code == 1
    assert "ferrule check tools/send-reply.tool.md" in ran.out


def test_an_unknown_tool_gets_the_nearest(workspace: Path) -> None:
    ran = ferrule("show", "send-replay", folder=workspace)
    assert ran.code == 2
    assert "did you mean 'send-reply'?" in ran.err
