"""Files are written whole: whoever reads finds the old one or the new one, and a failure leaves no remains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.errors import WorkspaceError
from ferrule.infra.atomic_files import write_whole


def test_a_file_is_written_with_its_folders_and_others_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.json"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(path.parent) == ["out.json"]


def test_whoever_has_the_old_file_open_still_reads_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_whole(path, b"old and long")
    with path.open("rb") as stream:
        write_whole(path, b"new")
        assert stream.read() == b"old and long"


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    write_whole(path, b"before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkspaceError, match="No space left on device; what was there before is untouched"):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_folder_in_the_way_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(WorkspaceError, match="taken"):
        write_whole(tmp_path / "taken", b"x")
    assert os.listdir(tmp_path) == ["taken"]
