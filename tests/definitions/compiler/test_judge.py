"""A comparison judged: what breaks whom, and where it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.errors import BuildRefused
from ferrule.model.diagnostic import Report
from ferrule.workspace.releases import diff, publish
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import shop, tool, write

NOW = "2026-02-01"


AT = "2026-02-01T12:00:00Z"


def rules_of(refused: pytest.ExceptionInfo[BuildRefused]) -> list[tuple[str, str, int]]:
    report = refused.value.report
    assert isinstance(report, Report)
    return [(diagnostic.rule, diagnostic.file.rsplit("/", 1)[-1], diagnostic.line) for diagnostic in report.diagnostics]


def test_publishing_refuses_a_breaking_change_without_a_major_version(tmp_path: Path) -> None:
    workspace = Workspace.open(write(tmp_path, shop()))
    publish(workspace, by="ada", at=AT, now=NOW)
    stricter = {"type": "object", "properties": {"q": {"type": "string", "minLength": 1, "description": "Words."}}}
    write(tmp_path, {"tools/find-order.tool.md": tool(version="1.1.0", takes={**stricter, "required": ["q"]})})
    with pytest.raises(BuildRefused) as refused:
        publish(workspace, by="ada", at=AT, now=NOW)
    assert rules_of(refused) == [("AML-83", "find-order.tool.md", 4)]
    assert '{"q":""}' in refused.value.report.diagnostics[0].message  # type: ignore[attr-defined]


def publish_files(root: Path, files: dict[str, str]) -> Workspace:
    workspace = Workspace.open(write(root, files))
    publish(workspace, by="ada", at=AT, now=NOW)
    return workspace


def told(workspace: Workspace) -> list[tuple[str, str, int]]:
    found = diff(workspace, now=NOW).report.diagnostics
    return [(each.rule, each.file.rsplit("/", 1)[-1], each.line) for each in found]


def test_a_tool_that_is_gone_is_told_once_for_the_agent_that_names_it(tmp_path: Path) -> None:
    workspace = publish_files(tmp_path, shop())
    (tmp_path / "tools/find-order.tool.md").unlink()
    assert [rule for rule, _, _ in told(workspace)] == ["AML-81"]


def test_what_was_wrong_before_is_no_news(tmp_path: Path) -> None:
    workspace = publish_files(tmp_path, shop())
    assert told(workspace) == []
    write(tmp_path, {"tools/find-order.tool.md": tool(version="1.0.1", name="Find an order")})
    assert told(workspace) == []


def test_a_comment_in_the_candidates_file_silences_a_finding(tmp_path: Path) -> None:
    workspace = publish_files(tmp_path, shop())
    stricter = {"type": "object", "properties": {"q": {"type": "string", "minLength": 1, "description": "Words."}}}
    text = tool(version="1.1.0", takes={**stricter, "required": ["q"]})
    write(tmp_path, {"tools/find-order.tool.md": text})
    assert told(workspace) == [("AML-83", "find-order.tool.md", 4)]
    write(
        tmp_path,
        {"tools/find-order.tool.md": text.replace("version: 1.1.0", "version: 1.1.0 # ferrule: ignore[AML-83] agreed")},
    )
    assert told(workspace) == []
