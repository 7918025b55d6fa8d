"""The page that tells the story of a call: what stands on it, how wide it is, and what does not reach the terminal."""

from __future__ import annotations

import pytest

from tests.cli.ledger_runs import Run
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer, crashed, parked


def test_the_story_of_a_call(ledger: Ledger, run: Run) -> None:
    """AT-143: surface, inputs, decision, approver, phases, states, result and rows on one page."""
    SCENARIOS["approved_edited"](ledger)
    page = run("explain", "inv_approved_edited").out
    for words in (
        "orders.refund-order@1.2.0", "alice through support-agent", "surface           srf_1",
        "amount: 120 -> 90", "by bob (permission prompt): 90 is enough", "rule refunds from policy_settings",
        "who may answer    group:finance", "approved          2026-01-01 12:10:00.000 by bob over token:owner",
        "emit_terminal", "awaiting_approval", '{"refund": "r-2"}', "row 4",
    ):  # fmt: skip
        assert words in page, words
    assert max(map(len, page.splitlines())) <= 100


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_story_fits_the_page(ledger: Ledger, run: Run, scenario: str) -> None:
    call = SCENARIOS[scenario](ledger)
    page = run("explain", call).out
    assert page.startswith(call)
    assert max(map(len, page.splitlines())) <= 100


def test_a_story_that_goes_on_says_what_it_waits_for(ledger: Ledger, run: Run) -> None:
    parked(ledger)
    page = run("explain", "last").out
    assert "ferrule approve inv_parked" in page
    assert "  execute                   not told yet\n" in page and "did not run" not in page, "nobody knows that yet"
    crashed(ledger)
    assert "nobody knows whether the tool acted" in run("explain", "last").out


def test_control_characters_do_not_reach_the_terminal(ledger: Ledger, run: Run) -> None:
    writer = Writer(ledger, "inv_1", tool="unknown:\x1b[2J", principal="al\x07ice").enter("planned", "failed")
    writer.row("call", status="failed", error=writer.error("unknown_tool", "no tool \x1b[2J"), inputs={"x": "\x1b[31m"})
    for out in (run("explain", "inv_1").out, run("log").out, run("log", "--events").out):
        assert "\x1b" not in out and "\x07" not in out
