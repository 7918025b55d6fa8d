"""The lock file itself: it comes back as it was written, and an edited one is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import LOCK_FILE, read_lock, write_lock
from tests.infra.lockfile.locks import NATIVE, make_lock


def test_a_lock_comes_back_as_it_was_written_and_hides_nothing(tmp_path: Path) -> None:
    lock = make_lock(NATIVE)
    write_lock(tmp_path, lock)
    assert read_lock(tmp_path) == lock
    text = (tmp_path / LOCK_FILE).read_text()
    assert "\u200b" not in text
    assert "\\u200b" in text
    assert text.count("\n") > 30
    assert [file.name for file in tmp_path.iterdir()] == [LOCK_FILE]


def test_an_edited_lock_is_not_trusted(tmp_path: Path) -> None:
    write_lock(tmp_path, make_lock(NATIVE))
    file = tmp_path / LOCK_FILE
    edits = [
        ('"later": "kept"', '"later": "lost"'),
        ('"drop/table": {', '"other": {'),
        ("{", ""),
        ('"version": 1', '"version": 2'),
    ]
    for before, after in edits:
        write_lock(tmp_path, make_lock(NATIVE))
        file.write_text(file.read_text().replace(before, after, 1))
        with pytest.raises(SettingsError):
            read_lock(tmp_path)
