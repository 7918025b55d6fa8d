"""Processes that are killed at any moment: nothing that was told is lost, nothing happens twice, nothing is claimed falsely.

FERRULE_SOAK=N kills N processes instead of a score.
"""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

import ferrule
from ferrule.model.journal import LAST_KINDS, StoredEntry
from ferrule.model.result import Result
from tests.faults.place import SOAK, Place, Worker, played, rows_by_call
from tests.faults.worker import ADA

KILLS = max(SOAK, 24)
_WORKERS = 2


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_nothing_told_is_lost_and_nothing_happens_twice(place: Place) -> None:
    """Promises 1, 3, 6 and 7: two processes at a time work on one workspace and are killed, again and again."""
    chance = random.Random(11)
    told: list[list[str]] = []
    for _ in range(KILLS // _WORKERS):
        told += _two_killed(place, chance)
        played(_reopened(place, told))
    assert sum(words[0] == "ended" for words in told) > KILLS, "they died before they did anything"
    assert {"approved", "keyed", "waits"} <= {words[0] for words in told}
    played(_all_settled(place))


def _two_killed(place: Place, chance: random.Random) -> list[list[str]]:
    """Two processes begin together; each dies at a moment of its own, sometimes while it is still opening."""
    workers = [place.start("work", str(number)) for number in range(_WORKERS)]
    told: list[list[str]] = []
    for worker in workers:
        if chance.random() < 0.85:
            worker.hear()
        time.sleep(chance.uniform(0.0, 0.15))  # the moment of death, not a wait for something
        told += worker.kill()
    return told


async def _reopened(place: Place, told: list[list[str]]) -> None:
    """Opening finds what the dead left behind. Then everything has to add up."""
    async with ferrule.open(place.root, tends=False) as app:
        await app.calls.recover()
        open_calls = {call.call: call.state for call in await app.store.open_calls()}
        calls = await rows_by_call(app)
    assert "running" not in open_calls.values(), "a call of a dead process still counts as running"
    _check_told(told, calls, open_calls)
    _check_effects(place, calls, open_calls)
    assert not place.verify().findings


def _check_told(told: list[list[str]], calls: dict[str, list[StoredEntry]], open_calls: dict[str, str]) -> None:
    keyed: dict[str, str] = {}
    for word, call, *more in (words for words in told if len(words) > 1):
        rows = calls.get(call)
        assert rows, f"{word} {call} {more} was told and is lost"
        if word == "ended":
            assert rows[-1].kind in LAST_KINDS and rows[-1].segment().status == more[0], f"{call} was told as {more}"
        elif word == "approved":
            assert any(row.kind == "answered" for row in rows)
        elif word == "waits" and not any(row.kind in ("answered", "started") for row in rows):
            assert open_calls.get(call) == "awaiting_approval", f"{call} waited and does not any more"
        elif word == "keyed":
            assert keyed.setdefault(more[0], call) == call, f"{more[0]} has two answers"


def _check_effects(place: Place, calls: dict[str, list[StoredEntry]], open_calls: dict[str, str]) -> None:
    effects = place.effects()
    assert set(effects.values()) <= {1}, "something happened twice"
    for call in effects:
        rows = calls.get(call, [])
        kinds = [row.kind for row in rows]
        assert "started" in kinds, f"{call} acted without a record before"
        is_known = rows[-1].kind == "ended" and rows[-1].outcome == "succeeded"
        assert is_known or open_calls.get(call) == "needs_input", f"{call} acted, and is {rows[-1].outcome}"
        if rows[-1].tool.endswith("pay"):
            assert "answered" in kinds[: kinds.index("started")], f"{call} acted without an approval"
    for call, rows in calls.items():
        if call and rows[-1].outcome == "succeeded" and not rows[-1].tool.endswith("look"):
            assert call in effects, f"{call} is told as a success and never acted"


async def _all_settled(place: Place) -> None:
    """What waits can still be answered, and what nobody knows can be settled; then nothing is open any more."""
    before = place.effects()
    async with ferrule.open(place.root, tends=False) as app:
        await app.calls.recover()
        inbox = app.inbox(ADA)
        parked = await app.store.open_calls("awaiting_approval")
        results = [(await inbox.approve(call.call)).result for call in parked]
        assert all(isinstance(result, Result) and result.status == "succeeded" for result in results)
        await app.calls.resume_answered()
        for unknown in await app.store.open_calls("needs_input"):
            await inbox.settle(unknown.call, happened=unknown.call in before, note="the log says so")
        assert not await app.store.open_calls()
    after = place.effects()
    assert {call.call for call in parked} <= after.keys()
    assert set(after.values()) == {1}
    assert not place.verify().findings


def test_two_processes_find_the_same_lost_calls(place: Place) -> None:
    """Both ask what happened; one question is left, and neither fails."""
    worker = place.start("obey")
    worker.hear()
    for _ in range(3):
        worker.say("drag")
    _wait_for_effects(place, 1, worker)
    worker.kill()

    async def recover() -> None:
        async with ferrule.open(place.root, tends=False) as one, ferrule.open(place.root, tends=False) as other:
            await asyncio.gather(*(app.calls.recover() for app in (one, other, one, other)))
            (waiting,) = await one.inbox(ADA).pending()
            assert waiting.request.purpose == "outcome"
            rows = await one.store.rows_of(waiting.request.invocation_id)
            assert [row.kind for row in rows] == ["started", "unknown"]

    played(recover())
    assert not place.verify().findings


def _wait_for_effects(place: Place, count: int, worker: Worker) -> None:
    until = time.monotonic() + 20
    while len(place.effects()) < count:
        assert time.monotonic() < until and worker.process.poll() is None
        time.sleep(0.01)
