"""What a terminal shows of many calls: those that go on first, and how many more there are."""

from __future__ import annotations

from typing import Any

from ferrule.cli.show.live import LiveBatch
from ferrule.cli.show.progress_text import STILL
from ferrule.model.progress import Progress


def said(**facts: Any) -> Progress:
    return Progress(invocation_id="inv_1", sequence=1, status="running", timestamp=0, **facts)


def test_everything_is_shown_where_there_is_room() -> None:
    assert LiveBatch(["a", "b"])._choose_calls(["succeeded", "queued"], 5) == [0, 1]


def test_what_goes_on_or_waits_for_a_person_comes_before_what_is_queued_and_that_before_what_has_ended() -> None:
    words = ["succeeded", "queued", "failed", "running", "waiting for approval", "queued"]
    batch = LiveBatch(["x"] * len(words))
    assert batch._choose_calls(words, 3) == [3, 4]
    assert batch._choose_calls(words, 4) == [1, 3, 4]
    assert batch._choose_calls(words, 1) == [3], "one line is left, however small the terminal"


def test_the_last_thing_that_a_call_said_stays_when_it_only_says_that_it_lives() -> None:
    batch = LiveBatch(["a"])
    batch.show_progress(0, said(percent=5.0, message="begun"))
    batch.show_progress(0, said(message=STILL))
    assert batch._told == ["5%: begun"]
