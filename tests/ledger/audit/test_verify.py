"""What a check of a ledger sees, finding by finding, in ledgers that the store wrote."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import load_key
from ferrule.errors import LedgerError
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.ledger.audit.verify import NO_WITNESS
from ferrule.ledger.stores.sqlite import connection
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from tests.ledger.audit.build import (
    START,
    Story,
    list_public_keys,
    make_full_story,
    make_paths,
    make_payload,
    write_story,
)
from tests.ledger.audit.verdicts import find_only, verify_story


def test_everything_the_store_writes_is_sound(paths: LedgerPaths) -> None:
    verdict = verify_story(paths, make_full_story())
    assert verdict.findings == ()
    assert (verdict.rows, verdict.first_seq) == (verdict.last_seq, 1)
    assert verdict.notes == (f"the witness vouches for the rows up to {verdict.last_seq} of {verdict.last_seq}",)


def test_without_a_witness_it_says_what_it_cannot_see(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    assert verify_ledger(paths.ledger, list_public_keys(paths)).notes == (NO_WITNESS,)


def test_another_key_is_no_key(paths: LedgerPaths, tmp_path: Path) -> None:
    write_story(paths, make_full_story(1))
    other = make_paths(tmp_path / "other")
    found = find_only(verify_ledger(paths.ledger, list_public_keys(other)))
    assert (found.topic, found.seq is not None) == ("head", True)


def test_a_call_with_two_ends_is_found(paths: LedgerPaths) -> None:
    """AT-94: terminal states are final."""
    story = Story()
    call = story.begin()
    story.end(call)
    story.read()
    story.end(call)
    verdict = verify_story(paths, story)
    assert {finding.call for finding in verdict.findings} == {call}
    assert "belongs to a call that had ended before" in [finding.message for finding in verdict.findings]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE journal SET outcome = 'progress' WHERE outcome = 'cancel_requested'",
        "UPDATE journal SET payload = NULL WHERE outcome = 'late_result'",
        "UPDATE journal SET call = 'inv_000002' WHERE kind = 13",
        "DELETE FROM journal WHERE kind = 13 AND outcome = 'cancel_requested'",
        "UPDATE journal SET kind = 0 WHERE kind = 13",
        "UPDATE journal SET kind = 13 WHERE kind = 4",
        "UPDATE journal SET kind = 14 WHERE kind = 13",
        "DROP INDEX journal_cancel_requests",
        "PRAGMA user_version = 1",
    ],
)
def test_tampering_with_news_is_found_like_any_other(paths: LedgerPaths, change: str) -> None:
    story = Story()
    call = story.begin()
    story.news(call, "cancel_requested", by="ada")
    story.end(call)
    story.news(call, "late_result", payload=make_payload("too late"))
    story.read()
    assert verify_story(paths, story).findings == ()
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute(change)
    assert not verify_ledger(paths.ledger, list_public_keys(paths)).is_clean


def test_a_ledger_of_the_first_version_verifies_before_and_after_it_is_migrated(
    paths: LedgerPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        old.setattr(connection, "MIGRATIONS", MIGRATIONS[:1])
        assert verify_story(paths, make_full_story(1)).findings == ()
    story = Story(calls_before=1000)
    story.news(story.read(), "cancel_requested")
    assert verify_story(paths, story).findings == ()


def test_it_is_one_moment_of_a_ledger_that_others_write_to(paths: LedgerPaths) -> None:
    """Rows and witness lines that come while it is checked are not taken for damage."""
    write_story(paths, make_full_story(2))

    assert paths.witness is not None
    witness = FileWitness(paths.witness)

    async def main() -> list[AuditVerdict]:
        store = SqliteStore(paths.ledger, load_key(paths.key), witness=witness, clock=lambda: START)
        await store.open()
        story, verdicts = Story(calls_before=1000), []
        for _ in range(10):
            story.read()
            check = asyncio.to_thread(verify_ledger, paths.ledger, list_public_keys(paths), witness=paths.witness)
            verdict, _ = await asyncio.gather(check, store.commit(story.entries[-1]))
            verdicts.append(verdict)
        await store.aclose()
        return verdicts

    assert [verdict.findings for verdict in asyncio.run(main())] == [()] * 10


def test_what_is_no_ledger_is_refused_in_words(paths: LedgerPaths) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        verify_ledger(paths.ledger, list_public_keys(paths))
    paths.ledger.write_bytes(b"hello, this is a text and no database at all" * 100)
    with pytest.raises(LedgerError, match="is no ledger"):
        verify_ledger(paths.ledger, list_public_keys(paths))
    with pytest.raises(LedgerError, match="not a file"):
        verify_ledger(paths.ledger.parent, list_public_keys(paths))


def test_a_ledger_on_a_read_only_medium_can_be_checked(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    with closing(sqlite3.connect(paths.ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = paths.ledger.parent
    folder.chmod(0o500)
    try:
        assert verify_ledger(paths.ledger, list_public_keys(paths)).is_clean
    finally:
        folder.chmod(0o700)
