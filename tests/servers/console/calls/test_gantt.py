"""The chart of a batch: each call in the parts of its time, waits by what was waited for, bars within the width."""

from __future__ import annotations

from typing import Any

from ferrule.servers.console.calls.gantt import chart_of, count_parallel, find_delay, locks_of, pieces_of, ticks_of

QUEUED = (("planned", 0), ("queued", 1), ("running", 2000), ("succeeded", 3000))


FIRST = (("planned", 0), ("running", 1), ("succeeded", 2000))


def at(milliseconds: float) -> str:
    return f"2026-01-01T00:00:{milliseconds / 1000:09.6f}Z"


def member(
    index: int, *states: tuple[str, float], standing: str = "succeeded", locks: tuple[str, ...] = (), **more: Any
) -> Any:
    call = {"invocation_id": f"inv_{index}", "tool_name": "write", "standing": standing, "status": states[-1][0],
            "decision": "", "rules": [], "at": at(0), "duration_ms": 1.0, "agent": None, "principal": "ada"}  # fmt: skip
    return {
        "index": index, "call": call, "is_read_only": False, "depends_on": [], "waited_ms": None, "queued_ms": None,
        "locks": [{"key": key, "mode": "exclusive"} for key in locks], "is_on_record": True, "cause": None,
        "states": [{"state": state, "at": at(ms)} for state, ms in states], **more,
    }  # fmt: skip


def batch(*members: Any, is_over: bool = True, now: float = 9000) -> Any:
    brief = {"at": at(0), "is_over": is_over, "size": len(members), "standings": {"succeeded": len(members)}}
    return {"brief": brief, "calls": list(members), "now": at(now), "sibling_failure_policy": "ignore",
            "ordering_policy": "preserve_terminal_order"}  # fmt: skip


def began_of(one: Any) -> int:
    return 1_767_225_600_000_000


def test_a_call_is_drawn_in_the_parts_of_its_time() -> None:
    asked = member(
        0, ("planned", 0), ("awaiting_approval", 5), ("approved", 4000), ("running", 4000), ("succeeded", 5000)
    )
    pieces = pieces_of(asked, began_of(asked), 0)
    assert [(piece.kind, piece.begin, piece.end) for piece in pieces] == [
        ("turn", 0, 5_000),
        ("person", 5_000, 4_000_000),
        ("work", 4_000_000, 5_000_000),
    ]
    running = member(0, ("planned", 0), ("running", 1), standing="running")
    assert pieces_of(running, began_of(running), began_of(running) + 7_000_000)[-1].end == 7_000_000


def test_waiting_is_told_by_what_was_waited_for() -> None:
    one = batch(member(0, *FIRST, locks=("order:1",)), member(1, *QUEUED, locks=("order:1",)))
    pieces = [pieces_of(each, began_of(each), 0) for each in one["calls"]]
    assert find_delay(one, pieces) == {"held_by": "order:1", "held_for": 1_999_000}
    [lock] = locks_of(one)
    assert (lock["calls"], lock["waited"], lock["held_by"], lock["waiting"]) == (2, 1_999_000, [], 0)
    other = batch(member(0, *FIRST), member(1, *QUEUED))
    assert (
        find_delay(other, [pieces_of(each, began_of(each), 0) for each in other["calls"]])["held_by"] == "other calls"
    )
    assert [count for _, count in count_parallel(pieces)] == [1, 1, 0]


def test_the_chart_has_bars_within_its_width_and_hatches_waits() -> None:
    one = batch(
        member(0, *FIRST, locks=("order:1",)),
        member(1, *QUEUED, locks=("order:1",)),
        member(2, ("planned", 0), ("canceled", 50), standing="canceled", cause="inv_0"),
    )
    chart = chart_of(one, "kind")
    rows = chart["groups"][0]["rows"]
    for row in rows:
        for bar in row["bars"]:
            assert bar["x"] >= 0 and bar["x"] + bar["width"] <= 101.5
    assert [(bar["class"], bar["is_hatched"]) for bar in rows[1]["bars"]] == [("g-idle", True), ("g-ok", False)]
    assert rows[2]["label"] == "canceled: write #1 failed"
    assert rows[2]["bars"][-1]["class"] == "g-off"
    assert chart["now"] is None and chart["most"] == 1
    assert chart_of(batch(member(0, *FIRST), is_over=False, now=4000), "kind")["now"] is not None
    by_lock = chart_of(one, "lock")["groups"]
    assert [(group["heading"], len(group["rows"])) for group in by_lock] == [("Lock order:1", 2), ("Without a lock", 1)]
    assert [row["index"] for row in chart_of(one, "order")["groups"][0]["rows"]] == [0, 1, 2]


def test_ticks_are_round_and_reach_the_end() -> None:
    for span in (1, 999, 3_000_000, 61_000_000, 86_400_000_000):
        ticks = ticks_of(span)
        assert 2 <= len(ticks) <= 7
        assert ticks[-1]["at"] >= span
    assert [tick["text"] for tick in ticks_of(3_000_000)] == ["0 s", "1.0 s", "2.0 s", "3.0 s"]
