"""Batches on the console: the list, the chart of one, and ending what has not begun."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ferrule
from ferrule.servers.console.calls.gantt import at_once, chart_of, held_up_by, locks_of, pieces_of, ticks_of
from tests.driven import driven
from tests.servers.console.browsing import signed_in, text_of
from tests.servers.console.calls.test_invocations import HOSTILE, assert_tame
from tests.servers.stand import serving

gates: dict[str, asyncio.Event] = {}
TOML = '[[scheduler.resource_locks]]\nkey = "order:{order}"\ntool = "*write"\n'


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
def look(word: str = "") -> str:
    """Look."""
    return word


@ferrule.tool(read_only=True)
def fail() -> str:
    """Fail."""
    raise ferrule.ToolFailed("no")


@ferrule.tool(destructive=False, open_world=False, concurrency_safe=True)
async def write(order: str) -> str:
    """Write."""
    await gates[order].wait()
    return order


@ferrule.tool(approval_required=True)
def pay(order: str) -> str:
    """Pay."""
    return order


TOOLS = (look, fail, write, pay)


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


QUEUED = (("planned", 0), ("queued", 1), ("running", 2000), ("succeeded", 3000))
FIRST = (("planned", 0), ("running", 1), ("succeeded", 2000))


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
    assert held_up_by(one, pieces) == {"held_by": "order:1", "held_for": 1_999_000}
    [lock] = locks_of(one)
    assert (lock["calls"], lock["waited"], lock["held_by"], lock["waiting"]) == (2, 1_999_000, [], 0)
    other = batch(member(0, *FIRST), member(1, *QUEUED))
    assert (
        held_up_by(other, [pieces_of(each, began_of(each), 0) for each in other["calls"]])["held_by"] == "other calls"
    )
    assert [count for _, count in at_once(pieces)] == [1, 1, 0]


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


@driven
async def test_a_batch_is_listed_drawn_and_ended(tmp_path: Path) -> None:
    async with serving(tmp_path, tools=TOOLS, auth=True, toml=TOML) as stand:
        person, surface = await signed_in(stand), stand.app.surface(principal="ada")
        assert "No batch was found" in text_of(await person.see("/batches"))
        gates["1"] = asyncio.Event()
        run = await surface.begin_many(
            [("look", {"word": HOSTILE}), ("write", {"order": "1"}), ("write", {"order": "1"}), ("pay", {"order": "9"})]
        )
        page = await person.value(f"/batches/{run.batch_id}")
        while [call["call"]["status"] for call in page["calls"]][1:] != ["running", "queued", "awaiting_approval"]:
            await asyncio.sleep(0.02)
            page = await person.value(f"/batches/{run.batch_id}")
        assert (page["brief"]["known"], page["is_over"], page["unbegun"]) == (4, False, 2)
        assert [(lock["key"], lock["held_by"], lock["waiting"]) for lock in page["locks"]] == [
            ("order:1", ["write #1"], 1)
        ]
        assert page["answers"]["given"] == 1
        text = text_of(await person.see(f"/batches/{run.batch_id}"))
        assert "Cancel what has not started" in text and "Reads, together" in text
        assert "ada makes 4 calls at once" in text
        part = await person.see(f"/batches/{run.batch_id}?by=lock", hx_request="true")
        assert "<html" not in part.body.decode() and "Lock order:1" in text_of(part)
        assert "go on" in text_of(await person.see("/batches"))
        done = await person.send(f"/batches/{run.batch_id}/cancel", {})
        assert (done.status, done.headers["location"]) == (303, f"/console/batches/{run.batch_id}")
        gates["1"].set()
        await run.ended()
        over = await person.value(f"/batches/{run.batch_id}")
        assert over["brief"]["standings"] == {"succeeded": 2, "canceled": 2}
        assert over["is_over"] and over["chart"]["now"] is None
        for path in ("/batches", f"/batches/{run.batch_id}", f"/batches/{run.batch_id}?by=order&x={HOSTILE[8:20]}"):
            reply = await person.see(path)
            assert reply.status == 200
            assert_tame(reply.body.decode())
        assert (await person.see("/batches/bat_00000000000000000000dead")).status == 404
        assert (await person.send(f"/batches/{run.batch_id}/cancel", {}, proof="no")).status == 403


@driven
async def test_siblings_that_were_canceled_say_because_of_whom(tmp_path: Path) -> None:
    async with serving(tmp_path, tools=TOOLS, auth=True) as stand:
        person, surface = await signed_in(stand), stand.app.surface(principal="ada")
        calls: list[Any] = [{"name": "fail", "id": "first"}, {"name": "look", "depends_on": ["first"]}]
        made = await surface.call_many(calls, sibling_failure_policy="cancel_dependent")
        page = await person.value(f"/batches/{made.batch_id}")
        rows = {row["name"]: row for group in page["chart"]["groups"] for row in group["rows"]}
        assert rows["look"]["label"] == "canceled: fail failed"
        assert page["answers"]["on_failure"] == "what depends on it is canceled, the rest goes on"
        story = await person.value(f"/invocations/{made[1].invocation_id}")
        assert story["relatives"]["batch_id"] == made.batch_id
