"""`write` makes the folders on the way to a file, and tells how many bytes it wrote."""

from __future__ import annotations

import os
from pathlib import Path

from tests.runtime.builtins.builtin_tools import expect_refusal, run


def test_write_makes_folders_and_tells_the_bytes(tmp_path: Path) -> None:
    """ADL-26"""
    result = run(tmp_path, "write", file_path="a/b/c.txt", content="größer\n")
    assert result == {"file_path": "a/b/c.txt", "bytes_written": 9}
    assert (tmp_path / "a/b/c.txt").read_bytes() == "größer\n".encode()
    assert os.listdir(tmp_path / "a/b") == ["c.txt"]


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    run(tmp_path, "write", file_path="new", content="")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_missing_root_is_made(tmp_path: Path) -> None:
    run(tmp_path, "write", {"allowed_roots": ["out/here"]}, file_path="out/here/a", content="x")
    assert (tmp_path / "out/here/a").read_text() == "x"


def test_half_a_character_cannot_be_written(tmp_path: Path) -> None:
    with expect_refusal("invalid_arguments", "bad_text"):
        run(tmp_path, "write", file_path="a", content="\ud800")
    assert os.listdir(tmp_path) == []
