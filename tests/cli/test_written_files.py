"""Files written for somebody: all or none, and nobody's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.written_files import RECORD, write_file, write_files
from ferrule.errors import WorkspaceError


def test_what_was_written_from_here_is_written_again(tmp_path: Path) -> None:
    assert write_files(tmp_path / "out", {"a.json": b"1", "sub/b.json": b"2"}) == 2
    assert write_files(tmp_path / "out", {"a.json": b"1", "sub/b.json": b"3"}) == 1
    assert (tmp_path / "out/sub/b.json").read_bytes() == b"3"


def test_a_file_that_somebody_edited_stays_and_nothing_is_written(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.json": b"1", "b.json": b"2"})
    (tmp_path / "b.json").write_bytes(b"mine")
    with pytest.raises(WorkspaceError, match=r"b\.json already.*--force"):
        write_files(tmp_path, {"a.json": b"other", "b.json": b"other"})
    assert ((tmp_path / "a.json").read_bytes(), (tmp_path / "b.json").read_bytes()) == (b"1", b"mine")
    write_files(tmp_path, {"a.json": b"other", "b.json": b"other"}, is_forced=True)
    assert (tmp_path / "b.json").read_bytes() == b"other"


def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"mine")
    with pytest.raises(WorkspaceError):
        write_files(tmp_path, {"a.json": b"other"})
    assert write_files(tmp_path, {"a.json": b"mine"}) == 0, "the same content is nobody's loss"


@pytest.mark.parametrize("name", ["../a.json", "/etc/a.json", "x/../../a.json", "", RECORD, "a\0b"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match="cannot be named"):
        write_files(tmp_path / "out", {name: b"1"})
    assert not (tmp_path / "a.json").exists()


def test_a_broken_record_of_what_was_written_means_that_nothing_is_known(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.json": b"1"})
    (tmp_path / RECORD).write_bytes(b"{")
    with pytest.raises(WorkspaceError):
        write_files(tmp_path, {"a.json": b"2"})


def test_one_file_is_overwritten_only_when_told(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "tools.json"
    write_file(file, b"1")
    write_file(file, b"1")
    with pytest.raises(WorkspaceError, match="--force"):
        write_file(file, b"2")
    write_file(file, b"2", is_forced=True)
    assert file.read_bytes() == b"2"


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(WorkspaceError, match="cannot look at"):
        write_files(tmp_path, {"a.json": b"1"})
