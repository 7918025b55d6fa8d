"""A cache saves time and never changes an answer: what is damaged, foreign or doubtful is ignored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.definitions.compiler.cache import CheckCache, digest_of, load_cache_key, read_stat
from ferrule.model.diagnostic import FileReport

KEY = b"k" * 32
REPORT = FileReport("a.tool.md", "aml", tools=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tool.md"
    path.write_bytes(b"content")
    return path


def remember(cache_file: Path, file: Path, *, key: bytes = KEY, fingerprint: str = "one") -> None:
    cache = CheckCache(cache_file, key, fingerprint)
    cache.add("a", read_stat(str(file)), digest_of(file.read_bytes()), REPORT, named=False)
    cache.save()


def recall(cache_file: Path, file: Path, *, key: bytes = KEY, fingerprint: str = "one") -> FileReport | None:
    return CheckCache(cache_file, key, fingerprint).find_report("a", str(file), named=False)


def test_an_unchanged_file_is_remembered(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    assert recall(tmp_path / "cache", file) == REPORT


def test_a_file_that_was_only_touched_is_recognised_by_its_content(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    os.utime(file, (1, 1))
    assert recall(tmp_path / "cache", file) == REPORT


def test_a_change_that_keeps_size_and_times_is_noticed(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    before = file.stat()
    file.write_bytes(b"CONTENT")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert recall(tmp_path / "cache", file) is None


def test_other_rules_or_settings_make_the_cache_void(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    assert recall(tmp_path / "cache", file, fingerprint="two") is None


def test_a_cache_made_with_another_key_is_not_trusted(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file, key=b"x" * 32)
    assert recall(tmp_path / "cache", file) is None


def test_a_cache_with_any_damaged_byte_is_ignored(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    good = (tmp_path / "cache").read_bytes()
    for at in range(len(good)):
        (tmp_path / "cache").write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert recall(tmp_path / "cache", file) is None
    for cut in range(0, len(good), 7):
        (tmp_path / "cache").write_bytes(good[:cut])
        assert recall(tmp_path / "cache", file) is None


def test_an_entry_for_a_named_file_is_another_entry(tmp_path: Path, file: Path) -> None:
    remember(tmp_path / "cache", file)
    assert CheckCache(tmp_path / "cache", KEY, "one").find_report("a", str(file), named=True) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, file: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    remember(tmp_path / "blocked" / "cache", file)
    assert load_cache_key(tmp_path / "blocked") is None


def test_the_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    key = load_cache_key(tmp_path / "new")
    assert key is not None and load_cache_key(tmp_path / "new") == key
    assert (tmp_path / "new" / "key").stat().st_mode & 0o077 == 0
