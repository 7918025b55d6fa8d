"""Whether a catalog is as new as its definitions: files that define nothing do not count, whatever is written into them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.definitions.compiler.discover import load
from ferrule.model.document import Source
from ferrule.workspace import staleness
from ferrule.workspace.releases import build
from ferrule.workspace.staleness import CATALOG_FILE, FILES_FILE, is_stale
from ferrule.workspace.workspace import Workspace
from tests.definitions.compiler.definitions import tool

REQUEST = '{"tools": [{"type": "function", "function": {"name": "find-order", "parameters": {"type": "object"}}}]}'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Built from one tool, beside a text that is none."""
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/find-order.tool.md").write_text(tool("find-order"))
    (tmp_path / "notes.md").write_text("# Notes\n")
    workspace = Workspace.open(tmp_path)
    build(workspace)
    return workspace


def write(file: Path, text: str) -> None:
    """As somebody would later on, whatever the file system's clock says."""
    file.write_text(text)
    later = (file.parent.stat().st_mtime_ns // 10**9 + 60) * 10**9
    os.utime(file, ns=(later, later))


def test_files_without_definitions_do_not_count(workspace: Workspace) -> None:
    assert not is_stale(workspace)
    write(workspace.root / "request.json", REQUEST)
    write(workspace.root / "notes.md", "# Other notes\n")
    assert not is_stale(workspace)
    (workspace.root / "notes.md").unlink()
    assert not is_stale(workspace)


def test_they_are_looked_into_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def loaded(path: str, name: str) -> Source:
        looked.append(name)
        return load(path, name)

    monkeypatch.setattr(staleness, "load", loaded)
    assert not is_stale(workspace) and looked == []
    write(workspace.root / "request.json", REQUEST)
    assert not is_stale(workspace) and not is_stale(workspace)
    assert looked == ["request.json"]


def test_a_definition_that_is_changed_counts(workspace: Workspace) -> None:
    write(workspace.root / "tools/find-order.tool.md", tool("find-order", name="Find an order"))
    assert is_stale(workspace)


def test_a_file_that_becomes_a_definition_counts(workspace: Workspace) -> None:
    write(workspace.root / "notes.md", "# Other notes\n")
    assert not is_stale(workspace)
    write(workspace.root / "notes.md", tool("find-parcel"))
    assert is_stale(workspace)


def test_a_definition_that_is_moved_in_with_its_old_time_counts(workspace: Workspace) -> None:
    file = workspace.root / "tools/find-parcel.tool.md"
    file.write_text(tool("find-parcel"))
    os.utime(file, ns=(0, 0))
    assert is_stale(workspace)


def test_a_file_that_stops_being_a_definition_counts(workspace: Workspace) -> None:
    write(workspace.root / "tools/find-order.tool.md", "# Notes\n")
    assert is_stale(workspace)
    (workspace.root / "tools/find-order.tool.md").unlink()
    assert is_stale(workspace)


@pytest.mark.parametrize("kept", [None, b"", b"{}", b"\xff"])
def test_without_knowing_what_it_was_built_from_every_newer_file_counts(
    workspace: Workspace, kept: bytes | None
) -> None:
    file = workspace.root / FILES_FILE
    file.unlink() if kept is None else file.write_bytes(kept)
    assert not is_stale(workspace)
    write(workspace.root / "request.json", REQUEST)
    assert is_stale(workspace)
    build(workspace)
    write(workspace.root / "request.json", REQUEST + "\n")
    assert not is_stale(workspace)


def test_what_another_catalog_was_built_from_says_nothing(workspace: Workspace) -> None:
    write(workspace.root / "request.json", REQUEST)
    catalog = workspace.root / CATALOG_FILE
    os.utime(catalog, ns=(10**9, 10**9))
    assert is_stale(workspace)


def test_nothing_is_stale_without_a_catalog(workspace: Workspace) -> None:
    (workspace.root / CATALOG_FILE).unlink()
    assert not is_stale(workspace)
