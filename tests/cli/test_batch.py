"""`ferrule batch`: mistakes with their lines, states on the way, results in order, Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.longer import Running, Terminal
from tests.cli.run import Ran, ferrule

YAML = """
# what to add
- name: add
  arguments: {a: 1, b: 2}
- [add, {a: 3, b: 4}]
"""


def batch(folder: Path, *words: str, stdin: str = "") -> Ran:
    return ferrule("batch", *words, folder=folder, stdin=stdin)


def records(ran: Ran) -> list[dict[str, object]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_results_come_in_call_order(longer: Path) -> None:
    """AT-165, AT-166: progress at once, results in order, unless both policies permit any."""
    ran = batch(longer, "-", stdin=YAML)
    assert (ran.code, ran.out) == (0, "0  add  succeeded  3\n1  add  succeeded  7\n"), ran.err
    assert "0  add  succeeded" in ran.err
    calls = "- {id: slow, name: steps, arguments: {count: 4, pause: 0.05}}\n- [add, {a: 1, b: 2}]\n- [fails, {why: no money}]\n"
    ran = batch(longer, "-", "--json", stdin=calls)
    assert ran.code == 1
    assert [record["index"] for record in records(ran)] == [0, 1, 2]
    assert [record["status"] for record in records(ran)] == ["succeeded", "succeeded", "failed"]
    assert [record["id"] for record in records(ran)] == ["slow", "1", "2"]
    ran = batch(longer, "-", stdin=calls)
    assert ran.out.splitlines()[2] == "2  fails  failed     no money"
    assert "0  steps  running, 25%, step 1 of 4: at step 1" in ran.err
    calls = "- {name: steps, arguments: {count: 9, pause: 0.05}}\n- {name: steps, arguments: {count: 1}}\n"
    any_order = batch(longer, "-", "--json", "--ordering", "allow_unordered", stdin=calls)
    assert [record["index"] for record in records(any_order)] == [1, 0]


def test_what_a_failure_does_to_others_is_said_in_the_file_or_on_the_line(longer: Path) -> None:
    """AT-167, AT-170, AT-171, AT-173."""
    calls = [["fails", {"why": "no"}], ["fails", {"why": "no"}], ["add", {"a": 1, "b": 2}]]
    text = json.dumps(
        {"calls": calls, "policy": {"sibling_failure_policy": "cancel_siblings", "ordering_policy": "serial"}}
    )
    told = [record["status"] for record in records(batch(longer, "-", "--json", stdin=text))]
    assert told == ["failed", "synthetic_error", "synthetic_error"]
    told = [
        record["status"] for record in records(batch(longer, "-", "--json", "--sibling-policy", "ignore", stdin=text))
    ]
    assert told == ["failed", "failed", "succeeded"]


def test_calls_wait_for_those_they_depend_on(longer: Path) -> None:
    calls = """
- {name: add, arguments: {a: 1, b: 2}, depends_on: [first]}
- {id: first, name: steps, arguments: {count: 2}}
"""
    ran = batch(longer, "-", "--json", stdin=calls)
    assert ran.code == 0, ran.err
    story = ferrule("explain", str(records(ran)[0]["invocation_id"]), folder=longer).out
    assert "number 0 of 2" in story
    assert "when those before it had ended" in story


def test_one_that_waits_for_a_person_is_said_to_wait(longer: Path) -> None:
    ran = batch(longer, "-", stdin="- asks\n- [add, {a: 1, b: 2}]\n")
    assert ran.code == 1
    waiting, done = ran.out.splitlines()
    assert waiting.startswith("0  asks  waiting for approval  inv_")
    assert done.endswith("succeeded             3")
    refused = batch(longer, "-", "--non-interactive", "--json", stdin="- asks\n")
    assert records(refused)[0]["is_error"]
    running = Running("batch", str(_file(longer, "- asks\n")), "--wait", "20", "--json", folder=longer)
    waiting_id = ""
    while not waiting_id:
        pending = json.loads(ferrule("pending", "--json", folder=longer).out)
        waiting_id = pending[-1]["invocation_id"] if len(pending) == 2 else ""
    assert ferrule("approve", waiting_id, folder=longer).code == 0
    assert running.ended() == 0, running.err
    assert json.loads(running.out)["content"][0]["text"] == "allowed"


def _file(folder: Path, text: str) -> Path:
    file = folder.parent / "calls.yaml"
    file.write_text(text)
    return file


def test_a_call_in_the_background_keeps_the_order_of_results(longer: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    calls = [["add", {"a": 0, "b": 0}], ["later", {"gate": str(gate)}], ["add", {"a": 1, "b": 2}]]
    running = Running("batch", str(_file(longer, json.dumps(calls))), "--json", folder=longer)
    gate.touch()
    assert running.ended() == 0, running.err
    assert [json.loads(line)["content"][0]["text"] for line in running.out.splitlines()] == ["0", "printed", "3"]


MISTAKES = """calls:
  - nme: add
  - [add, 7]
  - name: add
    arguments: [1]
    timeout_seconds: soon
  - tool: add
policy:
  max_parallel: 0
  sibling_failure_polcy: ignore
call: []
"""


def test_every_mistake_is_told_with_its_line_and_no_call_is_made(longer: Path) -> None:
    (longer.parent / "calls.yaml").write_text(MISTAKES)
    ran = batch(longer, "../calls.yaml")
    assert (ran.code, ran.out) == (2, "")
    told = [line.removeprefix("../calls.yaml:") for line in ran.err.splitlines()[1:]]
    assert told == ["11:1: a batch has no 'call'; did you mean 'calls'?"]
    (longer.parent / "calls.yaml").write_text(MISTAKES.replace("call: []\n", ""))
    told = [line.removeprefix("../calls.yaml:") for line in batch(longer, "../calls.yaml").err.splitlines()[1:]]
    expected = {
        "2": "a call has no 'nme'; did you mean 'name'?",
        "3": "this is no call",
        "5": "`arguments` is a mapping",
        "6": "`timeout_seconds` cannot be used",
        "7": "did you mean 'name'?",
        "9": "`max_parallel` cannot be used",
        "10": "did you mean 'sibling_failure_policy'?",
    }
    assert [line.split(":")[0] for line in told] == [*expected]
    for line, words in zip(told, expected.values(), strict=True):
        assert words in line
    assert ferrule("log", folder=longer).out in ("no calls found\n", "")


def test_what_cannot_be_run_at_all(longer: Path) -> None:
    assert "cannot be read" in batch(longer, "nowhere.yaml").err
    circle = batch(longer, "-", stdin="- {name: add, depends_on: [1]}\n- {name: add, depends_on: [0]}\n")
    assert (circle.code, "in a circle" in circle.err) == (2, True)
    assert batch(longer, "-", "--sibling-policy", "panic", stdin="[]").code == 2
    help_text = ferrule("batch", "--help", folder=longer).out
    assert "ferrule batch calls.yaml" in help_text
    assert "depends_on: [0]" in help_text


def test_ctrl_c_asks_every_call_to_stop(longer: Path) -> None:
    """AT-173, AT-208: as many results as calls."""
    calls = _file(longer, "- [add, {a: 1, b: 2}]\n- endless\n- endless\n")
    running = Running("batch", str(calls), folder=longer)
    running.until("begun")
    running.interrupt()
    assert running.ended() == 1
    assert "asked every call to stop" in running.err
    assert [line.split()[2] for line in running.out.splitlines()] == ["succeeded", "canceled", "canceled"]


def test_a_second_ctrl_c_leaves(longer: Path, tmp_path: Path) -> None:
    calls = _file(longer, json.dumps([["stubborn", {"gate": str(tmp_path / "gate")}]]))
    running = Running("batch", str(calls), folder=longer)
    running.until("begun")
    running.interrupt()
    running.until("its tool cannot be stopped")
    running.interrupt()
    assert running.ended() == 130
    assert "left without waiting" in running.err


def test_on_a_terminal_each_call_has_a_line(longer: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    calls = [["stubborn", {"gate": str(gate)}], ["fails", {"why": "no"}], *[["add", {"a": 1, "b": 2}]] * 60, "asks"]
    terminal = Terminal("batch", str(_file(longer, json.dumps(calls))), folder=longer, COLUMNS="100", LINES="12")
    terminal.until("0  stubborn running              begun")
    terminal.until("1  fails    queued")
    terminal.until("62  asks     waiting for approval")
    terminal.until("and 54 more")
    gate.touch()
    assert terminal.ended() == 1
    lines = terminal.shown.splitlines()
    assert any(line.startswith(" 1  fails     failed") for line in lines)
    assert any(line.startswith("62  asks      waiting for approval") for line in lines)
    assert all(len(line) <= 100 for line in lines[-63:])
