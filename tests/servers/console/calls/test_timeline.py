"""The phases of a call as bars."""

from __future__ import annotations

from ferrule.model.lifecycle import PHASES
from ferrule.servers.console.calls.timeline import TimelineWait, make_scale, timeline_of
from tests.servers.console.calls.story_samples import START, at, story


def test_waiting_is_drawn_no_wider_than_the_work() -> None:
    place = make_scale(70.0, [TimelineWait(5.0, 65.0, "person", "permission")])
    assert [round(place(moment), 3) for moment in (0, 5, 65, 70)] == [0.0, 25.0, 75.0, 100.0]
    timeline = timeline_of(story(), START)
    rows = {row["phase"]: row for row in timeline["phases"]}
    [wait] = [bar for bar in rows["permission"]["bars"] if bar["is_hatched"]]
    assert wait["class"] == "g-wait" and wait["width"] <= 50.1
    assert rows["execute"]["bars"][0]["width"] > 40
    assert (round(timeline["total"]), round(timeline["work"])) == (61_012_000, 1_012_000)
    assert rows["schedule"]["took"] == 1000.0, "it began when the wait was over"
    for row in rows.values():
        assert all(bar["x"] >= 0 and bar["x"] + bar["width"] <= 100.01 for bar in row["bars"])


def test_a_call_that_runs_has_a_current_phase_and_later_ones_are_to_come() -> None:
    moves = [{"from": None, "to": "planned", "at": at(0)}, {"from": "planned", "to": "running", "at": at(0.02)}]
    phases = [
        {"phase": phase, "ran": PHASES.index(phase) < 8, "ended_after_ms": 10.0, "duration_ms": 1.0} for phase in PHASES
    ]
    open_call = story(ended_at=None, status="running", phases=phases, transitions=moves, result=None)
    rows = {row["phase"]: row for row in timeline_of(open_call, START + 3_000_000)["phases"]}
    assert (rows["execute"]["kind"], rows["map_result"]["kind"], rows["schedule"]["kind"]) == ("run", "queue", "ok")
    assert rows["execute"]["took"] == 2_990_000
    queued = story(ended_at=None, status="queued", phases=phases[:7], transitions=[
        *moves[:1], {"from": "planned", "to": "queued", "at": at(1)}], result=None)  # fmt: skip
    waiting = {row["phase"]: row for row in timeline_of(queued, START + 5_000_000)["phases"]}["schedule"]
    assert (waiting["kind"], waiting["bars"][0]["class"], waiting["took"]) == ("queue", "g-idle", 4_000_000)
