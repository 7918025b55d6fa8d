"""Catalogs and releases of a workspace: sealed, recorded once, and refused where something is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ferrule.cli.init import write_workspace
from ferrule.errors import BuildRefused
from ferrule.workspace.releases import build, build_in_memory, diff, publish
from ferrule.workspace.workspace import Workspace

AT = "2026-01-01T12:00:00Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_workspace(tmp_path / "shop")
    return tmp_path / "shop"


def edit(root: Path, old: str, new: str) -> None:
    tool = root / "tools/send-reply.tool.md"
    assert old in tool.read_text()
    tool.write_text(tool.read_text().replace(old, new))


def test_a_catalog_in_memory_has_the_same_content_and_writes_nothing(root: Path) -> None:
    before = sorted(root.rglob("*"))
    digest = build_in_memory(Workspace.open(root)).digest
    assert sorted(root.rglob("*")) == before
    assert build(Workspace.open(root)).digest == digest


def test_a_key_is_made_and_trusted_once(root: Path) -> None:
    shutil.rmtree(root / ".ferrule/keys")
    (root / "ferrule.pub").unlink()
    first, second = build(Workspace.open(root)), build(Workspace.open(root))
    assert first.new_key is not None and first.is_newly_trusted
    assert second.new_key is None and not second.is_newly_trusted


def test_the_same_content_is_published_once_and_a_change_makes_the_next_release(root: Path) -> None:
    first = publish(Workspace.open(root), by="ann", at=AT, message="the first")
    again = publish(Workspace.open(root), by="bob", at=AT)
    assert (first.release.number, first.is_new, first.difference) == (1, True, None)
    assert (again.release.number, again.is_new, again.release.released_by) == (1, False, "ann")
    edit(root, 'version: "1.0.0"', 'version: "1.0.1"')
    second = publish(Workspace.open(root), by="bob", at=AT)
    assert (second.release.number, second.is_new, second.release.tools["send-reply"]) == (2, True, "1.0.1")
    assert second.difference is not None and second.difference.published == "release 1"


def test_definitions_with_errors_are_not_built_and_the_report_says_why(root: Path) -> None:
    edit(root, "status: active", "status: retired")
    with pytest.raises(BuildRefused) as refused:
        build(Workspace.open(root))
    assert refused.value.report is not None
    assert not (root / ".ferrule/catalog.ferrule").exists()


def test_what_changed_since_the_last_release_is_compared(root: Path) -> None:
    publish(Workspace.open(root), by="ann", at=AT)
    assert all(change.word == "unchanged" for change in diff(Workspace.open(root)).comparison.changes)
    (root / "tools/send-reply.tool.md").unlink()
    words = {change.word for change in diff(Workspace.open(root)).comparison.changes}
    assert "removed" in words
