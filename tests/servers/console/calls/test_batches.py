"""Batches on the console: the list, the chart of one, and ending what has not begun."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import ferrule
from tests.driven import driven
from tests.servers.console.browsing import signed_in, text_of
from tests.servers.console.calls.test_invocations import HOSTILE, assert_tame
from tests.servers.local_server import running_server

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


@driven
async def test_a_batch_is_listed_drawn_and_ended(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml=TOML) as stand:
        person, surface = await signed_in(stand), stand.app.surface(principal="ada")
        assert "No batch found" in text_of(await person.see("/batches"))
        gates["1"] = asyncio.Event()
        run = await surface.begin_many(
            [("look", {"word": HOSTILE}), ("write", {"order": "1"}), ("write", {"order": "1"}), ("pay", {"order": "9"})]
        )
        page = await person.value(f"/batches/{run.batch_id}")
        statuses = ["running", "queued", "awaiting_approval"]
        while [call["call"]["status"] for call in page["calls"]][1:] != statuses or not page["answers"]["given"]:
            await asyncio.sleep(0.02)
            page = await person.value(f"/batches/{run.batch_id}")
        assert (page["brief"]["known"], page["is_over"], page["unbegun"]) == (4, False, 2)
        assert [(lock["key"], lock["held_by"], lock["waiting"]) for lock in page["locks"]] == [
            ("order:1", ["write #1"], 1)
        ]
        assert page["answers"]["given"] == 1
        text = text_of(await person.see(f"/batches/{run.batch_id}"))
        assert "Cancel calls not started" in text and "Reads, in parallel" in text
        assert "ada is making 4 calls in one batch" in text
        part = await person.see(f"/batches/{run.batch_id}?by=lock", hx_request="true")
        assert "<html" not in part.body.decode() and "Lock order:1" in text_of(part)
        assert "still running" in text_of(await person.see("/batches"))
        done = await person.send(f"/batches/{run.batch_id}/cancel", {})
        assert (done.status, done.headers["location"]) == (303, f"/console/batches/{run.batch_id}")
        gates["1"].set()
        await run.wait()
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
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        person, surface = await signed_in(stand), stand.app.surface(principal="ada")
        calls: list[Any] = [{"name": "fail", "id": "first"}, {"name": "look", "depends_on": ["first"]}]
        made = await surface.call_many(calls, sibling_failure_policy="cancel_dependent")
        page = await person.value(f"/batches/{made.batch_id}")
        rows = {row["name"]: row for group in page["chart"]["groups"] for row in group["rows"]}
        assert rows["look"]["label"] == "canceled: fail failed"
        assert page["answers"]["on_failure"] == "calls that depend on it are canceled, the rest continue"
        story = await person.value(f"/invocations/{made[1].invocation_id}")
        assert story["relatives"]["batch_id"] == made.batch_id
