"""What calls did, counted row by row: by caller, tool and system, within bounds."""

from __future__ import annotations

from statistics import median_low

import msgspec
import pytest

from ferrule.ledger.history import activity
from ferrule.ledger.history.activity import EVERYBODY, Activity, CallScope, Counts
from tests.ledger.history.planned_calls import SECOND, PlannedCall, write_call
from tests.ledger.history.rows import NOON, Ledger


def test_more_callers_than_are_told_apart_leave_the_whole_right_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "MOST_CELLS", 6)
    counts, now = Activity(), NOON + 60 * SECOND
    for number in range(20):
        ledger = Ledger()
        entries, _ = write_call(PlannedCall("read", 1, 5, 1, f"p{number}", "default", False), f"inv_{number}")
        counts.count_row(ledger.add(entries[0]))
    assert counts.report(EVERYBODY, now).whole.calls == 20
    assert counts.report(CallScope("default"), now).whole.calls == 20
    last = counts.report(CallScope("default", "p19"), now)
    assert (last.whole.calls, last.is_whole) == (0, False)


def test_a_damaged_row_is_passed_over() -> None:
    ledger, counts = Ledger(), Activity()
    for entry in write_call(PlannedCall("read", 1, 5, 1, "ada", "default", False), "inv_1")[0]:
        row = ledger.add(entry)
    counts.count_row(msgspec.structs.replace(row, body=b"\xc1", seq=1))
    counts.count_row(row)
    assert counts.report(EVERYBODY, NOON + SECOND * 2).whole.calls == 1


def test_failing_tools_are_named_and_their_number_is_bounded() -> None:
    counts = Counts()
    for number in range(100):
        counts.count_call("failed", f"tool{number}", 1)
    assert counts.failing["tool0"] == 1
    assert counts.failing[activity.OTHER_TOOLS] == 100 - len(counts.failing) + 1


def test_the_time_of_a_system_is_that_of_running_alone() -> None:
    counts = Activity(lambda tool_id: "HTTP shop.example" if tool_id == "shop.thing" else None)
    ledger = Ledger()
    for number, shape in enumerate(("approved", "asked", "replied", "lapsed", "denied", "unfit")):
        entries, _ = write_call(PlannedCall(shape, 0, 200, 60, "ada", "default", False), f"inv_{number}")  # type: ignore[arg-type]  # words
        for entry in entries:
            counts.count_row(ledger.add(entry))
    found = counts.report_systems(NOON + 120 * SECOND)["HTTP shop.example"]
    assert sum(one.calls for _, one in found) == 3
    times = sorted(one.latency.percentile(1.0) or 0 for _, one in found)
    assert median_low(times) == pytest.approx(60_200_000, rel=0.03)  # a reply that is waited for is its time
    assert found[0][1].latency.percentile(0.5) == pytest.approx(200_000, rel=0.03)
