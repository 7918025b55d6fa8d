"""What a witness says about a ledger, and what it cannot say."""

from __future__ import annotations

import msgspec

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths
from tests.ledger.audit.build import (
    list_public_keys,
    make_full_story,
    write_story,
)
from tests.ledger.audit.verdicts import find_only


def test_a_witness_that_saw_nothing_cannot_vouch(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    empty = paths.ledger.with_name("empty")
    empty.write_text("\n")
    found = find_only(verify_ledger(paths.ledger, list_public_keys(paths), witness=empty))
    assert (found.topic, found.message) == ("witness", "the witness holds no head: it cannot vouch for this ledger")


def test_half_a_line_in_the_witness_is_told_but_is_no_finding(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    assert paths.witness is not None
    with paths.witness.open("ab") as file:
        file.write(b'{"ledger":"ld')
    verdict = verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness)
    assert verdict.is_clean
    assert verdict.notes[-1] == "1 lines of the witness cannot be read; a crash may leave half a line"


def test_a_forged_line_in_the_witness_is_told_apart_from_a_rollback(paths: LedgerPaths) -> None:
    write_story(paths, make_full_story(1))
    assert paths.witness is not None
    line = msgspec.json.decode(paths.witness.read_bytes().splitlines()[-1])
    with paths.witness.open("ab") as file:
        file.write(msgspec.json.encode({**line, "seq": line["seq"] + 100}) + b"\n")
    found = find_only(verify_ledger(paths.ledger, list_public_keys(paths), witness=paths.witness))
    assert found.message.endswith("of the witness is not signed with the ledger's key")
