"""Decisions on record, counted by what decided them; differences of a watched policy and suggestions, the latest of them."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.ledger.history import tally as tally_module
from ferrule.ledger.history.tally import HOUR, WEEK, Decider, DecisionTally, find_decider
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.decision import Behavior, Ruling, Shadow
from tests.driven import driven
from tests.ledger.history.rows import NOON, Ledger, Writer, approved_edited


def write_decision(ledger: Ledger, behavior: Behavior, call: str = "inv_1", at: int = NOON, **ruling: Any) -> None:
    """A row of a call about which something was decided."""
    writer = Writer(ledger, call, created_at=at).enter("planned", "selected", "arguments_ready")
    writer.decide(behavior, **ruling).enter("denied").row("call")


def feed_all(ledger: Ledger) -> DecisionTally:
    tally = DecisionTally()
    for row in ledger.rows:
        tally.feed(row)
    return tally


def test_decisions_are_counted_by_what_decided_them_and_answers_of_people_are_not() -> None:
    ledger = Ledger()
    write_decision(ledger, "deny")
    write_decision(ledger, "deny", rule_refs=("other", "refunds"))
    write_decision(ledger, "ask", reason_type="mode", mode="careful", rule_refs=())
    approved_edited(ledger)
    rule = Decider("rule", "policy_settings", "refunds")
    assert feed_all(ledger).count_decisions(0) == {
        (rule, "deny"): 1,
        (rule._replace(rule_id="other"), "deny"): 1,
        (Decider("mode", "", "careful"), "ask"): 1,
        (rule, "ask"): 1,
    }
    assert find_decider(Ruling("allow", "", reason_type="hook", mode="careful")) == Decider("hook", "", "")


def test_only_the_hours_that_were_asked_for_are_counted() -> None:
    ledger = Ledger()
    for number in range(3):
        write_decision(ledger, "deny", at=NOON + number * HOUR)
    assert [sum(feed_all(ledger).count_decisions(NOON + number * HOUR).values()) for number in range(4)] == [3, 2, 1, 0]


def test_where_a_watched_policy_differs_is_kept_the_newest_first() -> None:
    ledger = Ledger()
    for number in range(tally_module._DIFFERENCES + 5):
        write_decision(ledger, "deny", f"inv_{number}", shadow=Shadow("next@1", "allow", ("r2",), "fine"))
    tally = feed_all(ledger)
    found = tally.list_differences()
    assert len(found) == tally_module._DIFFERENCES
    assert [one.seq for one in found[:2]] == [len(ledger.rows), len(ledger.rows) - 1]
    assert (found[0].principal, found[0].behavior, found[0].shadow_behavior) == ("alice", "deny", "allow")
    assert tally.count_shadow_differences(0) == {("next@1", "deny", "allow"): len(ledger.rows)}


def test_suggestions_that_would_have_settled_most_come_first_with_their_latest_call() -> None:
    ledger = Ledger()
    rare, often = {"add": "rare"}, {"add": "often", "to": "user"}
    write_decision(ledger, "ask", "inv_1", suggested_updates=(rare, often))
    write_decision(ledger, "ask", "inv_2", at=NOON + HOUR, suggested_updates=(dict(reversed(often.items())),))
    found = feed_all(ledger).list_suggestions()
    assert [(one.update, one.times, one.invocation_id) for one in found] == [(often, 2, "inv_2"), (rare, 1, "inv_1")]


def test_a_damaged_row_is_one_row_less() -> None:
    ledger = Ledger()
    write_decision(ledger, "deny")
    tally = feed_all(ledger)
    tally.feed(msgspec.structs.replace(ledger.rows[0], body=b"\xc1"))
    assert tally.rows == 2 and sum(tally.count_decisions(0).values()) == 1


@driven
async def test_a_ledger_is_read_forwards_and_back_as_far_as_a_week() -> None:
    ledger = Ledger()
    for number, at in enumerate((NOON - WEEK - HOUR, NOON - HOUR, NOON)):
        write_decision(ledger, "deny", f"inv_{number}", at=at)
    store = MemoryStore(clock=lambda: NOON - WEEK - HOUR)
    await store.open()
    for entry in ledger.entries:
        await store.commit(entry)
    tally = DecisionTally()
    assert not await tally.read_more(store, NOON, 1)
    while not await tally.read_more(store, NOON, 100):
        pass
    assert tally.is_whole and sum(tally.count_decisions(0).values()) == 2
    write_decision(ledger, "deny", "inv_new", at=NOON + 1)
    await store.commit(ledger.entries[-1])
    assert await tally.read_more(store, NOON, 100)
    assert sum(tally.count_decisions(0).values()) == 3
