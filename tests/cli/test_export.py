"""`ferrule export`, as somebody runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.cli.export import FRAMEWORKS, write_program
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


def request_in(ran: Ran) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_beginning_of_a_request_is_written(folder: Path) -> None:
    ran = ferrule("export", "--to", "openai", folder=folder)
    names = [one["function"]["name"] for one in request_in(ran)["tools"]]
    assert names == ["find-order", "find-parcel"]
    assert "2 tools for openai: about " in ran.err and "tokens (estimated)" in ran.err


def test_a_tool_that_is_switched_off_is_not_in_it(folder: Path) -> None:
    ferrule("disable", "find-parcel", folder=folder)
    ran = ferrule("export", "--to", "anthropic", folder=folder)
    assert [one["name"] for one in request_in(ran)["tools"]] == ["find-order"]
    whole = ferrule("export", "--to", "anthropic", "--whole", folder=folder)
    assert len(request_in(whole)["tools"]) == 2, "the catalog, whoever may see it"


def test_every_tool_has_its_tokens(folder: Path) -> None:
    ran = ferrule("export", "--to", "anthropic", "--tokens", "--report", "json", folder=folder)
    tokens = json.loads(ran.err)["tokens"]
    assert tokens["counted_by"] == "estimate"
    assert set(tokens["tools"]) == {"find-order", "find-parcel"}
    assert tokens["total"] == sum(tokens["tools"].values()) + tokens["instructions"]
    told = ferrule("export", "--to", "anthropic", "--tokens", folder=folder).err
    assert "find-order " in told and "find-parcel " in told


def test_the_report_is_where_the_result_is_not(folder: Path) -> None:
    ran = ferrule("export", "--to", "gemini", "--whole", "--strict", "--out", "tools.json", folder=folder)
    assert ran.code == 0, ran.err
    assert b"find-order" in (folder / "tools.json").read_bytes()
    assert "2 tools for gemini" in ran.out


def test_a_file_of_somebody_is_not_overwritten(folder: Path) -> None:
    (folder / "tools.json").write_text("mine")
    refused = ferrule("export", "--to", "openai", "--out", "tools.json", folder=folder)
    assert (refused.code, (folder / "tools.json").read_text()) == (2, "mine")
    assert ferrule("export", "--to", "openai", "--out", "tools.json", "--force", folder=folder).code == 0


def test_a_framework_gets_code(folder: Path) -> None:
    ran = ferrule("export", "--to", "langchain", "--principal", "ada", folder=folder)
    assert ran.code == 0, ran.err
    assert "app.surface(principal='ada')" in ran.out
    for framework, module in FRAMEWORKS.items():
        code = write_program(framework, "work", agent="x", role=None)
        compile(code, framework, "exec")
        assert f"from ferrule.adapters import {module}" in code and "app.surface(agent='x')" in code


def test_agents_are_tools_for_others(folder: Path) -> None:
    """AML-109"""
    (folder / "iam").mkdir()
    (folder / "iam/reader.iam.md").write_text(
        '---\nspec_version: "1.2"\niam_id: reader\nversion: 1.0.0\nstatus: active\n'
        "meta: {name: Reader, description: Reads., owner: us}\n---\n"
    )
    (folder / "agents").mkdir()
    (folder / "agents/researcher.agent.md").write_bytes((GOLDEN / "researcher.agent.md").read_bytes())
    ran = ferrule("export", "--to", "anthropic", "--agents", folder=folder)
    (written,) = request_in(ran)["tools"]
    assert written["name"] == "researcher"
    assert written["input_schema"]["required"] == ["question"]


def test_an_agent_sees_its_own_tools(folder: Path) -> None:
    (folder / "iam").mkdir()
    (folder / "iam/reader.iam.md").write_text(
        '---\nspec_version: "1.2"\niam_id: reader\nversion: 1.0.0\nstatus: active\n'
        "meta: {name: Reader, description: Reads., owner: us}\ntools: [{ref: find-order}]\n---\n"
    )
    (folder / "agents").mkdir()
    text = (GOLDEN / "researcher.agent.md").read_text()
    (folder / "agents/researcher.agent.md").write_text(
        text.replace("policies:", "tools: [{ref: find-order}]\npolicies:")
    )
    ran = ferrule("export", "--to", "openai", "--agent", "researcher", folder=folder)
    assert [one["function"]["name"] for one in request_in(ran)["tools"]] == ["find-order"]
    unknown = ferrule("export", "--to", "openai", "--agent", "nobody", folder=folder)
    assert unknown.code == 2 and "nobody" in unknown.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--to", "nothing"), "nothing"),
        (("--to", "openai", "--whole", "--agent", "x"), "--whole"),
        (("--to", "langchain", "--whole"), "--whole"),
    ],
)
def test_what_cannot_run_says_what_to_do(folder: Path, words: tuple[str, ...], told: str) -> None:
    ran = ferrule("export", *words, folder=folder)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err and "Traceback" not in ran.err


def test_operations_of_a_document_are_counted(folder: Path) -> None:
    ran = ferrule("export", "--to", "openapi", "--whole", "--report", "json", folder=folder)
    report = json.loads(ran.err)
    assert report["tools"] == 2
    assert set(report["tokens"]["tools"]) == {"find-order", "find-parcel"} and report["tokens"]["total"] > 0


def test_a_request_in_the_workspace_changes_no_definition(folder: Path) -> None:
    first = ferrule("export", "--to", "openai", folder=folder)
    (folder / "request.json").write_text(first.out)
    assert "definitions changed" not in ferrule("export", "--to", "openai", folder=folder).err


def test_a_function_whose_definition_is_not_built_yet_asks_for_a_build(folder: Path) -> None:
    assert ferrule("build", folder=folder).code == 0
    (folder / "d.py").write_text('def refund(order: str) -> str:\n    """Give money back."""\n    return order\n')
    assert ferrule("import", "python", "d.py", folder=folder).code == 0
    ran = ferrule("export", "--to", "openai", folder=folder)
    assert ran.code == 2
    assert "d:refund is bound to" in ran.err and "'ferrule build' builds it anew" in ran.err
    assert "@tool()" not in ran.err
    built = ferrule("export", "--to", "openai", "--build", folder=folder)
    assert len(request_in(built)["tools"]) == 3
