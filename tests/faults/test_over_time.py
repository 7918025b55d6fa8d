"""Calls that take long, seen and stopped from other processes, and processes that end while they run."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ferrule
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.result import Pending, Result
from tests.faults.place import Place, Worker, ended, played, rows_by_call
from tests.journeys.promises import check_lives

_FUNCTIONS = '''
import asyncio

GO = Path(__file__).with_name("go")


async def until_told() -> None:
    while not GO.exists():
        await asyncio.sleep(0.005)


@ferrule.tool(read_only=True, concurrency_safe=True)
async def count(n: int, context: ferrule.Context) -> int:
    """Say so many things, then wait until it may end, and say one more."""
    for number in range(n):
        context.progress(f"{number}", percent=100 * number / n)
        if not number % 50:
            await asyncio.sleep(0.001)
    await until_told()
    context.progress("at last")
    return n


@ferrule.tool(read_only=True, concurrency_safe=True)
async def watch(n: int) -> int:
    """Wait, and say nothing."""
    await until_told()
    return n


@ferrule.tool(concurrency_safe=True)
async def work(n: int, context: ferrule.Context) -> dict[str, str]:
    """Act, then wait."""
    given = happen(context)
    context.progress("acted")
    await until_told()
    return given


@ferrule.tool(concurrency_safe=True)
def toil(n: int, context: ferrule.Context) -> dict[str, str]:
    """Act in a thread, which nothing can stop."""
    given = happen(context)
    context.progress("acted")
    while not GO.exists():
        time.sleep(0.005)
    return given


@ferrule.tool(concurrency_safe=True)
async def depart(n: int, context: ferrule.Context) -> dict[str, str]:
    """Act, and go on in the background."""
    given = happen(context)
    context.to_background("t1", "goes on")
    await until_told()
    return given


@ferrule.tool(read_only=True, concurrency_safe=True)
async def wander(n: int, context: ferrule.Context) -> int:
    """Go on in the background; only reads."""
    context.to_background("t2", "goes on")
    await until_told()
    return n
'''
ADA = Identity("ada", "token:ada", frozenset({APPROVE, ADMIN}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, functions=_FUNCTIONS)


def let_go(place: Place) -> None:
    """Every tool may end."""
    (place.root / "go").touch()


def opened(place: Place, work: str, name: str = "-") -> Worker:
    worker = place.start(work, name)
    assert worker.hear() == ["open"]
    return worker


def begun(worker: Worker, tool: str, number: int = 1) -> str:
    worker.say(f"{tool} {number}")
    while (words := worker.hear())[0] != "begun":
        pass  # another one has ended
    return words[1]


def checked(place: Place) -> None:
    """Every call had one legal life, and the audit finds nothing."""

    async def check() -> None:
        async with ferrule.open(place.root, tends=False) as app:
            check_lives(await app.store.rows_after(0, 100_000))

    played(check())
    assert not place.verify().findings


def until(condition: Callable[[], object]) -> None:
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it never came about")


def test_progress_is_followed_from_another_process(place: Place) -> None:
    """AT-198, AT-199: from any number on, while the call runs and after it has ended: exactly the rest, in order."""
    said = 600
    one, other = opened(place, "begin"), opened(place, "follow")
    call = begun(one, "count", said)
    until_running(place)
    other.say(f"{call} 0")
    first: list[int] = []
    while len(first) < said:  # all that it says before it waits; written down within a moment, not when it ends
        word, number = other.hear()
        assert word == "said"
        first.append(int(number))
    let_go(place)
    while (words := other.hear())[0] != "over":
        first.append(int(words[1]))
    assert first == list(range(1, said + 2))
    for after in (0, 1, 299, said, said + 1, 10_000):
        other.say(f"{call} {after}")
        rest = []
        while (words := other.hear())[0] != "over":
            rest.append(int(words[1]))
        assert rest == list(range(after + 1, said + 2))
    for worker in (one, other):
        worker.say("")
        assert worker.finish()[-1] == ["closed"]
    checked(place)


@pytest.mark.parametrize("tool", ["watch", "work", "wander", "toil"])
def test_a_call_is_canceled_from_another_process(place: Place, tool: str) -> None:
    """AT-206, AT-207: what only reads, once it takes long; what acts, at once; a thread is told, and goes on."""
    one, other = opened(place, "begin"), opened(place, "cancel")
    call = begun(one, tool)
    if tool == "toil":  # a thread that has not begun is canceled like anything else
        until(place.effects)
    until(lambda: _answered(other, f"{call} 0") != ["cancel", "unknown", "-"])
    words = _answered(other, f"{call} {0.3 if tool == 'toil' else 5}")
    if tool == "toil":
        assert words == ["cancel", "requested", "running"]
        let_go(place)
    else:
        assert words in (["cancel", "canceled", "canceled"], ["cancel", "cancel_failed", "canceled"])  # asked before
    one.say("")
    told = [line for line in one.finish() if line[0] == "ended"]
    assert told[-1][1:3] == [call, "succeeded" if tool == "toil" else "canceled"]
    other.say("")
    other.finish()

    async def news() -> list[str]:
        async with ferrule.open(place.root, tends=False) as app:
            return [row.outcome for row in await app.store.news_of(call) if row.outcome != "progress"]

    found = played(news())
    assert found[0] == "cancel_requested" and ("cancel_failed" if tool == "toil" else "cancel_acknowledged") in found
    checked(place)


def _answered(worker: Worker, line: str) -> list[str]:
    worker.say(line)
    return worker.hear()


def test_a_process_that_dies_leaves_nothing_in_doubt_but_its_actions(place: Place) -> None:
    """AT-105, AT-198: what only read is ended; whether an action happened, somebody has to say; numbers go on."""
    worker = opened(place, "begin")
    calls = {tool: begun(worker, tool) for tool in ("count", "watch", "work", "toil", "depart", "wander")}
    until_running(place, len(calls))
    until(lambda: len(place.effects()) == 3)  # that it runs is written down before it acts
    worker.kill()
    found = played(_recovered(place, calls))
    for tool in ("count", "watch", "wander"):
        assert (found[tool].status, found[tool].error.error_code) == ("failed", "interrupted"), tool
    for tool in ("work", "toil", "depart"):
        assert isinstance(found[tool], Pending) and found[tool].state == "needs_input", tool
    assert place.effects().keys() == {calls[tool] for tool in ("work", "toil", "depart")}
    checked(place)


def until_running(place: Place, number: int = 1) -> None:
    """Wait until so many calls run, as another process sees them."""

    async def look() -> None:
        async with ferrule.open(place.root, tends=False) as app:
            while len(await app.store.open_calls("running")) < number:
                await asyncio.sleep(0.02)

    played(look())


async def _recovered(place: Place, calls: dict[str, str]) -> dict[str, Any]:
    async with ferrule.open(place.root, tends=False) as app:
        await app.calls.recover()
        found = {tool: await app.result(call) for tool, call in calls.items()}
        for call in calls.values():
            async for _ in app.follow(call):
                break  # whatever it said is there
        told = await app.cancel(calls["work"], by="ada", within=0)
        assert told is not None and told.outcome == "cancel_failed", "nobody knows whether it acted"
        settled = await app.inbox(ADA).settle(calls["toil"], happened=True, note="I looked")
        assert isinstance(settled, Result) and settled.status == "partial_succeeded"
        assert "running" not in {call.state for call in await app.store.open_calls()}
        return found


def test_a_process_that_closes_gives_every_call_a_result(place: Place) -> None:
    """AT-208: hundreds that wait for their turn, and one that runs; all end for the same reason, and what ran in a thread is
    the only thing in doubt."""
    worker = opened(place, "begin", "leave")
    calls = [begun(worker, "act", 0)]
    blocking = begun(worker, "work", 0)
    queued = [begun(worker, "pay" if number % 40 == 39 else "act", number) for number in range(200)]
    worker.say("")
    worker.finish()
    assert worker.process.returncode == 0

    async def ends() -> dict[str, Any]:
        async with ferrule.open(place.root, tends=False) as app:
            return {call: rows[-1] for call, rows in (await rows_by_call(app)).items()}

    found = played(ends())
    for call in (*calls, blocking, *queued):
        row = found[call]
        reason = row.segment().notes.get("abort_reason")
        assert (row.outcome, reason) in [
            ("canceled", "runtime_shutdown"),
            ("succeeded", None),
            ("awaiting_approval", None),
        ]
    assert found[blocking].outcome == "canceled"
    checked(place)


@pytest.mark.parametrize(
    ("tool", "follow"), [("watch", ()), ("work", ("--follow",)), ("toil", ()), ("wander", ("--follow",))]
)
def test_a_command_that_is_told_to_end_tells_its_call(place: Place, tool: str, follow: tuple[str, ...]) -> None:
    """AT-208: SIGTERM. What can stop is canceled; a thread leaves somebody to find out."""
    command = place.command("call", tool, "--n", "1", "--json", *follow)
    try:
        until_running(place)
        if tool == "toil":  # a thread that has not begun never does
            until(place.effects)
    finally:
        command.send_signal(signal.SIGTERM)
    code, out, err = ended(command)
    if tool == "toil":
        assert code == 143 and "Traceback" not in err, err
        let_go(place)
        assert _states(place) == ["running"]
    else:
        assert code == 1, (code, err)
        result = msgspec.json.decode(out)
        assert (result["status"], result["abort_reason"]) == ("canceled", "runtime_shutdown")
        assert not _states(place)
    checked(place)


def _states(place: Place) -> list[str]:
    async def look() -> list[str]:
        async with ferrule.open(place.root, tends=False) as app:
            return [call.state for call in await app.store.open_calls()]

    return played(look())


def test_a_batch_that_is_told_to_end_tells_its_calls(place: Place) -> None:
    """AT-208"""
    (place.root / "batch.json").write_text(
        '[{"name": "work", "arguments": {"n": 1}}, {"name": "act", "arguments": {"n": 2}}]'
    )
    command: subprocess.Popen[bytes] = place.command("batch", "batch.json", "--json")
    try:
        until_running(place)
    finally:
        command.send_signal(signal.SIGTERM)
    code, out, err = ended(command)
    assert code != 0 and "Traceback" not in err, (code, err)
    assert out.count("runtime_shutdown") == 2, out
    assert not _states(place)
    checked(place)
