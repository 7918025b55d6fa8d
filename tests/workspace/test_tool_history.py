"""What became of one tool from release to release, and what that broke."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from ferrule.definitions.compiler import release as records
from ferrule.runtime.surface.catalogs import SealedCatalog
from ferrule.workspace.releases import build_in_memory, publish
from ferrule.workspace.tool_history import IN_FORCE, ToolHistory, read_history
from ferrule.workspace.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_workspace(tmp_path / "shop")
    return tmp_path / "shop"


def told(root: Path, tool_id: str = "send-reply") -> ToolHistory:
    return read_history(root, SealedCatalog(build_in_memory(Workspace.open(root))), tool_id)


def released(root: Path, version: str, by: str) -> None:
    tool = root / "tools/send-reply.tool.md"
    tool.write_text(tool.read_text().replace('version: "1.0.0"', f'version: "{version}"'))
    publish(Workspace.open(root), by=by, at="2026-01-01T12:00:00Z", message=f"by {by}")


def test_without_a_release_there_is_nothing_to_tell(root: Path) -> None:
    assert told(root) == ToolHistory()


def test_each_release_that_changed_a_tool_is_a_step_the_newest_first(root: Path) -> None:
    released(root, "1.0.0", "ann")
    released(root, "1.0.1", "bob")
    history = told(root)
    assert history.releases == 2
    assert [(step.to, step.by, step.change, step.new_version) for step in history.steps] == [
        ("release 2", "bob", "changed", "1.0.1"),
        ("release 1", "ann", "added", "1.0.0"),
    ]


def test_what_is_in_force_and_not_yet_released_is_the_newest_step(root: Path) -> None:
    released(root, "1.0.0", "ann")
    tool = root / "tools/send-reply.tool.md"
    tool.write_text(tool.read_text().replace('version: "1.0.0"', 'version: "1.1.0"'))
    (newest, *_) = told(root).steps
    assert (newest.to, newest.by, newest.old_version, newest.new_version) == (IN_FORCE, None, "1.0.0", "1.1.0")


def test_a_tool_that_no_release_has_is_told_with_how_many_there_are(root: Path) -> None:
    released(root, "1.0.0", "ann")
    assert told(root, "nothing") == ToolHistory((), 1)


def test_releases_that_cannot_be_read_are_a_problem_without_the_place_of_the_workspace(root: Path) -> None:
    released(root, "1.0.0", "ann")
    for file in (root / records.FOLDER).iterdir():
        file.write_bytes(b"damaged")
    history = told(root)
    assert history.problem and str(root) not in history.problem
