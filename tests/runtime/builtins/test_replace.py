"""`write` and `edit` change a whole file or nothing."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context
from tests.runtime.builtins.builtin_tools import expect_refusal, run


def test_write_replaces_and_keeps_the_mode(tmp_path: Path) -> None:
    """ADL-26"""
    file = tmp_path / "run.sh"
    file.write_text("old and longer")
    file.chmod(0o751)
    run(tmp_path, "write", file_path="run.sh", content="new")
    assert file.read_text() == "new" and stat.S_IMODE(file.stat().st_mode) == 0o751


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
        with expect_refusal("canceled"):
            run(tmp_path, name, context=context, **arguments)
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")

    def full(file: int, data: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with expect_refusal("execution_failed", "disk_full"):
        run(tmp_path, "write", file_path="a", content="new")
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]
