"""The sync face over time: batches, streams, following, canceling, and Ctrl-C that leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.app.blocking import SyncApp, SyncSurface
from ferrule.contracts.payloads import PayloadGone
from ferrule.errors import BatchError
from ferrule.model.result import Pending, Result

ALLOW = 'mode = "trusted"\n'
gate = threading.Event()
started = threading.Event()


@ferrule.tool(read_only=True, concurrency_safe=True)
async def look(n: int, context: ferrule.Context) -> dict[str, int]:
    """Look at something."""
    context.progress("half", percent=50)
    await asyncio.sleep(0)
    return {"n": n}


@ferrule.tool(destructive=False)
async def endless(context: ferrule.Context) -> str:
    """Never ends by itself."""
    context.progress("begun")
    started.set()
    await asyncio.Event().wait()
    return "never"


@ferrule.tool(destructive=False)
def stubborn() -> str:
    """Cannot be stopped."""
    started.set()
    gate.wait(10)
    return "done"


@ferrule.tool(destructive=False)
def fails(n: int) -> str:
    """Fails."""
    raise ferrule.ToolFailed("no")


@ferrule.tool(read_only=True)
def long_text(n: int) -> str:
    """Gives much."""
    return "x" * n


@pytest.fixture
def app(tmp_path: Path) -> Iterator[SyncApp]:
    (tmp_path / "ferrule.toml").touch()
    (tmp_path / "policy.toml").write_text(ALLOW)
    gate.clear()
    started.clear()
    with ferrule.open_sync(tmp_path, tools=[look, endless, stubborn, fails, long_text]) as app:
        yield app
        gate.set()


@pytest.fixture
def surface(app: SyncApp) -> SyncSurface:
    return app.surface(principal="ann")


def newest(app: SyncApp) -> str:
    """The id of the call in flight."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        for call_id in list(app.app.services.live.calls):
            return call_id
        time.sleep(0.005)
    raise AssertionError("no call is in flight")


def ended(outcome: Result | Pending | None) -> Result:
    assert isinstance(outcome, Result)
    return outcome


def in_thread(work: Any) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    assert started.wait(5)
    return thread, found


def test_many_calls_give_their_results_in_order(surface: SyncSurface) -> None:
    batch = surface.call_many([("look", {"n": 1}), {"name": "fails", "arguments": {"n": 2}}, ("look", {"n": 3})])
    assert [ended(result).status for result in batch] == ["succeeded", "failed", "succeeded"]
    assert batch[2].value == {"n": 3}
    assert batch.is_error
    with pytest.raises(BatchError, match="depends on"):
        surface.call_many([{"name": "look", "arguments": {"n": 1}, "depends_on": ["nobody"]}])


def test_a_policy_reaches_the_batch(surface: SyncSurface) -> None:
    batch = surface.call_many([("fails", {"n": 1}), ("fails", {"n": 2})], sibling_failure_policy="cancel_siblings")
    assert [error.error_class for result in batch if (error := ended(result).error) is not None] == [
        "execution_failed",
        "sibling_canceled",
    ]


def test_a_stream_is_a_plain_iterator(surface: SyncSurface) -> None:
    told = [*surface.stream_many([("look", {"n": 1}), ("look", {"n": 2})])]
    assert [ended(update.result).value["n"] for update in told if update.result is not None] == [1, 2]
    assert [update.progress.percent for update in told if update.progress is not None] == [50, 50]


def test_whoever_stops_iterating_cancels_the_rest(app: SyncApp, surface: SyncSurface) -> None:
    for update in surface.stream_many([("look", {"n": 1}), ("endless", {})]):
        if update.progress is not None and update.progress.message == "begun":
            call_id = update.invocation_id
            break
    assert ended(app.result(call_id, wait=5)).status == "canceled"


def test_an_iterator_that_is_dropped_harms_nobody(app: SyncApp, surface: SyncSurface) -> None:
    told = surface.stream_many([("endless", {})])
    assert next(told).progress is not None

    async def collected() -> None:  # on the app's own thread
        held.clear()
        gc.collect()

    held = [told]
    del told
    app.run(collected())
    assert ended(surface.call("look", {"n": 1})).value == {"n": 1}


def test_a_call_is_followed_and_canceled_from_another_thread(app: SyncApp, surface: SyncSurface) -> None:
    thread, found = in_thread(lambda: surface.call("endless"))
    call_id = newest(app)
    said = surface.follow(call_id)
    assert next(said).message == "begun"
    cancellation = surface.cancel(call_id, "enough")
    assert cancellation is not None
    assert cancellation.outcome == "canceled"
    assert [*said] == []
    thread.join(5)
    assert (found[0].status, "enough" in found[0].error.message) == ("canceled", True)
    assert [record.message for record in app.follow(call_id)] == ["begun"]
    assert [*app.follow(call_id, after=1)] == []


def test_a_tool_that_cannot_be_stopped_is_said_to_go_on(app: SyncApp, surface: SyncSurface) -> None:
    thread, found = in_thread(lambda: surface.call("stubborn"))
    call_id = newest(app)
    other = app.surface(principal="bob")
    assert other.cancel(call_id) is None, "a call of somebody else's"
    cancellation = app.cancel(call_id, by="operator", within=0.05)
    assert cancellation is not None
    assert (cancellation.outcome, cancellation.is_supported) == ("requested", False)
    gate.set()
    thread.join(5)
    assert found[0].value == "done"
    assert surface.result(call_id) is not None
    assert other.result(call_id) is None


def test_an_interruption_tells_only_tools_that_allow_it(app: SyncApp, surface: SyncSurface) -> None:
    thread, found = in_thread(lambda: surface.call("endless"))
    call_id = newest(app)
    assert surface.interrupt("stop") == [], "the default of a tool is to block"
    surface.discard([call_id], "the turn was replaced")
    thread.join(5)
    assert found[0].status == "discarded"


def test_stored_results_can_be_read(app: SyncApp, surface: SyncSurface) -> None:
    uri = ended(surface.call("long_text", {"n": 200_000})).native_output_ref
    assert uri is not None
    assert surface.payload(uri, 5, 10) == b"x" * 10
    assert len(app.payload(uri)) == 200_000
    with pytest.raises(PayloadGone):
        app.surface(principal="bob").payload(uri)


def test_it_refuses_to_wait_for_itself(app: SyncApp, surface: SyncSurface) -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match="wait for itself"):
            surface.call("look", {"n": 1})

    app.run(inside())


def test_it_refuses_to_work_when_it_is_closed(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").touch()
    with ferrule.open_sync(tmp_path, tools=[look]) as app:
        surface = app.surface(principal="ann")
        told = surface.stream_many([("look", {"n": 1})])
        assert next(told)
    with pytest.raises(RuntimeError, match="use it inside 'with'"):
        surface.call("look", {"n": 1})
    told.close()  # type: ignore[attr-defined]


INTERRUPTED = '''
import asyncio, sys
import ferrule

@ferrule.tool(destructive=False)
async def endless(context: ferrule.Context) -> str:
    """Never ends by itself."""
    try:
        print("begun", flush=True)
        await asyncio.Event().wait()
    finally:
        print("stopped", flush=True)
    return "never"

with ferrule.open_sync(sys.argv[1], tools=[endless]) as app:
    surface = app.surface(principal="ann")
    try:
        {use}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(surface.call("endless", {{}}, timeout_seconds=0.05).status, flush=True)
'''


@pytest.mark.parametrize(
    "use",
    [
        'surface.call("endless")',
        'surface.call_many([("endless", {}), ("endless", {})])',
        'list(surface.stream_many([("endless", {})]))',
    ],
)
def test_ctrl_c_stops_what_runs_and_leaves_the_app_usable(tmp_path: Path, use: str) -> None:
    (tmp_path / "ferrule.toml").touch()
    (tmp_path / "policy.toml").write_text(ALLOW)
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.format(use=use))
    process = subprocess.Popen([sys.executable, script, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (out.split(), err) == ([b"stopped", b"interrupted", b"begun", b"stopped", b"timed_out"], b"")

    async def outcomes() -> list[str]:
        async with ferrule.open(tmp_path, tends=False) as app:
            rows = await app.store.rows_before(None, 50, kinds=("ended", "call"))
            return sorted({row.outcome for row in rows})

    assert asyncio.run(outcomes()) == ["canceled", "timed_out"]
