"""The tools of a workspace for people: compiled where the file is sound, outlined where it has errors, and who uses them."""

from __future__ import annotations

from pathlib import Path

from ferrule.cli.workspace_tools import ListedTool, WorkspaceTools, collect_tools, find_line
from ferrule.workspace.workspace import Workspace


def entry_of(shelf: WorkspaceTools, tool_id: str) -> ListedTool:
    return next(entry for entry in shelf.entries if entry.outline.tool_id == tool_id)


def test_a_sound_tool_is_compiled_and_a_broken_one_says_where_to_look(broken: Path) -> None:
    shelf = collect_tools(Workspace.open(broken))
    sound, wrong = entry_of(shelf, "find-customer"), entry_of(shelf, "send-reply")
    assert sound.tool is not None and sound.errors == 0 and "customers" in sound.tags
    assert wrong.tool is None and (wrong.kind, wrong.tags) == ("unknown", ())
    assert wrong.description.endswith(f"ferrule check {wrong.file})") and wrong.errors > 0


def test_only_what_is_wanted_is_compiled(workspace: Path) -> None:
    shelf = collect_tools(Workspace.open(workspace), lambda outline: outline.tool_id == "send-reply")
    assert entry_of(shelf, "send-reply").tool is not None
    assert entry_of(shelf, "find-customer").tool is None


def test_of_named_files_there_is_nothing_but_their_own_tools(workspace: Path) -> None:
    shelf = collect_tools(Workspace.open(workspace), paths=[workspace / "tools/send-reply.tool.md"])
    assert [entry.outline.tool_id for entry in shelf.entries] == ["send-reply"]


def test_agents_and_roles_that_name_a_tool_are_its_users(workspace: Path) -> None:
    shelf = collect_tools(Workspace.open(workspace))
    users = shelf.list_references(entry_of(shelf, "send-reply"))
    assert users.agents and users.roles
    assert shelf.list_references(entry_of(shelf, "find-customer")) != ((), ())


def test_a_file_that_cannot_be_parsed_is_named(workspace: Path) -> None:
    (workspace / "tools/torn.tool.md").write_text("---\ntool_id: [\n---\n")
    (name,) = collect_tools(Workspace.open(workspace)).unreadable
    assert name.endswith("torn.tool.md")


def test_a_tool_of_a_file_with_one_tool_begins_on_its_first_line(workspace: Path) -> None:
    here = Workspace.open(workspace)
    assert find_line(here, entry_of(collect_tools(here), "send-reply")) == 1
