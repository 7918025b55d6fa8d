"""Findings kept from look to look: made anew when a file changes, and shared while none does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from ferrule.workspace.check_cache import WorkspaceChecks, is_inside, list_rule_names
from tests.driven import driven


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_workspace(tmp_path / "shop")
    return tmp_path / "shop"


def checks(root: Path) -> WorkspaceChecks:
    return WorkspaceChecks(root, str, lambda: 0, lambda: 0)


@driven
async def test_the_same_files_are_checked_once_and_a_change_is_noticed(root: Path) -> None:
    looking = checks(root)
    first = await looking.check_now()
    assert await looking.check_now() is first
    tool = root / "tools/send-reply.tool.md"
    tool.write_text(tool.read_text().replace("status: active", "status: retired"))
    second = await looking.check_now()
    assert second is not first


@driven
async def test_a_changed_policy_counts_like_a_changed_definition(root: Path) -> None:
    looking = checks(root)
    first = await looking.check_now()
    (root / "policy.toml").write_text("[[rules]]\n")
    assert await looking.check_now() is not first


@driven
async def test_without_patience_nothing_is_known_of_a_workspace_that_cannot_be_read(root: Path) -> None:
    (root / "ferrule.toml").write_text("namespace = [")
    assert await checks(root).recall(5.0) is None


def test_a_file_behind_a_link_that_leads_outside_is_not_inside(tmp_path: Path, root: Path) -> None:
    (tmp_path / "outside.md").write_text("")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    assert is_inside(str(root / "tools"), root)
    assert not is_inside(str(root / "link.md"), root)
    assert not is_inside(f"{root}-other/x.md", root)


def test_rules_are_named_in_plain_words() -> None:
    assert list_rule_names()["FER-4"] == "unexplained suppression"
