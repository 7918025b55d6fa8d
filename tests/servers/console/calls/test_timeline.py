"""The phases of a call as bars, and its inputs field by field."""

from __future__ import annotations

from typing import Any

from ferrule.model.lifecycle import PHASES
from ferrule.servers.console.calls.invocation import four_inputs
from ferrule.servers.console.calls.timeline import Wait, scale, timeline_of

START = 1_767_225_600_000_000


def at(seconds: float) -> str:
    return f"2026-01-01T00:{int(seconds) // 60:02d}:{seconds % 60:09.6f}Z"


def story(**more: Any) -> dict[str, Any]:
    """A call that waited a minute for a person and then worked for a second."""
    phases: list[dict[str, Any]] = [
        {"phase": phase, "ran": True, "ended_after_ms": 10.0, "duration_ms": 1.0} for phase in PHASES[:7]
    ]
    phases.append({"phase": "schedule", "ran": True, "ended_after_ms": 60_011.0, "duration_ms": None})
    phases += [
        {"phase": phase, "ran": True, "ended_after_ms": 61_011.0, "duration_ms": 1000.0} for phase in PHASES[8:9]
    ]
    phases += [{"phase": phase, "ran": True, "ended_after_ms": 61_012.0, "duration_ms": 0.0} for phase in PHASES[9:]]
    moves = (
        ("planned", 0.0),
        ("awaiting_approval", 0.01),
        ("approved", 60.01),
        ("running", 60.011),
        ("succeeded", 61.012),
    )
    return {
        "created_at": at(0), "ended_at": at(61.012), "status": "succeeded", "phases": phases, "tool_id": "shop.pay",
        "agent": None, "principal": "ada", "inputs": [], "decisions": [], "rules": [], "result": {"status": "success"},
        "transitions": [{"from": None, "to": state, "at": at(seconds)} for state, seconds in moves], **more,
    }  # fmt: skip


def test_waiting_is_drawn_no_wider_than_the_work() -> None:
    place = scale(70.0, [Wait(5.0, 65.0, "person", "permission")])
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


def test_four_inputs_name_who_changed_what() -> None:
    def change(source: str, ref: str, *fields: str) -> dict[str, Any]:
        return {"source_type": source, "source_ref": ref, "changed_fields": list(fields), "reason": ""}

    views = [
        {"name": "model_input", "value": {"amount": "84", "card": "4111", "to": {"name": "x", "city": "y"}}},
        {"name": "observable_input", "value": {"amount": 84, "card": "[REDACTED]", "to": {"name": "x", "city": "y"}}},
        {
            "name": "call_input",
            "value": {"amount": 72, "card": "[REDACTED]", "to": {"name": "z", "city": "y"}, "n": True},
        },
    ]
    changes = [change("adapter", "lenient", "amount"), change("hook", "notice", "n"), change("hook", "move", "to.name"),
               change("permission_prompt", "mara", "amount")]  # fmt: skip
    rows = {row["field"]: row["cells"] for row in four_inputs(story(inputs=views, mutations=changes))["rows"]}
    assert [cell["text"] for cell in rows["amount"]] == ['"84"', "84", "84", "72"]
    assert (rows["amount"][1]["by"], rows["amount"][1]["is_person"]) == ("read by us", False)
    assert (rows["amount"][3]["by"], rows["amount"][3]["is_person"]) == ("mara", True)
    assert rows["card"][1]["by"] == "masked" and rows["card"][3]["is_same"]
    assert (rows["to.name"][3]["by"], rows["to.city"][3]["is_same"]) == ("hook move", True)
    assert rows["n"][0]["is_absent"] and rows["n"][3]["by"] == "hook notice"
    assert four_inputs(story(inputs=[], is_erased=True)) == {
        "rows": [],
        "left": 0,
        "is_changed": False,
        "is_erased": True,
    }
