"""Several real processes on one workspace: switches, approvals and keys hold in all of them at once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import ferrule
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending
from tests.faults.place import Place, ended, played
from tests.faults.worker import ADA


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_off_switch_holds_everywhere_at_once(place: Place) -> None:
    """`ferrule disable` in one process: the very next call of another is refused, and what waited there has ended."""
    worker = place.start("obey")
    assert worker.hear() == ["open"]
    worker.say("pay")
    waits = worker.hear()
    worker.say("act")
    assert worker.hear()[2] == "succeeded"
    for tool in ("act", "pay"):
        code, _, err = place.ferrule("disable", tool, "--reason", "an incident")
        assert code == 0, err
    for _ in range(3):
        worker.say("act")
        assert worker.hear()[2:4] == ["denied", "policy_blocked"]
    assert place.ferrule("enable", "act")[0] == 0
    worker.say("act")
    assert worker.hear()[2] == "succeeded"
    worker.say("")
    worker.finish()
    rows = _rows(place, waits[1])
    assert [(row.kind, row.outcome) for row in rows] == [("parked", "awaiting_approval"), ("ended", "blocked")]
    assert place.ferrule("approve", waits[1])[0] == 2, "what was ended by the switch could still be approved"
    assert len(place.effects()) == 2


def test_an_approval_given_elsewhere_runs_a_waiting_call_once(place: Place) -> None:
    """`ferrule call --wait` in one process, `ferrule approve` in another."""
    waiting = place.command("call", "pay", "--input", '{"n": 1}', "--wait", "30", "--json")
    call = _parked(place)
    code, _, err = place.ferrule("approve", call)
    assert code == 0, err
    code, out, err = ended(waiting)
    assert code == 0, err
    record = json.loads(out)
    assert (record["invocation_id"], record["status"]) == (call, "succeeded")
    assert place.effects() == {call: 1}
    assert [row.kind for row in _rows(place, call)] == ["parked", "answered", "started", "ended"]


def test_whoever_waits_runs_what_was_approved_without_waiting(place: Place) -> None:
    waiting = place.command("call", "pay", "--input", '{"n": 1}', "--wait", "30", "--json")
    call = _parked(place)
    assert place.ferrule("approve", call, "--no-wait")[0] == 0
    code, out, err = ended(waiting)
    assert code == 0, err
    assert json.loads(out)["status"] == "succeeded"
    assert place.effects() == {call: 1}


def test_an_approved_call_is_taken_up_by_one_process(place: Place) -> None:
    calls = played(_approved(place, 20))
    workers = [place.start("race", str(number)) for number in range(2)]
    for worker in workers:
        assert worker.hear() == ["open"]
    for worker in workers:
        worker.say("go")
    for worker in workers:
        assert worker.finish()[-1] == ["closed"]
    assert place.effects() == dict.fromkeys(calls, 1)
    for call in calls:
        kinds = [row.kind for row in _rows(place, call)]
        assert kinds == ["parked", "answered", "started", "ended"]
    assert not place.verify().findings


def test_one_key_is_one_effect_in_all_processes(place: Place) -> None:
    workers = [place.start("same_key", str(number)) for number in range(2)]
    for worker in workers:
        assert worker.hear() == ["open"]
    for worker in workers:
        worker.say("go")
    answers = [[words for words in worker.finish() if words[0] == "ended"] for worker in workers]
    assert len(answers[0]) == 20 and answers[0] == answers[1], "the same key gave two answers"
    assert place.effects() == {words[1]: 1 for words in answers[0]}


def test_two_people_approve_with_their_tokens(place: Place) -> None:
    """And one person with two tokens is one person; the agents' token approves nothing."""
    tokens = {}
    for name, person in (("ada", "ada"), ("ada's phone", "ada"), ("bob", "bob")):
        code, out, err = place.ferrule("token", "add", person, "--scope", "approve")
        assert code == 0, err
        tokens[name] = out.strip()
    code, out, _ = place.ferrule("call", "wire", "--input", '{"n": 1}', "--json")
    assert code == 3
    call = json.loads(out)["invocation_id"]
    agents = (place.root / ".ferrule" / "keys" / "agent.token").read_text().strip()
    assert place.ferrule("approve", call, token=agents)[0] == 2
    assert place.ferrule("approve", call, token=tokens["ada"])[0] == 3
    assert place.ferrule("approve", call, token=tokens["ada's phone"])[0] == 2
    assert not place.effects()
    assert place.ferrule("approve", call, token=tokens["bob"])[0] == 0
    assert place.effects() == {call: 1}
    assert place.ferrule("approve", call, token=tokens["bob"])[0] == 2
    assert not place.verify().findings


def test_the_token_that_called_cannot_approve(place: Place) -> None:
    """Even when it holds the approve scope: the channel that made a call never answers it."""
    code, out, err = place.ferrule("token", "add", "eve", "--scope", "call", "--scope", "approve")
    assert code == 0, err
    token = out.strip()
    code, out, _ = ended(place.command("call", "pay", "--input", '{"n": 1}', "--json", token=token))
    assert code == 3
    call = json.loads(out)["invocation_id"]
    code, _, err = place.ferrule("approve", call, token=token)
    assert code == 2 and "made the call" in err
    assert not place.effects()


def _parked(place: Place) -> str:
    """The call that waits, as soon as one does."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        code, out, _ = place.ferrule("pending", "--json")
        found = json.loads(out) if code == 0 and out else []
        if found:
            return str(found[0]["invocation_id"])
    raise AssertionError("nothing ever waited")


async def _approved(place: Place, count: int) -> list[str]:
    async with ferrule.open(place.root, tends=False) as app:
        surface = app.surface(principal="alice", channel="token:agent")
        calls = []
        for number in range(count):
            pending = await surface.call("pay", {"n": number})
            assert isinstance(pending, Pending)
            await app.inbox(ADA).approve(pending.invocation_id, resume=False)
            calls.append(pending.invocation_id)
        return calls


def _rows(place: Place, call: str) -> list[StoredEntry]:
    async def opened() -> list[StoredEntry]:
        async with ferrule.open(place.root, tends=False) as app:
            return await app.store.rows_of(call)

    return played(opened())
