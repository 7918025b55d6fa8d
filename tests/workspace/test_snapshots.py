"""What can be compared: folders, files and catalogs, each told from the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from ferrule.errors import FerruleError, WorkspaceError
from ferrule.workspace.releases import build
from ferrule.workspace.snapshots import is_definitions, load_path_side, load_revision_side, report_progress
from ferrule.workspace.workspace import Workspace


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    write_workspace(tmp_path / "shop")
    return Workspace.open(tmp_path / "shop")


def ids(here: Workspace, path: Path) -> set[str]:
    with load_path_side(here, str(path)) as side:
        return {part.outline.tool_id for part in side.snapshot.parts}


def test_a_folder_and_the_catalog_built_of_it_have_the_same_tools(here: Workspace) -> None:
    catalog = build(here).path
    assert is_definitions(str(here.root)) and not is_definitions(str(catalog))
    assert ids(here, here.root) == ids(here, catalog) >= {"send-reply", "find-customer"}


def test_one_file_has_its_own_tool_and_its_text_for_excerpts(here: Workspace) -> None:
    file = here.root / "tools/send-reply.tool.md"
    with load_path_side(here, str(file), shown=lambda name: "shown.md") as side:
        assert [part.outline.tool_id for part in side.snapshot.parts] == ["send-reply"]
        assert side.find_text("shown.md") == file.read_text()
        assert side.find_text("other.md") is None


def test_a_file_that_cannot_be_parsed_is_named_and_one_without_a_definition_is_refused(here: Workspace) -> None:
    (here.root / "tools/torn.tool.md").write_text("---\ntool_id: [\n---\n")
    with load_path_side(here, str(here.root)) as side:
        (name,) = side.unread
    assert name.endswith("torn.tool.md")
    (here.root / "notes.md").write_text("# Nothing\n")
    with pytest.raises(WorkspaceError, match="holds no definition that can be read"):
        load_path_side(here, str(here.root / "notes.md"))


def test_a_file_that_is_called_a_catalog_is_one_or_is_refused(here: Workspace) -> None:
    (here.root / "torn.ferrule").write_bytes(b"no catalog")
    assert not is_definitions(str(here.root / "torn.ferrule"))
    with pytest.raises(FerruleError):
        load_path_side(here, str(here.root / "torn.ferrule"))


def test_a_word_that_is_neither_a_path_nor_in_a_repository_is_told(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(here.root.parent))
    with pytest.raises(WorkspaceError, match="there is no file or folder 'HEAD~1', and"):
        load_revision_side(here, "HEAD~1")


def test_progress_is_told_before_each_item() -> None:
    told: list[tuple[int, int]] = []
    assert [*report_progress("ab", lambda done, total: told.append((done, total)))] == ["a", "b"]
    assert told == [(0, 2), (1, 2)]
