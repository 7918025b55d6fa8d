"""When keys were used last: kept beside them, never turned back, and never a reason to fail."""

from __future__ import annotations

from pathlib import Path

from ferrule.access.last_use import USE_FILE, KeyUse


def test_uses_are_kept_by_key_to_the_second(tmp_path: Path) -> None:
    KeyUse(tmp_path).note({"aaaa1111": 1_767_268_800.9, "bbbb2222": 1_767_268_860.0})
    KeyUse(tmp_path).note({"aaaa1111": 1_767_268_920.0})
    assert KeyUse(tmp_path).times() == {"aaaa1111": "2026-01-01T12:02:00Z", "bbbb2222": "2026-01-01T12:01:00Z"}
    assert (tmp_path / USE_FILE).stat().st_mode & 0o077 == 0


def test_a_process_that_writes_late_does_not_turn_a_use_back(tmp_path: Path) -> None:
    uses = KeyUse(tmp_path)
    uses.note({"aaaa1111": 1_767_268_860.0})
    uses.note({"aaaa1111": 1_767_268_800.0})
    assert uses.times() == {"aaaa1111": "2026-01-01T12:01:00Z"}


def test_what_cannot_be_read_is_not_known_and_begins_anew(tmp_path: Path) -> None:
    uses, file = KeyUse(tmp_path), tmp_path / USE_FILE
    assert uses.times() == {}
    file.write_text("{")
    file.chmod(0o600)
    assert uses.times() == {}
    uses.note({"aaaa1111": 1_767_268_800.0})
    assert list(uses.times()) == ["aaaa1111"]
    file.chmod(0o644)
    assert uses.times() == {}


def test_what_cannot_be_written_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    uses = KeyUse(tmp_path / "file")
    uses.note({"aaaa1111": 1_767_268_800.0})
    assert uses.times() == {}
