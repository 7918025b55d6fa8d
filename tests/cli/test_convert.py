"""`ferrule convert`, as somebody runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.format import WriteOptions
from ferrule.workspace.convert import TARGETS
from ferrule.workspace.convert.convert import convert
from ferrule.workspace.convert.sources import load_tools
from tests import ROOT
from tests.cli.run import Ran, ferrule
from tests.definitions.compiler.definitions import tool

GOLDEN = ROOT / "tests" / "workspace" / "golden"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tools in a workspace."""
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/find-order.tool.md").write_text(tool("find-order"))
    (tmp_path / "tools/find-parcel.tool.md").write_text(tool("find-parcel", name="Find parcel"))
    return tmp_path


def report_of(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.err)
    return found


def test_a_file_goes_to_standard_output_and_the_report_beside_it(folder: Path) -> None:
    ran = ferrule("convert", "tools/find-order.tool.md", "--to", "openai", folder=folder)
    assert ran.code == 0, ran.err
    (written,) = json.loads(ran.out)
    assert written["function"]["name"] == "find-order"
    assert "1 tool to openai:" in ran.err
    assert "find-order (tools/find-order.tool.md)" in ran.err and "version:4" in ran.err, "where it was said"


def test_a_folder_is_all_its_files(folder: Path) -> None:
    ran = ferrule("convert", "tools", "--to", "anthropic", folder=folder)
    assert [one["name"] for one in json.loads(ran.out)] == ["find-order", "find-parcel"]


def test_the_report_for_programs_names_field_place_reason_and_what_was_put(folder: Path) -> None:
    ran = ferrule("convert", "tools/find-order.tool.md", "--to", "openai", "--report", "json", folder=folder)
    report = report_of(ran)
    assert (report["to"], report["summary"]["tools"]) == ("openai", 1)
    version = next(loss for loss in report["losses"] if loss["field"] == "version")
    assert (version["tool_id"], version["file"], version["line"]) == ("find-order", "tools/find-order.tool.md", 4)
    assert version["why"] and version["instead"] == "dropped" and version["is_final"] is True
    assert report["summary"]["final"] == sum(loss["is_final"] for loss in report["losses"])


def test_only_what_cannot_be_read_back_fails_a_build(folder: Path) -> None:
    file = "tools/find-order.tool.md"
    assert ferrule("convert", file, "--to", "openai", "--fail-on-loss", folder=folder).code == 1
    carried = ferrule("convert", file, "--to", "agent-tool", "--fail-on-loss", folder=folder)
    assert carried.code == 0, carried.err
    assert ferrule("convert", file, "--to", "agent-tool", "--plain", "--fail-on-loss", folder=folder).code == 1


def test_what_was_written_is_read_again(folder: Path) -> None:
    for target in ("mcp", "adl", "bedrock"):
        there = ferrule("convert", "tools/find-order.tool.md", "--to", target, "--out", target, folder=folder)
        assert there.code == 0, there.err + there.out
    back = ferrule("convert", "mcp", "--to", "openai", "--namespace", "shop", folder=folder)
    assert '"find-order"' in back.out


def test_there_and_back_again_is_the_same_file(folder: Path) -> None:
    """AT-257: native ids, names and schema survive."""
    assert ferrule("convert", "tools/find-order.tool.md", "--to", "aml", folder=folder).code == 0
    plain = ferrule("convert", "tools/find-order.tool.md", "--to", "aml", folder=folder).out
    ferrule("convert", "tools/find-order.tool.md", "--to", "agent-tool", "--out", "there", folder=folder)
    assert ferrule("convert", "there", "--to", "aml", folder=folder).out == plain


def test_many_files_need_a_folder(folder: Path) -> None:
    ran = ferrule("convert", "tools", "--to", "aml", folder=folder)
    assert (ran.code, ran.out) == (2, "")
    assert "--out" in ran.err
    ran = ferrule("convert", "tools", "--to", "aml", "--out", "made", folder=folder)
    assert ran.code == 0, ran.err
    assert {path.name for path in (folder / "made").glob("*.md")} == {"find-order.tool.md", "find-parcel.tool.md"}


def test_a_file_of_somebody_is_not_overwritten(folder: Path) -> None:
    ferrule("convert", "tools", "--to", "aml", "--out", "made", folder=folder)
    mine = folder / "made/find-order.tool.md"
    mine.write_text("mine")
    refused = ferrule("convert", "tools", "--to", "aml", "--out", "made", folder=folder)
    assert (refused.code, mine.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert ferrule("convert", "tools", "--to", "aml", "--out", "made", "--force", folder=folder).code == 0
    assert mine.read_text() != "mine"


def test_a_file_with_errors_is_told_and_the_others_are_converted(folder: Path) -> None:
    (folder / "tools/broken.tool.md").write_text(tool("broken").replace("status: active", "status: live"))
    ran = ferrule("convert", "tools", "--to", "openai", folder=folder)
    assert ran.code == 1
    assert {one["function"]["name"] for one in json.loads(ran.out)} == {"find-order", "find-parcel"}
    assert "tools/broken.tool.md:5" in ran.err and "AML-11" in ran.err


def test_an_agent_that_may_be_invoked_is_converted_like_a_tool(folder: Path) -> None:
    """AML-109: exported to every dialect."""
    (folder / "agents").mkdir()
    (folder / "agents/researcher.agent.md").write_bytes((GOLDEN / "researcher.agent.md").read_bytes())
    ran = ferrule("convert", "agents/researcher.agent.md", "--to", "openai", folder=folder)
    (written,) = json.loads(ran.out)
    assert written["function"]["name"] == "researcher"
    assert written["function"]["description"].startswith("Researches a question")
    assert written["function"]["parameters"]["required"] == ["question"]
    (sourced,) = load_tools([folder / "agents/researcher.agent.md"]).tools
    for target in TARGETS:
        made = convert([sourced], target, WriteOptions())
        assert not made.left_out
        assert b"researcher" in b"".join(made.files.values()), target


def test_names_come_back_by_the_file_they_were_kept_in(folder: Path) -> None:
    """AT-261: a name that the target forbids is changed reversibly."""
    declaration = {
        "schema_version": "0.2.0", "tool_id": "shop.find", "namespace": "shop", "name": "find.order/now",
        "lifecycle": "available", "tool_kind": "function", "description": "Finds an order. Use it when somebody asks.",
        "input_contract": {"model_input_schema": {"type": "object", "properties": {}}},
    }  # fmt: skip
    (folder / "dotted.json").write_text(json.dumps(declaration))
    there = ferrule("convert", "dotted.json", "--to", "openai", "--names", "names.json", folder=folder)
    (written,) = json.loads(there.out)
    name = written["function"]["name"]
    assert json.loads((folder / "names.json").read_text()) == {name: "find.order/now"}
    (folder / "there.json").write_text(there.out)
    back = ferrule("convert", "there.json", "--to", "agent-tool", "--names", "names.json", folder=folder)
    assert '"find.order/now"' in back.out


def test_strict_schemas_are_asked_for(folder: Path) -> None:
    """AT-46: the strict flag goes with the export."""
    ran = ferrule("convert", "tools/find-order.tool.md", "--to", "openai", "--strict", folder=folder)
    (written,) = json.loads(ran.out)
    assert written["function"]["strict"] is True
    assert written["function"]["parameters"]["additionalProperties"] is False


def test_the_targets_are_listed(folder: Path) -> None:
    listed = ferrule("convert", "--list", folder=folder)
    assert listed.code == 0
    assert set(TARGETS) <= {line.split()[0] for line in listed.out.splitlines()}
    shown = ferrule("convert", "--help", folder=folder)
    assert "Examples:" in shown.out and "Exit code:" in shown.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--to"),
        (("--to", "openai"), "FILE"),
        (("tools", "--to", "nothing"), "nothing"),
        (("nowhere.json", "--to", "openai"), "nowhere.json"),
        (("tools", "--to", "openai", "--names", "ferrule.toml"), "names"),
    ],
)
def test_what_cannot_run_says_what_to_do(folder: Path, words: tuple[str, ...], told: str) -> None:
    ran = ferrule("convert", *words, folder=folder)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err and "Traceback" not in ran.err


HOSTILE = (
    "", "[" * 100_000, "{", '{"tools": [null, 7, {"name": 5}]}', '[{"name": "\\ud800", "input_schema": {}}]',
    '[{"name": "x", "input_schema": {"$ref": "#"}}]', '{"openapi": "3.1.0", "paths": 3}', '{"a": 1, "a": 2}',
    '[{"name": "x", "input_schema": {"minimum": 1e999}}]', "\x00\x01",
)  # fmt: skip


def test_hostile_files_are_told_about_and_take_nobody_with_them(folder: Path) -> None:
    files = []
    for number, text in enumerate(HOSTILE):
        files.append(f"hostile-{number}.json")
        (folder / files[-1]).write_text(text)
    ran = ferrule("convert", *files, "tools/find-order.tool.md", "--to", "openai", folder=folder)
    assert ran.code == 1 and "Traceback" not in ran.err
    assert "find-order" in {one["function"]["name"] for one in json.loads(ran.out)}
    for file in ("hostile-0.json", "hostile-1.json", "hostile-2.json", "hostile-3.json", "hostile-9.json"):
        assert f"{file}:" in ran.err


def test_where_there_is_no_tool_nothing_is_written(folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = ferrule("convert", "empty", "--to", "openai", folder=folder)
    assert (ran.code, ran.out) == (2, "")
    assert "no tool in empty" in ran.err


LOOKUP = {
    "name": "look",
    "description": "Looks it up.",
    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


def test_what_a_list_never_said_is_not_lost(folder: Path) -> None:
    (folder / "mine.json").write_text(json.dumps([LOOKUP]))
    same = ferrule("convert", "mine.json", "--to", "anthropic", "--fail-on-loss", folder=folder)
    assert (same.code, json.loads(same.out)) == (0, [LOOKUP])
    assert ferrule("convert", "mine.json", "--to", "openai", "--fail-on-loss", folder=folder).code == 0
    named = ferrule("convert", "mine.json", "--to", "openai", "--namespace", "shop", folder=folder)
    assert "dropped: namespace" in named.err


def test_a_second_tool_of_the_same_name_is_left_out_in_plain_words(folder: Path) -> None:
    for name in ("one.json", "two.json"):
        (folder / name).write_text(json.dumps([LOOKUP]))
    ran = ferrule("convert", "one.json", "two.json", "--to", "openai", folder=folder)
    assert ran.code == 1
    assert (
        "two.json:1:1: error left-out-tool the tool 'look' is left out: there is another one with that name" in ran.err
    )


def test_written_files_are_named(folder: Path) -> None:
    one = ferrule("convert", "tools", "--to", "openai", "--out", "made", folder=folder)
    assert one.out.splitlines()[-1] == "written: made/tools.openai.json"
    several = ferrule("convert", "tools", "--to", "aml", "--out", "copies", folder=folder)
    assert several.out.splitlines()[-1] == "written: 2 files in copies"


def test_what_is_about_all_tools_is_told_at_the_file_that_is_written(folder: Path) -> None:
    ran = ferrule("convert", "tools", "--to", "adl", folder=folder)
    assert "agent.yaml:1:1: info ADL-3" in ran.err


def test_words_added_to_a_schema_are_told_with_what_they_are_for(folder: Path) -> None:
    schema = {"type": "object", "properties": {"größe": {"type": "string", "minLength": 2}}}
    (folder / "mine.json").write_text(json.dumps([{**LOOKUP, "input_schema": schema}]))
    for target in ("gemini", "ollama", "bedrock"):
        ran = ferrule("convert", "mine.json", "--to", target, "--report", "json", folder=folder)
        losses = json.loads(ran.err)["losses"]
        assert losses and "dropped" not in {loss["instead"] for loss in losses}


def test_a_long_list_of_losses_is_shortened_for_people_only(folder: Path) -> None:
    members = {f"p{number}": {"type": "string", "minLength": 1} for number in range(50)}
    (folder / "mine.json").write_text(
        json.dumps([{**LOOKUP, "input_schema": {"type": "object", "properties": members}}])
    )
    ran = ferrule("convert", "mine.json", "--to", "ollama", folder=folder)
    assert "and 70 more, which --report json lists" in ran.err
    report = json.loads(ferrule("convert", "mine.json", "--to", "ollama", "--report", "json", folder=folder).err)
    assert len(report["losses"]) == 100


def test_where_nothing_was_converted_nobody_says_that_nothing_is_lost(folder: Path) -> None:
    (folder / "odd.json").write_text("{}")
    assert "0 tools to openai: nothing converted" in ferrule("convert", "odd.json", "--to", "openai", folder=folder).err
