"""Which files are looked at, and what is said about links and files that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.definitions.compiler.discover import MAX_BYTES, FolderWalk, load
from ferrule.workspace.workspace import Workspace


def names(root: Path, *exclude: str) -> list[str]:
    return [os.path.relpath(path, root) for path in FolderWalk(str(root), exclude)]


def write(root: Path, *files: str) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_definitions_are_found_in_a_stable_order_and_clutter_is_skipped(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.json",
        "a.md",
        "z/c.yaml",
        "z/y/d.yml",
        ".git/x.md",
        "node_modules/x.json",
        "notes.txt",
        ".hidden.md",
    )
    assert names(tmp_path) == ["a.md", "b.json", "z/c.yaml", "z/y/d.yml"]


def test_excluded_files_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "old/b.md", "old/deep/c.md")
    assert names(tmp_path, "old/*") == ["a.md"]


def test_a_folder_behind_two_links_is_walked_once(tmp_path: Path) -> None:
    write(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to("real")
    walk = FolderWalk(str(tmp_path))
    assert len(list(walk)) == 1
    assert walk.problems == {}


def test_a_file_behind_links_is_found_once(tmp_path: Path) -> None:
    write(tmp_path, "tools/a.md", ".kept/b.md")
    (tmp_path / "again.md").symlink_to(tmp_path / "tools" / "a.md")
    (tmp_path / "first.md").symlink_to(tmp_path / ".kept" / "b.md")
    (tmp_path / "second.md").symlink_to(tmp_path / ".kept" / "b.md")
    assert names(tmp_path) == ["tools/a.md", "first.md"]


@pytest.mark.parametrize(("link", "target"), [("tools/loop", ".."), ("tools/loop", "."), ("self", "self")])
def test_a_link_in_a_circle_is_one_diagnostic(tmp_path: Path, link: str, target: str) -> None:
    write(tmp_path, "tools/readme.md")
    (tmp_path / link).symlink_to(target)
    report = Workspace.open(tmp_path).check([tmp_path])
    assert [(found.rule, found.severity.value) for found in report.diagnostics] == [("FER-6", "warning")]
    assert report.diagnostics[0].file.endswith(link)


def test_a_definition_that_is_a_link_to_itself_is_one_diagnostic(tmp_path: Path) -> None:
    write(tmp_path, "tools/readme.md")
    (tmp_path / "tools" / "x.tool.md").symlink_to("x.tool.md")
    report = Workspace.open(tmp_path).check([tmp_path])
    assert [(found.rule, found.line) for found in report.diagnostics] == [("AML-2", 1)]
    assert "circle" in report.diagnostics[0].message


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.tool.md"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    source = load(str(path), "x.tool.md")
    assert source.data == b""
    assert source.problem is not None and "too large" in source.problem
    report = Workspace.open(tmp_path).check([tmp_path])
    assert [(found.rule, found.line) for found in report.diagnostics] == [("AML-2", 1)]


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b" " * MAX_BYTES)
    assert len(load(str(path), "x.json").data) == MAX_BYTES


def test_a_folder_or_device_is_not_a_definition(tmp_path: Path) -> None:
    (tmp_path / "x.tool.md").mkdir()
    assert load(str(tmp_path / "x.tool.md"), "x.tool.md").problem == "not a regular file"


@pytest.mark.parametrize("target", ["/", "..", "../..", "/proc", "/proc/self/root", "/sys/kernel", "/dev"])
def test_a_link_to_half_the_disk_is_not_followed(tmp_path: Path, target: str) -> None:
    """A tool that may write the workspace may leave one behind."""
    root = tmp_path / "work" / "space"
    (root / "tools").mkdir(parents=True)
    (tmp_path / "work" / "other.md").write_text("not ours")
    (root / "tools" / "away").symlink_to(target if target.startswith("/") else f"../{target}")
    walk = FolderWalk(str(root))
    assert list(walk) == []
    assert list(walk.problems) == [str(root / "tools" / "away")]
