"""The parts of a story that a call which took its time adds: scheduling, attempts, progress, requests to stop, late results."""

from __future__ import annotations

import json

import pytest

from tests.cli.ledger_runs import Run, write_news
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer


def test_the_story_of_a_call_tells_its_news(ledger: Ledger, run: Run) -> None:
    """AT-177, AT-207: progress, who wanted it stopped and what came of that, and what came too late."""
    write_news(ledger)
    page = run("explain", "inv_canceled").out
    for words in (
        "told              6 times, the last 3:", "number 4", "running, 40%", "step 5 of 9, bytes read 77: almost",
        "requested         2026-01-01 12:00:01.000 by ada, user interruption: took too long",
        "acknowledged      2026-01-01 12:00:01.000", "canceled", "late result",
        "came              2026-01-01 12:00:09.000, recorded and not delivered", '{"refund": "r-9"}',
        "cancel_requested", "and 2 rows of progress", "abort reason      user interruption",
    ):  # fmt: skip
        assert words in page, words
    assert "number 3" not in page
    assert "\x1b" not in page
    assert max(map(len, page.splitlines())) <= 100
    record = json.loads(run("explain", "inv_canceled", "--json").out)
    assert [one["sequence"] for one in record["progress"]] == [1, 2, 3, 4, 5, 6]
    assert record["cancellations"][0]["outcome"] == "canceled"
    assert record["late_results"][0]["structured_content"] == {"refund": "r-9"}


def test_a_story_tells_how_it_was_scheduled_tried_and_kept(ledger: Ledger, run: Run) -> None:
    """Each only where there is something to tell."""
    notes = {
        "scheduler": {
            "is_concurrency_safe": False, "is_read_only": True, "waited_ms": 1500,
            "resource_locks": [{"key": "order:o-17", "mode": "shared"}],
        },
        "batch": {"batch_id": "bat_1", "index": 2, "depends_on": ["inv_0"]},
        "attempts": [[1, 0, 2_000_000, "rate_limited", "throttled", 0.5, "http:429"]],
        "redactions": ["card", "api-key"],
        "abort_reason": "sibling_error",
        "persistence": {"strategy": "preview_and_persist", "original_size_bytes": 70000, "persisted_ref": {"uri": "p:1"}},
        "context_modifiers": [{"working_directory": "/srv"}],
    }  # fmt: skip
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", status="succeeded", notes=notes)
    page = run("explain", "last").out
    for words in (
        "facts             not concurrency safe, read only", "locks             order:o-17 (shared)", "waited            1.5 s",
        "batch             bat_1, number 2, after inv_0",
        "attempt 1         rate_limited (throttled) in 2 ms, http:429; the next came 500 ms later",
        "kept              preview and persist, 70,000 bytes in p:1", "taken out         card, api-key",
        'context           {"working_directory": "/srv"}', "abort reason      sibling error",
    ):  # fmt: skip
        assert words in page, words
    SCENARIOS["success"](ledger)
    plain = run("explain", "inv_success").out
    for heading in ("scheduling", "attempts", "progress", "cancel", "late result", "kept", "abort reason"):
        assert f"\n{heading}\n" not in plain and f"  {heading} " not in plain


@pytest.mark.parametrize("value", [7, "x", ["x", 7], {"x": None}, [[1]], {"facts": 3}, None])
def test_notes_of_any_shape_do_not_hide_a_story(ledger: Ledger, run: Run, value: object) -> None:
    names = ("scheduler", "batch", "attempts", "redactions", "abort_reason", "persistence", "context_modifiers")
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", status="succeeded", notes=dict.fromkeys(names, value))
    assert run("explain", "last").out.startswith("inv_1 ")
