"""`ferrule call --follow` and `ferrule follow`: progress as it comes, in any process, and Ctrl-C that asks first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.longer import Running, Terminal
from tests.cli.run import ferrule


def test_without_a_terminal_every_record_is_a_line_and_the_result_is_alone(longer: Path) -> None:
    ran = ferrule("call", "steps", "--count", "2", "--follow", folder=longer)
    assert (ran.code, json.loads(ran.out)) == (0, {"count": 2}), ran.err
    first, *lines = ran.err.splitlines()
    call_id = first.split(";")[0]
    assert first == f"{call_id}; from elsewhere: ferrule follow {call_id}, ferrule cancel {call_id}"
    assert [line.strip().split("  ", 1)[1] for line in lines] == [
        "running, 50%, step 1 of 2: at step 1",
        "partial result: part 1",
        "running, 100%, step 2 of 2: at step 2",
        "partial result: part 2",
    ]


def test_json_lines_are_the_standards_records(longer: Path) -> None:
    """AT-197: each with its id, its number, its time and its status."""
    ran = ferrule("call", "steps", "--count", "2", "--follow", "--json", folder=longer)
    result = json.loads(ran.out)
    begun, *records = map(json.loads, ran.err.splitlines())
    assert begun == {"invocation_id": result["invocation_id"]}
    assert [record["sequence"] for record in records] == [1, 2, 3, 4]
    assert [record["status"] for record in records] == ["running", "partial_result"] * 2
    assert all(record["progress_id"].startswith("prg_") and record["timestamp"].endswith("Z") for record in records)
    assert (records[1]["content"], records[2]["percent"]) == ([{"type": "text", "text": "part 1"}], 100)
    assert "batch" not in ferrule("explain", "last", folder=longer).out, "one call is no batch"


def test_what_a_tool_says_cannot_play_tricks_with_a_terminal(longer: Path) -> None:
    words = ("call", "endless", "--message", "\x1b[2Jgone [bold]not markup[/bold]", "--follow")
    running = Running(*words, folder=longer)
    running.until("not markup")
    watched = Terminal("follow", running.call_id(), folder=longer)
    shown = watched.until("[bold]not markup[/bold]")
    assert "gone" in shown
    assert b"\x1b[2Jgone" not in watched.raw
    assert "\x1b" not in running.err
    running.interrupt()
    assert running.ended() == 1
    assert watched.ended() == 1


def test_a_call_is_followed_from_another_process_from_any_record_on(longer: Path) -> None:
    """AT-198, AT-199: without gaps, in order, and the rest for whoever was cut off."""
    running = Running("call", "steps", "--count", "30", "--pause", "0.05", "--follow", folder=longer)
    call_id = running.call_id()
    followed = Running("follow", call_id, "--json", folder=longer)
    late = Running("follow", call_id[:-2], "--after", "10", "--json", folder=longer)
    assert running.ended() == followed.ended() == 0
    begun, *records = map(json.loads, followed.err.splitlines())
    assert (begun["invocation_id"], json.loads(followed.out)["structured_content"]) == (call_id, {"count": 30})
    assert [record["sequence"] for record in records] == [*range(1, 61)]
    if late.ended() == 0:  # it may have looked before the shortened id could be found
        assert [json.loads(line)["sequence"] for line in late.err.splitlines()[1:]] == [*range(11, 61)]
    again = ferrule("follow", "last", "--after", "58", folder=longer)
    assert (again.code, json.loads(again.out)) == (0, {"count": 30})
    assert [line.strip().split("  ", 1)[1] for line in again.err.splitlines()[1:]] == [
        "running, 100%, step 30 of 30: at step 30",
        "partial result: part 30",
    ]


def test_a_bar_shows_how_far_it_is_and_goes_away(longer: Path) -> None:
    terminal = Terminal("call", "steps", "--count", "4", "--pause", "0.15", "--follow", folder=longer)
    assert terminal.ended() == 0
    shown = terminal.shown
    assert "step 2 of 4" in shown
    assert "50%" in shown
    assert "━" in shown
    assert "part 3" in shown
    assert shown.rstrip().endswith('"count": 4\r\n}')
    assert b"\x1b[?25h" in terminal.raw, "the cursor is back"


def test_bytes_and_lines_are_shown_and_what_a_tool_prints_stands_above(longer: Path) -> None:
    terminal = Terminal("call", "endless", "--follow", folder=longer, COLUMNS="120")
    terminal.until("1.5 MB read, 7 lines")
    terminal.until("a word of the tool")
    terminal.type(b"\x03")
    shown = terminal.until("canceled: the call was canceled")
    assert "asked to stop; Ctrl-C again leaves without waiting" in shown
    assert terminal.ended() == 1
    assert "interrupted with Ctrl-C" in ferrule("explain", "last", folder=longer).out


def test_a_dumb_terminal_gets_lines(longer: Path) -> None:
    terminal = Terminal("call", "steps", "--follow", folder=longer, TERM="dumb")
    assert terminal.ended() == 0
    assert "\x1b" not in terminal.raw.decode()
    assert "step 3 of 3: at step 3" in terminal.shown


def test_ctrl_c_asks_and_tells_that_a_tool_cannot_be_stopped(longer: Path, tmp_path: Path) -> None:
    """AT-205, AT-207: asked is not stopped, and the real result is delivered."""
    gate = tmp_path / "gate"
    running = Running("call", "stubborn", "--gate", str(gate), "--follow", folder=longer)
    running.until("begun")
    running.interrupt()
    running.until("not stopped yet: its tool cannot be stopped; the call ends when the tool does; waiting for it")
    gate.touch()
    assert running.ended() == 0, "what really happened is the result"
    assert running.out == "it was done\n"


def test_a_second_ctrl_c_leaves_and_the_record_stays_honest(longer: Path, tmp_path: Path) -> None:
    running = Running("call", "stubborn", "--gate", str(tmp_path / "gate"), "--follow", "--json", folder=longer)
    call_id = running.call_id()
    running.until("begun")
    running.interrupt()
    running.until('"cancel_requested"')
    running.interrupt()
    assert running.ended() == 130
    assert json.loads(running.err.splitlines()[-1]) == {"left": call_id}
    followed = ferrule("follow", call_id, folder=longer)
    assert (followed.code, "the process that had it is gone" in followed.err) == (3, True), followed.err
    assert "it is not known whether it acted" in ferrule("pending", folder=longer).out
    assert ferrule("follow", call_id, folder=longer).code == 3


def test_whoever_stops_following_does_not_stop_the_call(longer: Path) -> None:
    running = Running("call", "endless", "--follow", folder=longer)
    followed = Running("follow", running.call_id(), folder=longer)
    followed.until("begun")
    followed.interrupt()
    assert followed.ended() == 130
    running.interrupt()
    assert running.ended() == 1
    assert "canceled: the call was canceled: interrupted with Ctrl-C" in running.err


@pytest.mark.parametrize("words", [(), ("--follow",)])
def test_a_call_in_the_background_keeps_its_process(longer: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    gate = tmp_path / "gate"
    running = Running("call", "later", "--gate", str(gate), *words, folder=longer)
    if words:
        running.until("the printer was told")
    gate.touch()
    assert (running.ended(), running.out) == (0, "printed\n"), running.err


def test_following_says_what_a_call_waits_for_or_stays(longer: Path) -> None:
    """AT-199: the same numbers go on after the wait."""
    waiting = ferrule("call", "asks", "--follow", folder=longer)
    assert waiting.code == 3
    said = ferrule("follow", "last", folder=longer)
    assert (said.code, "waiting: it waits for an approval" in said.err) == (3, True), said.err
    staying = Running("follow", "last", "--wait", "20", folder=longer)
    staying.until("it waits for an approval")
    assert ferrule("approve", staying.call_id(), folder=longer).code == 0
    assert (staying.ended(), staying.out) == (0, "allowed\n"), staying.err
    assert "approved and begun" in staying.err


def test_a_call_that_waits_is_followed_on_when_it_was_approved(longer: Path) -> None:
    running = Running("call", "asks", "--wait", "20", "--follow", folder=longer)
    call_id = running.call_id()
    Running("follow", call_id, folder=longer).ended()  # once it is in the ledger
    approved = ferrule("approve", call_id, "--no-wait", folder=longer)
    assert approved.code == 0, approved.err
    assert (running.ended(), running.out) == (0, "allowed\n"), running.err
    assert "approved and begun" in running.err


def test_what_is_not_there_cannot_be_followed(longer: Path) -> None:
    assert ferrule("follow", "last", folder=longer).code == 2
    ferrule("call", "add", "--a", "1", "--b", "2", folder=longer)
    assert "there is no call 'inv_ffff'" in ferrule("follow", "inv_ffff", folder=longer).err
    assert ferrule("follow", "last", "--after", "-1", folder=longer).code == 2
    ended = ferrule("follow", "last", folder=longer)
    assert (ended.code, ended.out) == (0, "3\n")
