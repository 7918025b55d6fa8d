"""Progress is made from what a tool says; the runtime's own words stand, and the impossible is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.progress import BadProgress, Progress, progress_of


def said(**facts: Any) -> Progress:
    """The third record of a call."""
    return progress_of("inv_1", 3, 1_000_000, 40, facts)


def test_a_tool_that_says_nothing_is_running() -> None:
    assert said().to_record() == {
        "schema_version": "0.2.0",
        "progress_id": "prg_1.3",
        "invocation_id": "inv_1",
        "sequence": 3,
        "status": "running",
        "timestamp": "1970-01-01T00:00:01.000000Z",
        "elapsed_ms": 40,
    }


def test_what_the_runtime_says_itself_no_tool_changes() -> None:
    record = said(sequence=9, invocation_id="inv_other", elapsed_ms=0, timestamp=5, progress_id="p", schema_version="9")
    assert record == said()


def test_what_the_standard_does_not_know_is_kept() -> None:
    record = said(percent=50, exit_code=1, message=None).to_record()
    assert (record["percent"], record["exit_code"]) == (50, 1)
    assert "message" not in record and "extra" not in record


@pytest.mark.parametrize("percent", [-1, 100.5, "half", float("nan"), True])
def test_a_share_outside_of_a_hundred_is_refused(percent: Any) -> None:
    with pytest.raises(BadProgress):
        said(percent=percent)


@pytest.mark.parametrize("facts", [{"status": "nearly"}, {"message": 5}, {"bytes_read": "many"}], ids=str)
def test_what_is_no_progress_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(BadProgress, match="this is no progress"):
        said(**facts)


def test_a_step_may_be_a_number() -> None:
    assert said(current_step=2, total_steps=5).current_step == "2"


def test_a_part_of_a_result_refers_to_its_own_record() -> None:
    assert said(status="partial_result", content=[]).partial_result_refs == ("prg_1.3",)
    assert said(status="partial_result", content=[], partial_result_refs=["r"]).partial_result_refs == ("r",)
    assert said(status="running", content=[]).partial_result_refs == ()
