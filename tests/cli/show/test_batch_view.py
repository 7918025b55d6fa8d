"""How a batch is watched and told: a line for each change, and the results one under the other."""

from __future__ import annotations

import pytest

from ferrule.cli.show.batch_view import PlainBatch, QuietBatch, describe_state, make_labels, make_table
from ferrule.model.failure import Stop, tool_error
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result


def ended(text: str) -> Result:
    return Result(invocation_id="inv_1", status="succeeded", created_at=0, content=({"type": "text", "text": text},))


def test_a_state_is_said_once_until_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainBatch(["add", "fail"])
    view.show_states(["planned", "planned"])
    view.show_states(["queued", "running"])
    view.show_states(["succeeded", "partial_result"])
    assert capsys.readouterr().err.splitlines() == [
        "0  add   queued",
        "1  fail  queued",
        "1  fail  running",
        "0  add   succeeded",
    ]


def test_progress_counts_as_running_so_that_it_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainBatch(["add"])
    view.show_progress(
        0, Progress(invocation_id="inv_1", sequence=1, status="running", timestamp=0, percent=25.0, message="a")
    )
    view.show_states(["running"])
    assert capsys.readouterr().err == "0  add  running, 25%: a\n"


def test_programs_hear_nothing_of_states_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    view = QuietBatch(["add"])
    view.show_states(["running"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("state", "word"),
    [("awaiting_approval", "waiting for approval"), ("synthetic_error", "stopped"), ("timed_out", "timed out")],
)
def test_states_are_in_the_words_of_somebody_who_waits(state: str, word: str) -> None:
    assert describe_state(state) == word


def test_numbers_and_names_line_up() -> None:
    labels = make_labels(["a"] * 10 + ["longer"])
    assert (labels[0], labels[10]) == (" 0  a     ", "10  longer")
    assert "\x1b" not in make_labels(["\x1b[2J"])[0]
    assert make_labels([]) == []


def test_results_stand_in_call_order_and_no_line_is_wider_than_there_is_room() -> None:
    error = tool_error(Stop("execution_failed", "no\nmoney"), has_run=True, is_repeatable=False)
    failed = Result(invocation_id="inv_2", status="failed", created_at=0, content=(), error=error)
    waiting = Pending(invocation_id="inv_3", state="awaiting_approval", message="ask amy")
    lines = make_table(["add", "fail", "pay"], [ended("x" * 500), failed, waiting], 60)
    assert len(lines[0]) == 60 and lines[0].endswith("…")
    assert lines[1].endswith("failed                no money")
    assert lines[2].endswith("waiting for approval  inv_3: ask amy")
