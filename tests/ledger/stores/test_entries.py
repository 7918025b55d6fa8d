"""An entry becomes a row: judged by the state, the switch, the key and the limits; then chained, in the order of time."""

from __future__ import annotations

import pytest

from ferrule.contracts.store import CommitCondition, Committed
from ferrule.ledger.chain import NO_PAYLOAD, START, compute_commitment, compute_row_hash
from ferrule.ledger.stores.entries import MALFORMED, chain_row, find_refusal, is_running, to_stored_entry
from ferrule.ledger.tables import Tables
from ferrule.model.journal import Entry, Mark, OpenCall, Payload, encode
from tests.ledger.stores.entries import make_entry, make_running

SALT = b"s" * 16


def tables_with(*entries: Entry) -> Tables:
    tables = Tables()
    for seq, one in enumerate(entries, start=1):
        tables.apply_mark(one.kind, one.call, seq, one.mark or Mark())
    return tables


@pytest.mark.parametrize(
    ("condition", "is_written"),
    [
        (CommitCondition(), True),
        (CommitCondition(states=frozenset({"running"})), True),
        (CommitCondition(states=frozenset({"approved"})), False),
        (CommitCondition(states=frozenset()), False),
        (CommitCondition(owner="here"), True),
        (CommitCondition(owner="there"), False),
        (CommitCondition(seq=1), True),
        (CommitCondition(seq=2), False),
    ],
)
def test_an_open_call_has_to_be_as_the_condition_says(condition: CommitCondition, is_written: bool) -> None:
    refused = find_refusal(tables_with(make_running("c1", "here")), make_running("c1", "here"), condition)
    assert refused == (None if is_written else Committed("state_changed", state="running"))


def test_a_call_that_is_not_open_has_no_state_owner_or_row() -> None:
    for condition in (
        CommitCondition(states=frozenset({"running"})),
        CommitCondition(owner="here"),
        CommitCondition(seq=1),
    ):
        assert find_refusal(Tables(), make_entry("c1"), condition) == Committed("state_changed", state="")
    assert find_refusal(Tables(), make_entry("c1"), CommitCondition(states=frozenset())) is None


def test_a_key_that_another_call_has_is_taken_or_in_conflict_by_its_input() -> None:
    tables = tables_with(make_running("c1", "here", key=b"k", input_digest=b"same"))

    def tried(call: str, digest: bytes) -> Committed | None:
        return find_refusal(
            tables, make_running(call, "here", key=b"k", input_digest=digest), CommitCondition(key_is_free=True)
        )

    assert tried("c2", b"same") == Committed("key_taken", holder="c1")
    assert tried("c2", b"other") == Committed("key_conflict", holder="c1")
    assert tried("c1", b"other") is None


def test_a_tool_that_is_off_and_a_run_at_its_limit_are_refused() -> None:
    used = make_running("c1", "here", counted_run="r1")
    limits = CommitCondition(run_limits=(("demo.add", 1), ("demo.pay", 2), ("*", 3)))
    assert find_refusal(tables_with(used), used, limits) is None
    assert find_refusal(tables_with(used, used), used, limits) == Committed("limit_reached", limit="demo.pay")
    off = tables_with(make_entry("", Mark(tool_id="demo.pay", switch="off"), kind="switch"))
    assert find_refusal(off, used, CommitCondition(is_on=True)) == Committed("switched_off")
    assert find_refusal(off, used, CommitCondition()) is None


def test_a_row_follows_the_one_before_in_hash_and_time() -> None:
    seq, kind, call, at, tool, outcome, body, payload, mark, digest = chain_row(
        make_entry("c1", at=50), 7, START, 90, SALT
    )
    assert (seq, call, at) == (7, "c1", 90)
    assert payload == SALT + encode(Payload(b'{"a": 1}'))
    assert digest == compute_row_hash(START, 7, kind, "c1", 90, tool, outcome, body, compute_commitment(payload), mark)
    bare = Entry("opened", "", 95, "", "created", {})
    assert chain_row(bare, 1, START, 90, SALT)[3] == 95
    assert chain_row(bare, 1, START, 90, SALT)[7] is None
    assert chain_row(bare, 1, START, 90, SALT)[-1] == compute_row_hash(
        START, 1, 12, "", 95, "", "created", encode({}), NO_PAYLOAD, b""
    )


def test_what_cannot_be_stored_is_one_of_the_mistakes_that_stores_expect() -> None:
    for bad in (
        make_entry("\ud800"),
        make_entry("c", at=2**70),
        make_entry("c", body={"x": object()}),
        make_entry("c", kind="gossip"),  # type: ignore[arg-type]
    ):
        with pytest.raises(MALFORMED):
            chain_row(bad, 1, START, 0, SALT)


def test_a_row_is_read_without_the_salt_of_its_payload() -> None:
    row = chain_row(make_entry("c1"), 1, START, 0, SALT)
    read = to_stored_entry(*row[:8], False, *row[8:])
    assert (read.kind, read.payload) == ("call", encode(Payload(b'{"a": 1}')))


@pytest.mark.parametrize(
    ("state", "owner", "expected"),
    [
        ("running", "here", True),
        ("running", "", False),
        ("awaiting_approval", "here", False),
        ("approved", "here", False),
    ],
)
def test_who_waits_for_a_person_needs_nobody_to_be_there(state: str, owner: str, expected: bool) -> None:
    assert is_running(OpenCall("c", state, owner, "demo.pay", "ada", None, "", None, 1)) is expected
