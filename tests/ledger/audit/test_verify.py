"""What a check of a ledger sees, finding by finding, in ledgers that the store wrote."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.app.custody.check import verify_ledger
from ferrule.app.custody.paths import LedgerPaths
from ferrule.definitions.compiler.seal import load_key
from ferrule.errors import LedgerError
from ferrule.ledger.audit.findings import KEPT, Finding, Verdict
from ferrule.ledger.audit.verify import NO_WITNESS
from ferrule.ledger.stores.sqlite import connection
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from ferrule.ledger.stores.sqlite.store import SqliteStore
from ferrule.ledger.stores.witness import FileWitness
from ferrule.model.journal import Segment
from tests.ledger.audit.build import (
    START,
    Story,
    answer,
    decided,
    every_kind,
    make_paths,
    mark,
    payload,
    public_of,
    request,
    segment,
    write,
)


def verified(paths: LedgerPaths, story: Story) -> Verdict:
    """The verdict over a story that the store wrote."""
    write(paths, story)
    return verify_ledger(paths.ledger, public_of(paths), witness=paths.witness)


def only(verdict: Verdict) -> Finding:
    """The one finding there is."""
    assert verdict.finding_count == 1, verdict.findings
    return verdict.findings[0]


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    """Where a ledger will be."""
    return make_paths(tmp_path)


def test_everything_the_store_writes_is_sound(paths: LedgerPaths) -> None:
    verdict = verified(paths, every_kind())
    assert verdict.findings == ()
    assert (verdict.rows, verdict.first_seq) == (verdict.last_seq, 1)
    assert verdict.notes == (f"the witness vouches for the rows up to {verdict.last_seq} of {verdict.last_seq}",)


def test_without_a_witness_it_says_what_it_cannot_see(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    assert verify_ledger(paths.ledger, public_of(paths)).notes == (NO_WITNESS,)


def test_a_witness_that_saw_nothing_cannot_vouch(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    empty = paths.ledger.with_name("empty")
    empty.write_text("\n")
    found = only(verify_ledger(paths.ledger, public_of(paths), witness=empty))
    assert (found.topic, found.message) == ("witness", "the witness holds no head: it cannot vouch for this ledger")


def test_half_a_line_in_the_witness_is_told_but_is_no_finding(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    assert paths.witness is not None
    with paths.witness.open("ab") as file:
        file.write(b'{"ledger":"ld')
    verdict = verify_ledger(paths.ledger, public_of(paths), witness=paths.witness)
    assert verdict.is_clean
    assert verdict.notes[-1] == "1 lines of the witness cannot be read; a crash may leave half a line"


def test_a_forged_line_in_the_witness_is_told_apart_from_a_rollback(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    assert paths.witness is not None
    line = msgspec.json.decode(paths.witness.read_bytes().splitlines()[-1])
    with paths.witness.open("ab") as file:
        file.write(msgspec.json.encode({**line, "seq": line["seq"] + 100}) + b"\n")
    found = only(verify_ledger(paths.ledger, public_of(paths), witness=paths.witness))
    assert found.message.endswith("of the witness is not signed with the ledger's key")


def test_another_key_is_no_key(paths: LedgerPaths, tmp_path: Path) -> None:
    write(paths, every_kind(1))
    other = make_paths(tmp_path / "other")
    found = only(verify_ledger(paths.ledger, public_of(other)))
    assert (found.topic, found.seq is not None) == ("head", True)


def test_a_call_with_two_ends_is_found(paths: LedgerPaths) -> None:
    """AT-94: terminal states are final."""
    story = Story()
    call = story.begin()
    story.end(call)
    story.read()
    story.end(call)
    verdict = verified(paths, story)
    assert {finding.call for finding in verdict.findings} == {call}
    assert "belongs to a call that had ended before" in [finding.message for finding in verdict.findings]


def test_a_whole_call_recorded_twice_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.read()
    story.entries.append(msgspec.structs.replace(story.entries[-1]))
    found = only(verified(paths, story))
    assert (found.topic, found.seq, found.call) == ("history", 3, call)


def test_news_may_come_at_any_time(paths: LedgerPaths) -> None:
    """Before the first row, after the last, and where a crash left nothing else; the call's end stays its end."""
    story = Story()
    story.news("inv_000001", "progress", sequence=1)
    call = story.read()
    assert call == "inv_000001"
    story.news(call, "cancel_requested", by="ada")
    story.news("inv_crashed", "progress", sequence=1)
    acting = story.begin()
    story.news(acting, "cancel_requested", by="ada")
    story.end(acting)
    story.news(acting, "late_result", payload=payload("too late"))
    assert verified(paths, story).findings == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "gossip"}, "is news of 'gossip', which does not exist"),
        ({"call": ""}, "is a row of kind `news` but names no call"),
        ({"mark": mark("running")}, "is news, which moves nothing, but has a mark"),
        ({"body": {"not": "news"}}, "cannot be understood"),
    ],
)
def test_news_that_is_none_is_found(paths: LedgerPaths, change: dict[str, Any], message: str) -> None:
    story = Story()
    story.news(story.read(), "progress", sequence=1)
    for name, value in change.items():
        setattr(story.entries[-1], name, value)
    assert message in verified(paths, story).findings[0].message


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
    story.news(call, "late_result", payload=payload("too late"))
    story.read()
    assert verified(paths, story).findings == ()
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute(change)
    assert not verify_ledger(paths.ledger, public_of(paths)).is_clean


def test_a_ledger_of_the_first_version_verifies_before_and_after_it_is_migrated(
    paths: LedgerPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        old.setattr(connection, "MIGRATIONS", MIGRATIONS[:1])
        assert verified(paths, every_kind(1)).findings == ()
    story = Story(calls_before=1000)
    story.news(story.read(), "cancel_requested")
    assert verified(paths, story).findings == ()


def test_an_illegal_move_is_found(paths: LedgerPaths) -> None:
    """AT-93, AT-96: `awaiting_approval` never goes straight to `running`."""
    story = Story()
    call = story.park()
    story.resume(call)
    messages = [finding.message for finding in verified(paths, story).findings]
    assert messages[0] == "goes from awaiting_approval to running, which is not legal"


def test_an_end_that_is_no_end_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.add("call", story.new_call(), "running", segment("selected", "arguments_ready", "running"))
    found = only(verified(paths, story))
    assert found.message == "is recorded as a whole call, but stops in state running, which is not an end"


def test_an_outcome_that_is_not_the_last_state_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.read()
    story.entries[-1].outcome = "failed"
    assert only(verified(paths, story)).message == "says 'failed', but the call went to succeeded"


def test_an_end_without_a_beginning_is_found(paths: LedgerPaths) -> None:
    story = Story()
    story.end(story.new_call())
    messages = [finding.message for finding in verified(paths, story).findings]
    assert messages[0] == "continues a call that has no rows before, or has ended"


Spoil = Callable[[Story, str], None]


def approved_twice_by_one(story: Story, call: str) -> None:
    story.approve(call, "olga", is_last=False)
    story.approve(call, " Olga ")


def approved_by_one_of_two(story: Story, call: str) -> None:
    story.approve(call, "olga")


def approved_and_rejected(story: Story, call: str) -> None:
    story.approve(call, "otto", is_last=False)
    no = answer(call, "olga", "reject")
    story.add("answered", call, "awaiting_approval", segment(begin=20, answer=no), mark=mark("awaiting_approval"))
    story.approve(call, "oswin")


def approved_before_an_edit(story: Story, call: str) -> None:
    story.approve(call, "olga", is_last=False)
    edited = msgspec.structs.replace(answer(call, "otto"), binding=b"e" * 32)
    story.add("answered", call, "approved", segment("approved", begin=20, answer=edited), mark=mark("approved"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (approved_twice_by_one, "it ran with 1 of 2 approvals"),
        (approved_by_one_of_two, "it ran with 1 of 2 approvals"),
        (approved_and_rejected, "it ran although a person had rejected it"),
        (approved_before_an_edit, "it ran with 1 of 2 approvals"),
    ],
)
def test_what_ran_without_its_approvals_is_found(paths: LedgerPaths, spoil: Spoil, message: str) -> None:
    """AT-96: an `ask` cannot be skipped; two people are two people."""
    story = Story()
    call = story.park(people=2)
    spoil(story, call)
    story.resume(call)
    story.end(call, begin=40)
    found = only(verified(paths, story))
    assert (found.topic, found.call, found.message) == ("approval", call, message)


def test_a_call_that_asks_and_runs_in_one_row_is_found(paths: LedgerPaths) -> None:
    story = Story()
    went = segment("selected", "arguments_ready", "running", "succeeded", decisions=(decided("ask"),))
    story.add("call", story.new_call(), "succeeded", went)
    assert only(verified(paths, story)).message == "it ran although a person had to be asked"


@pytest.mark.parametrize(
    ("requirement", "by", "channel", "message"),
    [
        ({}, "olga", "agent-token", "was approved over 'agent-token', the channel that made it"),
        ({"not_requester": True}, "Alice", "owner-token", "was approved by 'Alice', who asked for it and may not"),
    ],
)
def test_an_approval_from_the_wrong_side_is_found(
    paths: LedgerPaths, requirement: dict[str, bool], by: str, channel: str, message: str
) -> None:
    story = Story()
    call = story.park(**requirement)
    story.approve(call, by, channel=channel)
    assert only(verified(paths, story)).message == message


def test_an_approval_by_whose_credential_made_the_call_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.park(not_requester=True)
    asked = story.entries[-1].body
    assert isinstance(asked, Segment) and asked.request is not None
    asked.request = msgspec.structs.replace(asked.request, holder="grace")
    story.approve(call, "Grace")
    assert only(verified(paths, story)).message == "was approved by 'Grace', who asked for it and may not"


def test_an_approval_after_the_request_expired_is_found(paths: LedgerPaths) -> None:
    story = Story()
    call = story.new_call()
    asked = msgspec.structs.replace(request(call), expires_at=START - 1)
    went = segment("selected", "arguments_ready", "awaiting_approval", decisions=(decided("ask"),), request=asked)
    story.add("parked", call, "awaiting_approval", went, payload=payload(), mark=mark("awaiting_approval"))
    story.approve(call)
    assert only(verified(paths, story)).message == "was approved by 'olga' after the request had expired"


def test_very_many_findings_are_counted_and_not_all_kept(paths: LedgerPaths) -> None:
    story = Story()
    for _ in range(KEPT + 50):
        story.read()
        story.entries[-1].outcome = "failed"
    verdict = verified(paths, story)
    assert (verdict.finding_count, len(verdict.findings)) == (KEPT + 50, KEPT)


def test_it_is_one_moment_of_a_ledger_that_others_write_to(paths: LedgerPaths) -> None:
    """Rows and witness lines that come while it is checked are not taken for damage."""
    write(paths, every_kind(2))

    assert paths.witness is not None
    witness = FileWitness(paths.witness)

    async def main() -> list[Verdict]:
        store = SqliteStore(paths.ledger, load_key(paths.key), witness=witness, clock=lambda: START)
        await store.open()
        story, verdicts = Story(calls_before=1000), []
        for _ in range(10):
            story.read()
            check = asyncio.to_thread(verify_ledger, paths.ledger, public_of(paths), witness=paths.witness)
            verdict, _ = await asyncio.gather(check, store.commit(story.entries[-1]))
            verdicts.append(verdict)
        await store.aclose()
        return verdicts

    assert [verdict.findings for verdict in asyncio.run(main())] == [()] * 10


def test_a_row_of_odd_bytes_is_a_finding(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    with closing(sqlite3.connect(paths.ledger)) as db, db:
        db.execute("UPDATE journal SET body = x'c1', mark = x'c1', call = cast(x'ff' as text) WHERE seq = 5")
    assert verify_ledger(paths.ledger, public_of(paths)).finding_count


def test_what_is_no_ledger_is_refused_in_words(paths: LedgerPaths) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        verify_ledger(paths.ledger, public_of(paths))
    paths.ledger.write_bytes(b"hello, this is a text and no database at all" * 100)
    with pytest.raises(LedgerError, match="is no ledger"):
        verify_ledger(paths.ledger, public_of(paths))
    with pytest.raises(LedgerError, match="not a file"):
        verify_ledger(paths.ledger.parent, public_of(paths))


def test_a_ledger_on_a_read_only_medium_can_be_checked(paths: LedgerPaths) -> None:
    write(paths, every_kind(1))
    with closing(sqlite3.connect(paths.ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = paths.ledger.parent
    folder.chmod(0o500)
    try:
        assert verify_ledger(paths.ledger, public_of(paths)).is_clean
    finally:
        folder.chmod(0o700)
