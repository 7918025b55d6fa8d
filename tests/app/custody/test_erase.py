"""Erasure: the bytes are gone from every file of the ledger, the record and the chain stay."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.erase import erase_call, erase_principal
from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import load_key
from ferrule.errors import LedgerError, SealError
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.model.journal import StoredEntry
from tests.ledger.audit.build import (
    CANARY,
    MINUTE,
    START,
    Story,
    list_public_keys,
    make_mark,
    make_paths,
    make_payload,
    make_segment,
    write_story,
)


def files_with(folder: Path, text: str) -> list[str]:
    """The files of a folder that hold these bytes."""
    return [file.name for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def findings(paths: LedgerPaths) -> list[str]:
    verdict = verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness)
    return [finding.message for finding in verdict.findings]


def rows_of(paths: LedgerPaths, call: str) -> list[StoredEntry]:
    async def main() -> list[StoredEntry]:
        store = SqliteStore(paths.ledger, load_key(paths.key))
        await store.open()
        rows = await store.rows_of(call)
        await store.aclose()
        return rows

    return asyncio.run(main())


def test_the_bytes_are_gone_and_the_record_stays(paths: LedgerPaths) -> None:
    """AT-101: the invocation stays visible when its payload is gone."""
    story = Story(calls_before=1000)
    call = story.read(text=CANARY * 3)
    write_story(paths, story)
    assert files_with(paths.ledger.parent, CANARY)
    erased = erase_call(paths, call, reason="asked to", by="ada")
    assert (erased.rows, erased.calls, erased.is_gone) == (1, (call,), True)
    assert files_with(paths.ledger.parent, CANARY) == []
    assert findings(paths) == []
    (row,) = rows_of(paths, call)
    assert (row.is_erased, row.payload, row.outcome) == (True, None, "succeeded")


def test_a_large_payload_over_many_pages_is_gone_too(paths: LedgerPaths) -> None:
    story = Story(calls_before=1000)
    call = story.read(text=" ".join(f"{CANARY}-{number}" for number in range(5000)))
    write_story(paths, story)
    erase_call(paths, call, reason="asked to", by="ada")
    assert files_with(paths.ledger.parent, CANARY) == []
    assert findings(paths) == []


def test_a_second_copy_in_unused_space_is_found_and_the_file_written_anew(paths: LedgerPaths) -> None:
    """SQLite may leave a stale copy of a row behind when it rearranges pages."""
    story = Story(calls_before=1000)
    call = story.read(text=CANARY)
    write_story(paths, story)
    with closing(sqlite3.connect(paths.ledger, isolation_level=None)) as db:
        (stale,) = db.execute("SELECT payload FROM journal WHERE call = ?", (call,)).fetchone()
        db.execute("CREATE TABLE room (x)")
        db.execute("INSERT INTO room VALUES (zeroblob(100000))")
        db.execute("DROP TABLE room")
        db.execute("PRAGMA journal_mode = DELETE")
    data = paths.ledger.read_bytes()
    place = data.rindex(bytes(5000)) + 2000
    paths.ledger.write_bytes(data[:place] + stale + data[place + len(stale) :])
    assert findings(paths) == [], "nobody who reads the ledger can see it"
    assert erase_call(paths, call, reason="asked to", by="ada").was_rewritten
    assert files_with(paths.ledger.parent, CANARY) == []
    assert findings(paths) == []


def test_a_principal_is_erased_everywhere_but_where_a_call_is_open(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    story = Story()
    for _ in range(100):
        story.read("carla", text=CANARY)
        story.read("alice", text="kept")
    waiting = story.new_call()
    went = make_segment("selected", "arguments_ready", "running", principal="carla")
    story.add("started", waiting, "running", went, payload=make_payload("open"), mark=make_mark("running"))
    write_story(paths, story)
    erased = erase_principal(paths, "carla", before=None, reason="asked to", by="ada")
    assert (erased.rows, len(erased.calls), erased.still_open) == (100, 100, (waiting,))
    assert erased.was_rewritten, "more payloads than are searched for one by one"
    assert files_with(paths.ledger.parent, CANARY) == []
    assert files_with(paths.ledger.parent, "kept") == ["ledger.db"]
    assert files_with(paths.ledger.parent, "open") == ["ledger.db"]
    assert findings(paths) == []


def test_a_late_result_is_erased_with_its_call_and_with_its_principal(tmp_path: Path) -> None:
    """News does not say whose it is; the call's other rows do."""
    for number in range(2):
        paths = make_paths(tmp_path / f"own-{number}")
        story = Story()
        call, other = story.read("carla", text="hers"), story.read("alice", text="kept")
        story.news("inv_crashed", "late_result", payload=make_payload("nobody's"))
        story.news(call, "progress", sequence=1, message="half way")
        story.news(call, "late_result", payload=make_payload(CANARY))
        story.news(other, "late_result", payload=make_payload("kept"))
        write_story(paths, story)
        if number:
            erased = erase_principal(paths, "carla", before=None, reason="asked to", by="ada")
        else:
            erased = erase_call(paths, call, reason="asked to", by="ada")
        assert (erased.rows, erased.calls) == (2, (call,))
        assert files_with(paths.ledger.parent, CANARY) == []
        assert files_with(paths.ledger.parent, "kept") == ["ledger.db"]
        assert files_with(paths.ledger.parent, "half way") == ["ledger.db"], "what it said stays in the record"
        assert findings(paths) == []
    erase_call(paths, "inv_crashed", reason="asked to", by="ada")
    assert files_with(paths.ledger.parent, "nobody's") == []
    assert findings(paths) == []


def test_only_what_is_older_is_erased(tmp_path: Path) -> None:
    paths = make_paths(tmp_path / "own")
    story = Story()
    for _ in range(10):
        story.read("carla")
    write_story(paths, story)
    erased = erase_principal(paths, "carla", before=START + 5 * MINUTE, reason="old", by="ada")
    assert erased.calls == ("inv_000001", "inv_000002", "inv_000003", "inv_000004")
    assert findings(paths) == []


def test_an_open_call_is_refused_with_its_state(paths: LedgerPaths) -> None:
    story = Story(calls_before=1000)
    call = story.park()
    write_story(paths, story)
    with pytest.raises(LedgerError, match=f"{call} has not ended .it is awaiting_approval."):
        erase_call(paths, call, reason="asked to", by="ada")
    assert findings(paths) == []


def test_an_unknown_call_is_refused_and_a_second_erasure_does_nothing(paths: LedgerPaths) -> None:
    with pytest.raises(LedgerError, match="there is no call 'inv_nowhere'"):
        erase_call(paths, "inv_nowhere", reason="asked to", by="ada")
    assert erase_call(paths, "inv_000001", reason="asked to", by="ada").rows == 1
    before = verify_ledger(paths.ledger, list_public_keys(paths)).last_seq
    assert erase_call(paths, "inv_000001", reason="asked to", by="ada").rows == 0
    assert verify_ledger(paths.ledger, list_public_keys(paths)).last_seq == before


def test_without_the_private_key_nothing_is_erased(paths: LedgerPaths) -> None:
    paths.key.unlink()
    with pytest.raises(SealError, match="cannot be read"):
        erase_call(paths, "inv_000001", reason="asked to", by="ada")


def test_a_payload_that_comes_back_is_found(paths: LedgerPaths) -> None:
    """Somebody puts an erased payload back from a backup: its hash fits, the record says it is gone."""
    with closing(sqlite3.connect(paths.ledger)) as db:
        seq, saved = db.execute("SELECT seq, payload FROM journal WHERE call = 'inv_000001'").fetchone()
    erase_call(paths, "inv_000001", reason="asked to", by="ada")
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET payload = ?, commitment = NULL WHERE seq = ?", (saved, seq))
    last = verify_ledger(paths.ledger, list_public_keys(paths)).last_seq
    assert findings(paths) == [f"has its payload, although row {last} says it was erased"]


def test_a_running_store_goes_on_after_an_erasure_by_another(paths: LedgerPaths) -> None:
    async def main() -> None:
        store = SqliteStore(paths.ledger, load_key(paths.key), clock=lambda: START)
        await store.open()
        story = Story(calls_before=1000)
        for number in range(1, 6):
            story.read()
            await store.commit(story.entries[-1])
            await asyncio.to_thread(erase_call, paths, f"inv_{number:06d}", reason="asked to", by="ada")
        await store.aclose()

    asyncio.run(main())
    assert findings(paths) == []


def test_a_row_that_cannot_be_understood_stops_the_search_for_a_principal(paths: LedgerPaths) -> None:
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET body = x'c1' WHERE seq = 9")
    with pytest.raises(LedgerError, match="row 9 cannot be understood"):
        erase_principal(paths, "alice", before=None, reason="asked to", by="ada")
