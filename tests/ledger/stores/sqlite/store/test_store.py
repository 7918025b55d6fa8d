"""The embedded ledger: its file, what it refuses, and how it goes on when the disk does not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.contracts.store import CommitCondition
from ferrule.errors import LedgerUnavailable
from ferrule.ledger.stores.sqlite.store import SqliteStore
from tests import ROOT
from tests.ledger.stores.entries import AT, check_file, make_entry, make_running
from tests.ledger.stores.processes import MUST_RUN
from tests.ledger.stores.sqlite.ledgers import WAIT, open_store, retry_until_written, run_bounded


def test_only_its_owner_can_read_what_belongs_to_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"

    async def story() -> None:
        async with open_store(path) as store:
            await store.commit(make_entry("a"))
            for each in path.parent.iterdir():
                assert stat.S_IMODE(each.stat().st_mode) & 0o077 == 0, each

    run_bounded(story)
    assert sorted(each.name for each in path.parent.iterdir()) == ["instances", "ledger.db", "ledger.db.bell"]
    assert list((path.parent / "instances").iterdir()) == []


def test_a_clock_that_is_set_back_does_not_turn_time_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    times = iter([AT + 9_000_000, AT])

    async def story() -> None:
        for _ in range(2):
            async with open_store(path, clock=lambda: next(times)) as store:
                await store.commit(make_entry("a", at=AT))
                assert store.high_water() == AT + 9_000_000

    run_bounded(story)
    check_file(path)


def test_what_a_forgetful_process_recorded_is_written_when_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "forgetful.py"
    script.write_text(
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey\n"
        "from ferrule.ledger.stores.sqlite.store import SqliteStore\n"
        "from tests.ledger.stores.entries import make_entry\n"
        "async def main():\n"
        "    store = SqliteStore(Path(sys.argv[1]), Ed25519PrivateKey.generate(), behind_seconds=30)\n"
        "    await store.open()\n"
        "    store.record(make_entry('a'))\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, str(script), str(tmp_path / "ledger.db")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, timeout=WAIT, env=environment, capture_output=True)
    assert done.stderr == b""
    assert check_file(tmp_path / "ledger.db") == ["", "a"]


def test_whoever_asks_after_closing_is_told_that_everything_changed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_store(tmp_path / "ledger.db") as store:
            before = store.high_water()
        assert store.generation() != store.generation()
        assert store.high_water() == before

    run_bounded(story)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    tried = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if tried.returncode:
        reason = "no file system can be mounted here"
        pytest.fail(reason) if MUST_RUN else pytest.skip(reason)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_survived(small_disk: Path) -> None:
    path = small_disk / "ledger.db"
    told: list[str] = []

    async def story() -> None:
        async with open_store(path, behind_seconds=0.01) as store:
            ballast = small_disk / "ballast"
            ballast.write_bytes(bytes(1_200_000))
            await _fill(store, told)
            ballast.unlink()
            await retry_until_written(store, "after")
            store.record(make_entry("recorded"))

    run_bounded(story)
    assert check_file(path) == ["", *told, "after", "recorded"]


async def _fill(store: SqliteStore, told: list[str]) -> None:
    """Write until the disk is full, then see that every way of writing says so."""
    with pytest.raises(LedgerUnavailable, match="full"):
        while True:
            call = f"c{len(told)}"
            await store.commit(make_entry(call, body={"text": "x" * 20_000}))
            told.append(call)
    with pytest.raises(LedgerUnavailable, match="full"):
        store.record(make_entry("refused"))
    with pytest.raises(LedgerUnavailable):
        await store.commit(make_running("refused too", store.instance), CommitCondition(states=frozenset()))


def test_a_limit_on_the_files_size_is_told_and_survived(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def story() -> None:
        async with open_store(path, behind_seconds=0.01) as store:
            connection = store._writer._transactions._connection
            assert connection is not None
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 2}")
            with pytest.raises(LedgerUnavailable, match="full"):
                await store.commit(make_entry("big", body={"text": "x" * 200_000}))
            await retry_until_written(store, "small")

    run_bounded(story)
    assert check_file(path) == ["", "small"]
