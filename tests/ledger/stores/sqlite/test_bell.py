"""The file that tells processes of changes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ferrule.ledger.stores.sqlite import bell as bell_module
from ferrule.ledger.stores.sqlite.bell import Bell


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a bell is; it is looked for every time instead of every second."""
    monkeypatch.setattr(bell_module, "_LOOK_SECONDS", 0.0)
    return tmp_path / "ledger.db.bell"


def test_ringing_is_heard_by_all(path: Path) -> None:
    one, two = Bell(path), Bell(path)
    before = two.read_generation()
    assert one.read_generation() == before
    one.ring()
    assert two.read_generation() == one.read_generation() != before


def test_a_deleted_bell_is_made_again_and_that_counts_as_a_change(path: Path) -> None:
    one, two = Bell(path), Bell(path)
    before = two.read_generation()
    path.unlink()
    one.ring()
    changed = two.read_generation()
    assert changed != before
    one.ring()
    assert two.read_generation() != changed


def test_a_replaced_bell_is_noticed(path: Path) -> None:
    one = Bell(path)
    before = one.read_generation()
    other = path.with_suffix(".new")
    Bell(other).ring()
    other.rename(path)
    assert one.read_generation() != before


def test_a_truncated_bell_harms_nobody(path: Path) -> None:
    one = Bell(path)
    before = one.read_generation()
    os.truncate(path, 0)
    deadline = time.monotonic() + 1
    while one.read_generation() == before:  # what was read counts for a tenth of a millisecond
        assert time.monotonic() < deadline
    one.ring()
    assert one.read_generation() > before
    assert one.read_latest() == 0


def test_writes_are_stamped_with_the_time_of_the_last_row(path: Path) -> None:
    one, two = Bell(path), Bell(path)
    before = two.read_stamp()
    one.mark_written(1234)
    assert two.read_stamp() != before
    assert two.read_latest() == 1234
