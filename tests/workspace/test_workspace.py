"""The Python API: opening a workspace, and checking it with odd arguments."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import ferrule
from ferrule.errors import FerruleError, SettingsError, WorkspaceError
from ferrule.workspace.workspace import Workspace, group_by_workspace, join_reports
from tests.definitions.rules.cases import HERE

TOOL = (HERE / "bases" / "tools" / "send-mail.tool.md").read_text(encoding="utf-8")
AGENT = "---\nagent_id: helper\nrole: none\ntools: [{ref: send-mail}]\n---\n"


def make(root: Path, *, tool: bool = True, settings: str | None = "") -> Path:
    (root / "tools").mkdir(parents=True)
    if settings is not None:
        (root / "ferrule.toml").write_text(settings)
    if tool:
        (root / "tools" / "send-mail.tool.md").write_text(TOOL)
    return root


def test_one_path_need_not_be_a_list(tmp_path: Path) -> None:
    root = make(tmp_path / "one")
    for path in (root / "tools", str(root / "tools")):
        assert Workspace.open(root).check(path).summary.tools == 1


@pytest.mark.parametrize("now", ["nonsense", "2026-02-30", "30.04.2026"])
def test_a_date_that_is_none_is_a_settings_error(tmp_path: Path, now: str) -> None:
    with pytest.raises(SettingsError, match="is not a date"):
        Workspace.open(make(tmp_path / "one")).check(now=now)


def test_dates_may_be_dates(tmp_path: Path) -> None:
    assert not Workspace.open(make(tmp_path / "one")).check(now=date(2026, 5, 1)).has_errors


def test_a_workspace_needs_at_least_one_job(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        Workspace.open(make(tmp_path / "one")).check(jobs=0)


def test_settings_that_are_no_file_are_not_ignored(tmp_path: Path) -> None:
    root = make(tmp_path / "one", settings=None)
    (root / "ferrule.toml").symlink_to("nowhere")
    with pytest.raises(SettingsError, match="leads nowhere"):
        Workspace.open(root)


def test_a_path_that_is_not_there_is_a_workspace_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        Workspace.open(tmp_path / "missing")
    with pytest.raises(WorkspaceError):
        Workspace.open(make(tmp_path / "one")).check([tmp_path / "missing"])
    assert issubclass(WorkspaceError, FerruleError)


def test_paths_of_two_workspaces_resolve_each_in_its_own(tmp_path: Path) -> None:
    first, second = make(tmp_path / "one"), make(tmp_path / "two", tool=False)
    for root in (first, second):
        (root / "agents").mkdir()
        (root / "agents" / "helper.agent.md").write_text(AGENT)
    groups = group_by_workspace([first / "agents", second / "agents"])
    assert [workspace.root.name for workspace, _ in groups] == ["one", "two"]
    reports = [workspace.check(paths) for workspace, paths in groups]
    unresolved = [found for found in join_reports(reports).diagnostics if found.rule == "AML-91"]
    assert ["two" in found.file for found in unresolved] == [True]


def test_folders_outside_any_workspace_are_one(tmp_path: Path) -> None:
    root = make(tmp_path / "bare", settings=None)
    (root / "agents").mkdir()
    assert len(group_by_workspace([root / "tools", root / "agents"])) == 1


def test_compiling_gives_the_model_and_leaves_out_what_cannot_be_compiled(tmp_path: Path) -> None:
    root = make(tmp_path / "one")
    (root / "tools" / "odd.tool.md").write_text("---\ntool_id: odd\n---\n")
    tools = [tool for file in Workspace.open(root).compile() for part in file.compiled for tool in part.tools]
    assert [(tool.tool_id, tool.dialect, tool.namespace) for tool in tools] == [("send-mail", "aml", "one")]
    assert tools[0].inferred_facts


def test_the_public_names_are_there_and_load_late() -> None:
    assert {name for name in dir(ferrule) if not name.startswith("_")} >= {"Workspace", "Diagnostic", "Severity"}
    assert ferrule.Workspace is Workspace
    with pytest.raises(AttributeError):
        ferrule.nothing_of_the_kind  # noqa: B018 - the look-up is the test
