"""`write` and `edit` change a whole file or nothing."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.runtime.builtins import edit as edit_module
from tests.runtime.builtins.scene import refused, run


def test_write_makes_folders_and_tells_the_bytes(tmp_path: Path) -> None:
    """ADL-26"""
    result = run(tmp_path, "write", file_path="a/b/c.txt", content="größer\n")
    assert result == {"file_path": "a/b/c.txt", "bytes_written": 9}
    assert (tmp_path / "a/b/c.txt").read_bytes() == "größer\n".encode()
    assert os.listdir(tmp_path / "a/b") == ["c.txt"]


def test_write_replaces_and_keeps_the_mode(tmp_path: Path) -> None:
    """ADL-26"""
    file = tmp_path / "run.sh"
    file.write_text("old and longer")
    file.chmod(0o751)
    run(tmp_path, "write", file_path="run.sh", content="new")
    assert file.read_text() == "new" and stat.S_IMODE(file.stat().st_mode) == 0o751


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    run(tmp_path, "write", file_path="new", content="")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_missing_root_is_made(tmp_path: Path) -> None:
    run(tmp_path, "write", {"allowed_roots": ["out/here"]}, file_path="out/here/a", content="x")
    assert (tmp_path / "out/here/a").read_text() == "x"


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    old, new = "o" * 300_000, "n" * 300_000
    file = tmp_path / "big"
    file.write_text(old)
    done = threading.Event()
    seen: set[str] = set()

    def look() -> None:
        while not done.is_set():
            seen.add(file.read_text())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for index in range(10):
            run(tmp_path, "write", file_path="big", content=new if index % 2 == 0 else old)
    finally:
        done.set()
        thread.join(10)
    assert seen <= {old, new}


def test_a_call_that_was_given_up_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    context = Context("inv_1", "ann", None, "default")
    context.abort("user_interruption")
    for name, extra in (("write", {"content": "new"}), ("edit", {"old_string": "old", "new_string": "new"})):
        arguments: dict[str, Any] = {"file_path": "a", **extra}
        with refused("canceled"):
            run(tmp_path, name, context=context, **arguments)
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")

    def full(file: int, data: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with refused("execution_failed", "disk_full"):
        run(tmp_path, "write", file_path="a", content="new")
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_half_a_character_cannot_be_written(tmp_path: Path) -> None:
    with refused("invalid_arguments", "bad_text"):
        run(tmp_path, "write", file_path="a", content="\ud800")
    assert os.listdir(tmp_path) == []


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
    with refused("invalid_arguments", code):
        edit(tmp_path, old, "new")
    after = file.stat()
    assert file.read_text() == text
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_text_that_only_differs_in_line_ends_gets_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    with refused("invalid_arguments", "text_not_found", r"\\r\\n"):
        edit(tmp_path, "one\ntwo", "x")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"caf\xe9 old"])
def test_edit_leaves_what_is_no_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with refused("invalid_arguments", "binary_file"):
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
    """ADL-27: what somebody else wrote between reading and replacing is not lost."""
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
    with refused("execution_failed", "file_changed"):
        edit(tmp_path, "old", "new")
    assert file.read_text() in ("old TEXT", "theirs: old") and os.listdir(tmp_path) == ["a.txt"]
