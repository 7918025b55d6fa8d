"""Pruning: the oldest rows go, what is left verifies from the anchor on, again and again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.check import verify_file, verify_ledger
from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.paths import LedgerPaths
from ferrule.app.custody.prune import prune
from ferrule.definitions.compiler.seal import load_key
from ferrule.errors import LedgerError
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import Payload
from tests.ledger.audit.build import (
    MINUTE,
    START,
    Story,
    list_public_keys,
    make_full_story,
    make_paths,
    make_payload,
    write_story,
)


def verified(paths: LedgerPaths) -> AuditVerdict:
    return verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness)


def rows(paths: LedgerPaths, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(paths.ledger)) as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize("minute", [1, 2, 3, 20, 33, 34, 35, 36, 37, 38, 39, 40, 41, 60, 90, 100, 115])
def test_it_verifies_wherever_it_is_cut(paths: LedgerPaths, minute: int) -> None:
    """In the middle of calls too: what they had gone through is carried along."""
    before = verified(paths)
    pruned = prune(paths, before=START + minute * MINUTE, by="ada")
    after = verified(paths)
    assert after.findings == ()
    assert (after.first_seq, after.last_seq) == (pruned.last + 1, before.last_seq + (1 if pruned.rows else 0))
    assert pruned.rows == minute, "the row that opened the ledger, and one a minute"


def test_pruning_again_and_writing_between_stays_verifiable(paths: LedgerPaths) -> None:
    write_story(paths, _later(1000, 200))
    for turn in range(1, 6):
        prune(paths, before=START + turn * 15 * MINUTE, by="ada")
        write_story(paths, _later(1000 + turn * 1000, 30))
        assert verified(paths).findings == (), turn
    assert verified(paths).notes[0].startswith("rows up to ")


def _later(calls_before: int, count: int) -> Story:
    story = Story(calls_before)
    for number in range(count):
        story.end(story.begin(f"run-{number % 3}", key=b"later-%d-%d" % (calls_before, number)))
    story.switch("tool.late", "off")
    return story


def test_open_calls_keep_their_rows(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    story = Story()
    for _ in range(10):
        story.read()
    story.park()
    for _ in range(10):
        story.read()
    write_story(paths, story)
    pruned = prune(paths, before=START + 1000 * MINUTE, by="ada")
    assert (pruned.last, pruned.held_by) == (11, 12)
    assert verified(paths).findings == ()


def test_keys_and_counters_of_removed_calls_go_and_those_of_others_stay(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    story = Story()
    story.end(story.begin("run-gone", key=b"gone"))
    story.end(story.begin("run-kept", key=b"old"))
    straddling = story.begin("run-kept", key=b"straddling")
    story.switch("tool.off", "off")
    story.read()
    story.end(straddling)
    story.end(story.begin("run-kept", key=b"new"))
    write_story(paths, story)
    prune(paths, before=START + 7 * MINUTE, by="ada")
    assert verified(paths).findings == ()
    assert rows(paths, "SELECT run, used FROM runs") == [("run-kept", 3)]
    assert rows(paths, "SELECT key FROM idempotency") == [(b"new",), (b"straddling",)]
    assert rows(paths, "SELECT tool_id FROM switches") == [("tool.off",)]


def test_news_after_the_cut_stays_and_holds_no_key(tmp_path: Path) -> None:
    """Who has a key is asked for its result: a call of which nothing but news is left could not give one."""
    paths = make_paths(tmp_path / "own")
    story = Story()
    call = story.begin(key=b"gone")
    story.end(call)
    story.news(call, "cancel_requested", by="ada")
    story.news(call, "late_result", payload=make_payload("too late"))
    story.read()
    write_story(paths, story)
    prune(paths, before=START + 3 * MINUTE, by="ada")
    assert verified(paths).findings == ()
    assert rows(paths, "SELECT key FROM idempotency") == []
    assert rows(paths, f"SELECT outcome FROM journal WHERE call = '{call}'") == [
        ("cancel_requested",),
        ("late_result",),
    ]
    prune(paths, before=START + 5 * MINUTE, by="ada")
    assert verified(paths).findings == ()
    assert rows(paths, "SELECT count(*) FROM journal WHERE kind = 13") == [(0,)]


def test_the_removed_rows_can_be_kept_in_an_archive_that_proves_itself(paths: LedgerPaths, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    prune(paths, before=START + 30 * MINUTE, by="ada", archive=first, has_payloads=True)
    prune(paths, before=START + 60 * MINUTE, by="ada", archive=second)
    for file, begin in ((first, 1), (second, 31)):
        verdict = verify_file(file, list_public_keys(paths))
        assert (verdict.findings, verdict.first_seq, verdict.rows) == ((), begin, 30)
    assert b'"payload"' in first.read_bytes()
    assert b'"payload"' not in second.read_bytes()


def test_rows_that_were_tampered_with_are_never_removed(paths: LedgerPaths) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET outcome = 'failed' WHERE seq = 9")
    with pytest.raises(LedgerError, match="nothing was removed: row 9 is not what was written"):
        prune(paths, before=START + 30 * MINUTE, by="ada")
    assert rows(paths, "SELECT min(seq) FROM journal") == [(1,)]


def test_removing_more_than_the_record_says_is_found(paths: LedgerPaths) -> None:
    prune(paths, before=START + 30 * MINUTE, by="ada")
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("DELETE FROM journal WHERE seq <= 35")
    assert {"sequence", "hash"} <= {finding.topic for finding in verified(paths).findings}


def test_rows_that_come_back_are_found(paths: LedgerPaths, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(paths.ledger)) as db:
        db.execute("VACUUM INTO ?", (str(old),))
    prune(paths, before=START + 30 * MINUTE, by="ada")
    with closing(sqlite3.connect(paths.ledger)) as db:
        db.execute("ATTACH ? AS old", (str(old),))
        db.execute("INSERT INTO journal SELECT * FROM old.journal WHERE seq <= 30")
        db.commit()
    assert "pruning" in [finding.topic for finding in verified(paths).findings]


def test_nothing_to_remove_writes_nothing(paths: LedgerPaths) -> None:
    before = verified(paths).last_seq
    assert prune(paths, before=START, by="ada").rows == 0
    assert verified(paths).last_seq == before


def test_the_last_row_always_stays(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    story = Story()
    story.add("policy", "", "adopted", {"digest": "p"}, payload=Payload(text=b"allow"))
    write_story(paths, story)
    assert prune(paths, before=START + 1000 * MINUTE, by="ada").rows == 1
    assert verified(paths).findings == ()


def test_a_running_store_goes_on_after_a_pruning_by_another(paths: LedgerPaths) -> None:
    async def main() -> None:
        store = SqliteStore(paths.ledger, load_key(paths.key), clock=lambda: START)
        await store.open()
        story = Story(calls_before=1000)
        for turn in range(1, 6):
            story.end(story.begin("run-1", key=b"k%d" % turn))
            for entry in story.entries[-2:]:
                await store.commit(entry)
            await asyncio.to_thread(prune, paths, before=START + turn * 10 * MINUTE, by="ada")
        await store.aclose()

    asyncio.run(main())
    assert verified(paths).findings == ()


def test_erasures_before_the_cut_and_after_it_stay_backed(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    write_story(paths, make_full_story(2))
    for call in ("inv_000002", "inv_000020"):
        erase_call(paths, call, reason="asked to", by="ada")
    prune(paths, before=START + 20 * MINUTE, by="ada")
    assert verified(paths).findings == ()
