"""What a ledger is at this moment: its ends, what was done to it, its witness, and rows held against their hashes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.paths import LedgerPaths, update_witness
from ferrule.app.custody.state import find_ends, list_links, list_marks, read_last_head
from ferrule.ledger.stores.sqlite.raw import SqliteSource


def changed(paths: LedgerPaths, statement: str, seq: int) -> None:
    with closing(sqlite3.connect(paths.ledger)) as ledger:
        ledger.execute(statement, (seq,))
        ledger.commit()


def test_the_ends_are_the_first_and_the_last_row_and_the_signed_head(paths: LedgerPaths) -> None:
    with SqliteSource(paths.ledger) as source:
        first, last = source.find_bounds()
    ends = find_ends(paths)
    assert (ends.first_seq, ends.last_seq, ends.heads[0].seq) == (first, last, last)
    assert 0 < ends.first_at <= ends.last_at
    assert ends.size_bytes == paths.ledger.stat().st_size


def test_an_erasure_is_told_with_who_did_it_and_why(paths: LedgerPaths) -> None:
    before = find_ends(paths).last_seq
    assert [mark.deed for mark in list_marks(paths)][:1] == ["opened"]
    with SqliteSource(paths.ledger) as source:
        ended = next(link.call for link in list_links(paths, 1, source.find_bounds()[1]) if link.kind == "call")
    erase_call(paths, ended, reason="she asked for it", by="oda")
    (mark,) = list_marks(paths, before)
    assert (mark.deed, mark.by) == ("erased", "oda")
    assert mark.told.endswith("of 1 call were destroyed: she asked for it")


def test_a_changed_row_is_not_whole_and_the_others_are(paths: LedgerPaths) -> None:
    assert all(link.is_whole and not link.follows_gap for link in list_links(paths, 4, 2))
    changed(paths, "UPDATE journal SET outcome = 'other' WHERE seq = ?", 4)
    assert [(link.seq, link.is_whole) for link in list_links(paths, 4, 1)] == [(3, True), (4, False), (5, True)]


def test_a_row_after_a_gap_says_so(paths: LedgerPaths) -> None:
    changed(paths, "DELETE FROM journal WHERE seq = ?", 4)
    assert [(link.seq, link.follows_gap) for link in list_links(paths, 4, 1)] == [(3, False), (5, True)]


def test_a_witness_tells_what_it_saw_last_and_nothing_when_it_cannot_be_read(
    paths: LedgerPaths, tmp_path: Path
) -> None:
    witness = tmp_path / "seen.log"
    assert read_last_head(witness) is None
    witness.write_text("no witness at all\n")
    assert read_last_head(witness) is None
    update_witness(paths._replace(witness=witness))
    seen = read_last_head(witness)
    assert seen is not None and seen.seq == find_ends(paths).last_seq
