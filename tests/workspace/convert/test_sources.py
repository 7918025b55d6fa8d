"""Files of any kind as tools: with their diagnostics, their places, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from ferrule.errors import WorkspaceError
from ferrule.workspace.convert import NAMES_FILE
from ferrule.workspace.convert.sources import load_tools
from tests import ROOT
from tests.definitions.dialects.tools import VALUES
from tests.definitions.rules.cases import HERE

BASES = HERE / "bases"
MAIL = (BASES / "tools" / "send-mail.tool.md").read_text(encoding="utf-8")


def definition(name: str, **changes: object) -> dict[str, object]:
    usual: dict[str, object] = {"id": f"Lamp.{name}@1.0.0", "name": f"Lamp_{name}", "description": "Lights.",
                                "version": "1.0.0", "input_schema": {"parameters": {}}, "output_schema": None}  # fmt: skip
    return usual | changes


def test_folders_files_and_patterns_are_read_once_each(tmp_path: Path) -> None:
    for name in ("one", "two"):
        text = MAIL.replace("tool_id: send-mail", f"tool_id: send-{name}")
        (tmp_path / f"send-{name}.tool.md").write_text(text, encoding="utf-8")
    for paths in ([tmp_path], [tmp_path / "*.md"], [tmp_path, tmp_path / "send-one.tool.md", tmp_path / "**/*.md"]):
        found = load_tools(paths, namespace="shop")
        assert [one.tool.tool_id for one in found.tools] == ["send-one", "send-two"]
        assert {one.tool.namespace for one in found.tools} == {"shop"}


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no file or folder"):
        load_tools([tmp_path / "nowhere"])
    with pytest.raises(WorkspaceError, match="no file or folder"):
        load_tools([tmp_path / "*.json"])


def test_one_broken_definition_takes_no_other_with_it(tmp_path: Path) -> None:
    file = tmp_path / "lamps.json"
    file.write_text(json.dumps([definition("On"), definition("Off", version="one"), definition("Dim")], indent=1))
    found = load_tools([file])
    assert [one.tool.tool_id for one in found.tools] == ["Lamp.On", "Lamp.Dim"]
    assert [one.line for one in found.tools] == [2, 22]
    assert {one.rule for one in found.diagnostics.diagnostics} == {"OXP-6"}


def test_a_manifest_loses_only_the_tool_that_is_wrong(tmp_path: Path) -> None:
    text = (BASES / "adl" / "agent.yaml").read_text(encoding="utf-8").replace("port: 8080", "port: 0")
    file = tmp_path / "agent.yaml"
    file.write_text(
        text.replace("number:\n            type: string", "number:\n            type: strng"), encoding="utf-8"
    )
    found = load_tools([file])
    assert [one.tool.name for one in found.tools] == ["read"]
    assert {one.rule for one in found.diagnostics.diagnostics} >= {"ADL-4", "ADL-14"}


def test_a_missing_transport_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "send-mail.tool.md"
    before, _, after = MAIL.partition("transport:\n")
    file.write_text(before + "use_guidance:\n" + after.partition("use_guidance:\n")[2], encoding="utf-8")
    found = load_tools([file])
    assert [one.tool.tool_id for one in found.tools] == ["send-mail"]
    assert "AML-37" in {one.rule for one in found.diagnostics.diagnostics}


def test_records_that_a_declaration_points_at_are_joined_with_it(tmp_path: Path) -> None:
    declaration = {"schema_version": "0.2.0", "tool_id": "a", "namespace": "n", "name": "a", "description": "A.",
                   "lifecycle": "available", "tool_kind": "function", "interface_ref": "i"}  # fmt: skip
    interface = {"schema_version": "0.2.0", "interface_id": "i", "tool_id": "a", "is_read_only": True}
    (tmp_path / "a.json").write_text(json.dumps(declaration))
    (tmp_path / "i.json").write_text(json.dumps(interface))
    (one,) = load_tools([tmp_path]).tools
    assert one.tool.facts.is_read_only is True


def test_an_agent_that_may_be_invoked_is_a_tool() -> None:
    """AML-109: it can be converted like any other."""
    (one,) = load_tools([ROOT / "tests" / "workspace" / "golden" / "researcher.agent.md"]).tools
    assert one.tool.tool_kind == "peer_agent_tool"


def test_lists_of_providers_are_recognised_and_their_names_lead_back(tmp_path: Path) -> None:
    """AT-261: a changed name is kept beside the list."""
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"name": "send_mail", "description": "Sends.", "input_schema": {"type": "object"}}]))
    (tmp_path / NAMES_FILE).write_text(json.dumps({"send_mail": "send.mail"}))
    (one,) = load_tools([file], namespace="shop").tools
    assert (one.tool.name, one.tool.namespace) == ("send.mail", "shop")


def test_what_nobody_knows_is_told_when_it_was_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text('{"a": 1}')
    assert [one.rule for one in load_tools([file]).diagnostics.diagnostics] == ["FER-2"]
    assert load_tools([tmp_path]).diagnostics.diagnostics == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 5000, '{"tools": [1, null, {"id": 3}]}', '{"x-ferrule": 1, "schema_version": []}', "\x00", "---\n- a",
     '{"openapi": "3.1.0", "paths": {"/a": 3}}', '[{"type": "function", "function": null}]'],
)  # fmt: skip
def test_hostile_files_give_diagnostics(text: str, tmp_path: Path) -> None:
    for name in ("a.json", "a.yaml", "a.tool.md"):
        (tmp_path / name).write_text(text)
        load_tools([tmp_path / name])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(extension=VALUES, origin=VALUES, payload=VALUES)
def test_hostile_extensions_are_passed_over(tmp_path: Path, extension: object, origin: object, payload: object) -> None:
    for one in (extension, {"origin": origin}, {"origin": {"dialect": "aml", "payload": payload}}):
        value = definition("On", input_schema={"parameters": {}, "x-ferrule": one})
        (tmp_path / "a.json").write_text(json.dumps(value))
        (found,) = load_tools([tmp_path / "a.json"]).tools
        assert found.tool.tool_id == "Lamp.On"
