"""`ferrule cancel`: calls in other processes stop, and what does not stop is not said to have."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.longer import Running, Terminal
from tests.cli.run import Ran, ferrule


def token(folder: Path, name: str, *scopes: str) -> dict[str, str]:
    words = [word for scope in scopes for word in ("--scope", scope)]
    made = ferrule("token", "add", name, *words, folder=folder)
    found = re.search(r"frl_\S+", made.out + made.err)
    assert found, made
    return {"FERRULE_TOKEN": found.group()}


def cancel(folder: Path, *words: str, environment: dict[str, str] | None = None) -> Ran:
    return ferrule("cancel", *words, folder=folder, environment=environment)


def test_a_call_in_another_process_is_canceled(longer: Path) -> None:
    """AT-206, AT-207: who asked, why, that it was heard and how it ended are on record."""
    running = Running("call", "endless", "--follow", folder=longer)
    canceled = cancel(longer, running.call_id(), "--reason", "wrong customer")
    assert (canceled.code, canceled.out) == (0, f"{running.call_id()}  canceled: it was canceled\n"), canceled.err
    assert running.ended() == 1
    assert "canceled: " in running.err
    assert "wrong customer" in running.err
    story = ferrule("explain", "last", folder=longer).out
    assert re.search(r"requested +\S+ \S+ by \S+, user interruption: wrong customer", story), story
    assert "acknowledged" in story


def test_a_tool_that_goes_on_is_not_said_to_be_canceled(longer: Path, tmp_path: Path) -> None:
    """AT-206, AT-207: requested without acknowledged; asked too late, that is said too."""
    gate = tmp_path / "gate"
    running = Running("call", "stubborn", "--gate", str(gate), "--follow", folder=longer)
    running.until("begun")
    asked = cancel(longer, running.call_id(), "--wait", "0.5")
    assert asked.code == 1
    assert "not stopped yet: its process was told; the call ends when its tool does" in asked.out
    assert f"ferrule follow {running.call_id()}" in asked.out
    gate.touch()
    assert (running.ended(), running.out) == (0, "it was done\n")
    too_late = cancel(longer, "last", "--json")
    assert (too_late.code, json.loads(too_late.out)["outcome"]) == (1, "cancel_failed")
    assert "it had ended already (succeeded)" in cancel(longer, "last").out


def test_a_call_that_waits_for_a_person_ends_at_once(longer: Path) -> None:
    """AT-209."""
    assert ferrule("call", "asks", folder=longer).code == 3
    canceled = cancel(longer, "last")
    assert (canceled.code, "it was waiting, and is canceled" in canceled.out) == (0, True), canceled.err
    assert "nothing waits" in ferrule("pending", folder=longer).out
    assert ferrule("approve", "last", folder=longer).code == 2


def test_an_id_may_be_shortened_and_has_to_be_known(longer: Path) -> None:
    assert cancel(longer, "last").code == 2, "there is no ledger yet"
    ferrule("call", "asks", folder=longer)
    unknown = cancel(longer, "inv_0000")
    assert (unknown.code, "there is no call 'inv_0000'" in unknown.err) == (2, True)
    call_id = json.loads(ferrule("pending", "--json", folder=longer).out)[0]["invocation_id"]
    assert cancel(longer, call_id[:20]).code == 0


def test_a_token_cancels_only_calls_of_its_own_person(longer: Path) -> None:
    lena, tom = token(longer, "lena", "call"), token(longer, "tom", "call")
    judge, chief = token(longer, "judith", "approve"), token(longer, "carla", "admin")
    assert ferrule("call", "asks", folder=longer, environment=lena).code == 3
    for_tom = cancel(longer, "last", environment=tom)
    assert (for_tom.code, "there is no call 'last' of tom" in for_tom.err) == (2, True), for_tom.err
    refused = cancel(longer, "last", environment=judge)
    assert (refused.code, "neither the call scope" in refused.err) == (2, True), refused.err
    assert ferrule("pending", "--json", folder=longer).out != "[]\n", "it still waits"
    assert cancel(longer, "last", environment=lena).code == 0
    ferrule("call", "asks", folder=longer, environment=lena)
    assert cancel(longer, "last", environment=chief).code == 0
    ferrule("call", "asks", folder=longer, environment=tom)
    assert cancel(longer, "last").code == 0, "the owner"


def test_a_spinner_turns_while_a_person_waits(longer: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    running = Running("call", "stubborn", "--gate", str(gate), "--follow", folder=longer)
    running.until("begun")
    terminal = Terminal("cancel", running.call_id(), "--wait", "0.5", folder=longer)
    assert terminal.ended() == 1
    assert f"waiting for {running.call_id()} to stop" in terminal.shown
    gate.touch()
    assert running.ended() == 0


def test_seconds_are_seconds(longer: Path) -> None:
    assert cancel(longer, "last", "--wait", "nan").code == 2
    assert cancel(longer, "last", "--wait", "-1").code == 2
