"""The tools of a workspace for people: compiled where the file is sound, outlined where it has errors, and who uses them."""

from __future__ import annotations

from pathlib import Path

from ferrule.cli.shelf import Entry, Shelf, line_of, shelf_of
from ferrule.workspace.workspace import Workspace


def entry_of(shelf: Shelf, tool_id: str) -> Entry:
    return next(entry for entry in shelf.entries if entry.outline.tool_id == tool_id)


def test_a_sound_tool_is_compiled_and_a_broken_one_says_where_to_look(broken: Path) -> None:
    shelf = shelf_of(Workspace.open(broken))
    sound, wrong = entry_of(shelf, "find-customer"), entry_of(shelf, "send-reply")
    assert sound.tool is not None and sound.errors == 0 and "customers" in sound.tags
    assert wrong.tool is None and (wrong.kind, wrong.tags) == ("unknown", ())
    assert wrong.description.endswith(f"ferrule check {wrong.file})") and wrong.errors > 0


def test_only_what_is_wanted_is_compiled(workspace: Path) -> None:
    shelf = shelf_of(Workspace.open(workspace), lambda outline: outline.tool_id == "send-reply")
    assert entry_of(shelf, "send-reply").tool is not None
    assert entry_of(shelf, "find-customer").tool is None


def test_of_named_files_there_is_nothing_but_their_own_tools(workspace: Path) -> None:
    shelf = shelf_of(Workspace.open(workspace), paths=[workspace / "tools/send-reply.tool.md"])
    assert [entry.outline.tool_id for entry in shelf.entries] == ["send-reply"]


def test_agents_and_roles_that_name_a_tool_are_its_users(workspace: Path) -> None:
    shelf = shelf_of(Workspace.open(workspace))
    users = shelf.users_of(entry_of(shelf, "send-reply"))
    assert users.agents and users.roles
    assert shelf.users_of(entry_of(shelf, "find-customer")) != ((), ())


def test_a_file_that_cannot_be_parsed_is_named(workspace: Path) -> None:
    (workspace / "tools/torn.tool.md").write_text("---\ntool_id: [\n---\n")
    (name,) = shelf_of(Workspace.open(workspace)).unreadable
    assert name.endswith("torn.tool.md")


def test_a_tool_of_a_file_with_one_tool_begins_on_its_first_line(workspace: Path) -> None:
    here = Workspace.open(workspace)
    assert line_of(here, entry_of(shelf_of(here), "send-reply")) == 1
