"""`edit` exchanges one piece of text, and leaves the file alone when there is none or more than one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.builtins import edit as edit_module
from tests.runtime.builtins.builtin_tools import expect_refusal, run


def edit(root: Path, old: str, new: str, path: str = "a.txt") -> Any:
    return run(root, "edit", file_path=path, old_string=old, new_string=new)


def test_edit_exchanges_one_place_and_keeps_every_other_byte(tmp_path: Path) -> None:
    """ADL-27: line ends, a byte-order mark and the mode stay."""
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffone\r\ntwo\nthree\r\n".encode())
    file.chmod(0o640)
    assert edit(tmp_path, "two", "2\n2") == {"file_path": "a.txt", "replacements": 1}
    assert file.read_bytes() == "\ufeffone\r\n2\n2\nthree\r\n".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("text", "old", "code"),
    [("abc", "x", "text_not_found"), ("abab", "ab", "text_not_unique"), ("aaa", "aa", "text_not_unique"),
     ("abc", "", "empty_old_string"), ("", "a", "text_not_found"), ("ABC", "abc", "text_not_found"),
     ("é", "e", "text_not_found")],
)  # fmt: skip
def test_edit_needs_exactly_one_place(tmp_path: Path, text: str, old: str, code: str) -> None:
    """ADL-27: none and two matches fail, also when the two overlap; the file stays, to its inode."""
    file = tmp_path / "a.txt"
    file.write_text(text)
    before = file.stat()
    with expect_refusal("invalid_arguments", code):
        edit(tmp_path, old, "new")
    after = file.stat()
    assert file.read_text() == text
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_text_that_only_differs_in_line_ends_gets_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    with expect_refusal("invalid_arguments", "text_not_found", r"\\r\\n"):
        edit(tmp_path, "one\ntwo", "x")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"caf\xe9 old"])
def test_edit_leaves_what_is_no_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with expect_refusal("invalid_arguments", "binary_file"):
        edit(tmp_path, "old", "new")
    assert (tmp_path / "a.txt").read_bytes() == data


@given(before=st.text("ab\n", max_size=12), old=st.text("ab\n", max_size=3), new=st.text("abé", max_size=3))
@settings(max_examples=80, deadline=None)
def test_any_edit_is_the_only_one_possible_or_none(ground: Path, before: str, old: str, new: str) -> None:
    """ADL-27"""
    file = ground / "a.txt"
    file.write_bytes(before.encode())
    places = [at for at in range(len(before)) if old and before.startswith(old, at)]
    try:
        edit(ground, old, new)
    except ExecutionFailed:
        assert len(places) != 1
        assert file.read_bytes() == before.encode()
    else:
        (at,) = places
        assert file.read_bytes() == (before[:at] + new + before[at + len(old) :]).encode()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("editing")


@pytest.mark.parametrize("how", ["in place", "replaced", "same length"])
def test_an_edit_sees_that_the_file_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """ADL-27: what somebody else wrote between reading and open_replacement is not lost."""
    file = tmp_path / "a.txt"
    file.write_text("old text")
    find = edit_module._only_place

    def meanwhile(data: bytes, old: bytes, path: str) -> int:
        if how == "replaced":
            (tmp_path / "b.txt").write_text("theirs: old")
            os.rename(tmp_path / "b.txt", file)
        else:
            file.write_text("old TEXT" if how == "same length" else "theirs: old")
        return find(data, old, path)

    monkeypatch.setattr(edit_module, "_only_place", meanwhile)
    with expect_refusal("execution_failed", "file_changed"):
        edit(tmp_path, "old", "new")
    assert file.read_text() in ("old TEXT", "theirs: old") and os.listdir(tmp_path) == ["a.txt"]
