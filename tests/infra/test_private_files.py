"""Files for their owner alone: not read when others may, made once, replaced whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.errors import AccessError
from ferrule.infra.private_files import create_private, read_private, replace_private


def test_a_file_that_is_not_there_is_none_and_one_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert read_private(path) is None
    replace_private(path, b"value")
    assert read_private(path) == b"value"
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(AccessError, match="chmod 600"):
            read_private(path)


def test_whatever_the_mask_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_private(tmp_path / "made", b"1")
        replace_private(tmp_path / "replaced", b"2")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_who_is_second_to_create_gets_what_the_first_one_wrote(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert create_private(path, b"first") == b"first"
    assert create_private(path, b"second") == b"first"
    assert read_private(path) == b"first"
    assert os.listdir(tmp_path) == ["key"]


def test_a_folder_of_keys_is_kept_out_of_version_control(tmp_path: Path) -> None:
    replace_private(tmp_path / "keys" / "a.key", b"x")
    replace_private(tmp_path / "other" / "a.key", b"x")
    assert (tmp_path / "keys" / ".gitignore").read_text() == "*\n"
    assert os.listdir(tmp_path / "other") == ["a.key"]


def test_a_file_that_cannot_be_replaced_stays_and_leaves_no_remains(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(AccessError, match="what was there before is untouched"):
        replace_private(tmp_path / "taken", b"x")
    assert os.listdir(tmp_path) == ["taken"]
