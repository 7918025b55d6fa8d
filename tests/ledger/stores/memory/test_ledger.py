"""The rows that memory stores share: found by call, news, number, time and ending."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import CallsWanted, CommitCondition, EndingCount
from ferrule.errors import LedgerUnavailable
from ferrule.ledger.stores.memory.ledger import MemoryLedger
from ferrule.model.journal import Entry
from tests.ledger.stores.entries import AT, make_ended, make_entry, make_news, make_running, make_switch

MINUTE = 60_000_000


def ledger_of(*entries: Entry) -> MemoryLedger:
    ledger = MemoryLedger(Ed25519PrivateKey.generate(), lambda: AT)
    for one in entries:
        assert ledger.append(one, CommitCondition()).outcome == "written"
    return ledger


def test_rows_of_a_call_and_its_news_are_kept_apart() -> None:
    ledger = ledger_of(
        make_running("a", "here"),
        make_news("a", "progress"),
        make_entry("b"),
        make_news("a", "cancel_requested"),
        make_ended("a"),
    )
    assert [row.seq for row in ledger.rows_of("a")] == [2, 6]
    assert [row.seq for row in ledger.news_of("a", 0)] == [3, 5]
    assert [row.seq for row in ledger.news_of("a", 3)] == [5]
    assert [row.seq for row in ledger.cancel_requests(0)] == [5]
    assert ledger.rows_of("nobody") == ledger.news_of("nobody", 0) == []


def test_rows_are_found_backwards_by_kind_tool_and_outcome() -> None:
    ledger = ledger_of(make_entry("a"), make_entry("b", tool="demo.pay", outcome="failed"), make_entry("c"))

    def seqs(
        before: int | None, limit: int = 9, *kinds: str, tool: str | None = None, outcome: str | None = None
    ) -> list[int]:
        return [row.seq for row in ledger.rows_before(before, limit, kinds, tool, outcome)]  # type: ignore[arg-type]  # words

    assert seqs(None) == [4, 3, 2, 1]
    assert seqs(None, 2) == [4, 3]
    assert seqs(3) == [2, 1]
    assert seqs(None, 9, "opened") == [1]
    assert seqs(None, tool="demo.pay") == seqs(None, outcome="failed") == [3]
    assert seqs(0) == seqs(1) == []


def test_calls_are_found_by_their_first_row_and_judged_by_their_last() -> None:
    ledger = ledger_of(
        make_running("a", "here"),
        make_entry("b", body={"who": "zebra"}),
        make_ended("a"),
        make_entry("c", tool="demo.pay", outcome="failed"),
    )

    def calls(**wanted: object) -> list[str]:
        return [row.call for row in ledger.calls_before(None, 9, CallsWanted(**wanted))]  # type: ignore[arg-type]  # words

    assert calls() == ["c", "b", "a"]
    assert calls(outcomes=("succeeded",)) == ["b", "a"]
    assert calls(after=2) == ["c", "b"]
    assert calls(tool="pay") == calls(tool="demo.pay") == ["c"]
    assert calls(tool="ay") == []
    assert calls(holding=(b"zebra",)) == ["b"]


def test_endings_are_counted_by_stretches_of_time() -> None:
    ledger = ledger_of(
        make_entry("a", at=AT),
        make_entry("b", at=AT + 1),
        make_entry("c", at=AT + 2, outcome="failed"),
        make_entry("d", at=AT + MINUTE),
    )
    assert ledger.endings(0, 99, MINUTE, "") == [
        EndingCount(AT, "failed", 1), EndingCount(AT, "succeeded", 2), EndingCount(AT + MINUTE, "succeeded", 1),
    ]  # fmt: skip
    assert ledger.endings(2, 5, MINUTE, "") == [EndingCount(AT, "failed", 1), EndingCount(AT, "succeeded", 1)]
    assert (ledger.seq_at(AT + 2), ledger.seq_at(AT + MINUTE + 1)) == (4, 6)


def test_a_row_that_everybody_must_hear_of_is_another_generation() -> None:
    ledger = ledger_of(make_entry("a"))
    before = ledger.generation
    ledger.append(make_switch("demo.pay", "off"), CommitCondition())
    assert ledger.generation == before + 1
    assert ledger.append(make_running("b", "here"), CommitCondition(is_on=True)).outcome == "switched_off"


def test_an_entry_that_cannot_be_stored_leaves_the_ledger_as_it_was() -> None:
    ledger = ledger_of(make_entry("a"))
    tail = ledger.tail
    with pytest.raises(LedgerUnavailable, match="cannot be stored"):
        ledger.append(make_entry("b", at=2**70), CommitCondition())
    assert ledger.tail == tail and len(ledger.rows) == 2
