"""Files get into the output folder whole, and never outside of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ferrule.definitions.stubs.folder import OutputFolder, is_plain_path
from ferrule.errors import WorkspaceError


def test_files_are_written_and_read_again(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "not" / "there")
    assert folder.read("a/b.txt") is None
    folder.write([("a/b.txt", b"one"), ("c.txt", b"two"), ("c.txt", b"three")])
    assert (folder.read("a/b.txt"), folder.read("c.txt")) == (b"one", b"three")
    assert sorted(os.listdir(folder.path)) == ["a", "c.txt"]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o755)
    OutputFolder(tmp_path).write([("run.sh", b"new")])
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o755


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "x")
    for name in ("folder/x", "file"):
        with pytest.raises(WorkspaceError, match="outside the folder"):
            OutputFolder(root).write([("fine", b""), (name, b"")])
    assert os.listdir(outside) == []
    assert "fine" not in os.listdir(root)


def test_a_link_that_stays_inside_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    OutputFolder(tmp_path).write([("link", b"new")])
    assert (tmp_path / "real").read_text() == "new" and (tmp_path / "link").is_symlink()


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WorkspaceError, match="is a folder"):
        OutputFolder(tmp_path).read("folder")
    with pytest.raises(WorkspaceError, match="is no file"):
        OutputFolder(tmp_path).read("pipe")


def test_what_a_run_that_was_cut_off_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".ferrule-gen-left").mkdir()
    (tmp_path / ".ferrule-gen-left" / "0").write_text("half")
    OutputFolder(tmp_path).write([("a", b"")])
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device", target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WorkspaceError, match="no file is half written"):
        OutputFolder(tmp_path).write([("a", b"new")])
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["../x", "a/../b", "/etc/x", "a//b", "./a", "a\nb", "a:b", "a\\b", ""])
def test_a_name_that_may_lead_elsewhere_is_not_plain(name: str) -> None:
    assert not is_plain_path(name)


def test_names_below_the_folder_are_plain(tmp_path: Path) -> None:
    assert is_plain_path("a.txt") and is_plain_path("a/b/größe.txt")
    with pytest.raises(WorkspaceError, match="nothing is written outside"):
        OutputFolder(tmp_path).read("../a/x")


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "new").lock():
        assert (tmp_path / "new").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="cannot use the folder"), OutputFolder(tmp_path / "file").lock():
        pass
