"""Backup and restore."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.copies import back_up, restore
from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import load_key
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.ledger.stores.sqlite import connection
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from ferrule.ledger.stores.sqlite.store import SqliteStore
from tests.ledger.audit.build import START, Story, list_public_keys, make_paths, write_story


def verified(paths: LedgerPaths) -> AuditVerdict:
    return verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness)


def more(paths: LedgerPaths, count: int, calls_before: int = 1000) -> None:
    """Write more rows."""
    story = Story(calls_before)
    for _ in range(count):
        story.read()
    write_story(paths, story)


def test_a_backup_is_one_sound_file(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    verdict = back_up(paths, file)
    assert verdict.is_clean
    assert verify_ledger(file, list_public_keys(paths)).head_hash == verified(paths).head_hash
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["backup.db"]
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(LedgerError, match="exists already"):
        back_up(paths, file)


def test_a_backup_while_others_write_is_one_moment(paths: LedgerPaths, tmp_path: Path) -> None:
    async def main() -> None:
        store = SqliteStore(paths.ledger, load_key(paths.key), clock=lambda: START)
        await store.open()
        story = Story(calls_before=1000)
        for turn in range(5):
            for _ in range(50):
                story.read()
                store.record(story.entries[-1])
            saved = asyncio.to_thread(back_up, paths, tmp_path / f"{turn}.db")
            story.read()
            verdict, _ = await asyncio.gather(saved, store.commit(story.entries[-1]))
            assert verdict.is_clean, verdict.findings
        await store.aclose()

    asyncio.run(main())
    assert verified(paths).findings == ()


def test_a_ledger_that_does_not_verify_is_not_backed_up(paths: LedgerPaths, tmp_path: Path) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET outcome = 'failed' WHERE seq = 9")
    assert not back_up(paths, tmp_path / "backup.db").is_clean
    assert not (tmp_path / "backup.db").exists()


def test_a_lost_ledger_comes_back(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    before = back_up(paths, file)
    shutil.rmtree(paths.ledger.parent / "instances", ignore_errors=True)
    for one in paths.ledger.parent.glob("ledger.db*"):
        one.unlink()
    restored = restore(paths, file)
    assert restored.lost is not None
    assert (restored.lost.rows, restored.aside) == (0, None)
    after = verified(paths)
    assert (after.findings, after.last_seq) == ((), before.last_seq + 1)
    more(paths, 5)
    assert verified(paths).findings == ()


def test_a_backup_of_the_first_version_comes_back_and_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, file = make_paths(tmp_path / "old"), tmp_path / "backup.db"
    with monkeypatch.context() as old:
        old.setattr(connection, "MIGRATIONS", MIGRATIONS[:1])
        more(paths, 5)
    assert back_up(paths, file).is_clean
    more(paths, 5, calls_before=2000)
    restored = restore(paths, file, may_lose=True)
    assert restored.verdict.is_clean
    assert verified(paths).findings == ()
    more(paths, 5, calls_before=3000)
    assert verified(paths).findings == ()


def test_a_lost_ledger_that_the_witness_saw_go_further_needs_force(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(paths, file)
    more(paths, 5)
    paths.ledger.unlink()
    with pytest.raises(LedgerError, match=r"5 rows .* are not in it"):
        restore(paths, file)
    assert not paths.ledger.exists()


def test_rows_the_backup_lacks_are_given_up_only_by_force_and_on_record(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    before = back_up(paths, file)
    more(paths, 7)
    with pytest.raises(LedgerError, match=r"7 rows .* --force-older"):
        restore(paths, file)
    assert verified(paths).last_seq == before.last_seq + 7
    restored = restore(paths, file, may_lose=True)
    assert restored.lost is not None
    assert restored.aside is not None
    assert (restored.lost.rows, restored.lost.first) == (7, before.last_seq + 1)
    assert verify_ledger(restored.aside, list_public_keys(paths)).last_seq == before.last_seq + 7
    after = verified(paths)
    assert (after.findings, after.last_seq) == ((), before.last_seq + 1)
    assert after.notes[-1].endswith("heads in the witness are of rows that a recorded restore gave up")
    more(paths, 20, calls_before=2000)
    assert verified(paths).findings == (), "also past the rows that were given up"


def test_a_rollback_by_hand_is_still_found_after_a_recorded_restore(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(paths, file)
    more(paths, 7)
    restore(paths, file, may_lose=True)
    saved = paths.ledger.read_bytes()
    more(paths, 20, calls_before=2000)
    for one in paths.ledger.parent.glob("ledger.db-*"):
        one.unlink()
    paths.ledger.write_bytes(saved)
    assert any("put back" in finding.message for finding in verified(paths).findings)


def test_the_same_ledger_is_left_alone(paths: LedgerPaths, tmp_path: Path) -> None:
    back_up(paths, tmp_path / "backup.db")
    before = verified(paths)
    assert restore(paths, tmp_path / "backup.db").lost is None
    assert verified(paths).head_hash == before.head_hash


def test_a_damaged_ledger_needs_force_because_nobody_knows_what_is_lost(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(paths, file)
    paths.ledger.write_bytes(b"ruined" * 10_000)
    with pytest.raises(LedgerError, match="nobody knows what would be lost"):
        restore(paths, file)
    restored = restore(paths, file, may_lose=True)
    assert restored.lost is not None
    assert restored.aside is not None
    assert restored.lost.rows is None
    assert restored.aside.read_bytes().startswith(b"ruined")
    assert verified(paths).findings == ()


def test_a_backup_that_was_tampered_with_changes_nothing(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(paths, file)
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE journal SET outcome = 'failed' WHERE seq = 9")
    before = paths.ledger.read_bytes()
    assert not restore(paths, file, may_lose=True).verdict.is_clean
    assert paths.ledger.read_bytes() == before


def test_the_backup_of_another_ledger_needs_force(paths: LedgerPaths, tmp_path: Path) -> None:
    other = make_paths(tmp_path / "other")
    shutil.copy(paths.key, other.key)
    shutil.copy(paths.public, other.public)
    more(other, 3)
    back_up(other, tmp_path / "other.db")
    with pytest.raises(LedgerError, match="--force-older"):
        restore(paths, tmp_path / "other.db")


def test_an_open_ledger_is_not_replaced(paths: LedgerPaths, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(paths, file)

    async def main() -> None:
        store = SqliteStore(paths.ledger, load_key(paths.key), clock=lambda: START)
        await store.open()
        with pytest.raises(LedgerUnavailable, match="is open in process"):
            await asyncio.to_thread(restore, paths, file, may_lose=True)
        await store.aclose()

    asyncio.run(main())
    assert verified(paths).findings == ()


def test_calls_that_would_run_a_second_time_are_named(paths: LedgerPaths, tmp_path: Path) -> None:
    story = Story(calls_before=1000)
    call = story.park()
    story.approve(call)
    write_story(paths, story)
    back_up(paths, tmp_path / "backup.db")
    later = Story(calls_before=2000)
    later.resume(call)
    later.end(call, begin=40)
    write_story(paths, later)
    assert restore(paths, tmp_path / "backup.db", may_lose=True).approved == (call,)
