"""A call in one line: its status, who decided, and what went wrong."""

from __future__ import annotations

from ferrule.ledger.history.summary import read_brief
from tests.ledger.history.rows import SCENARIOS, Ledger, parked


def test_a_call_in_one_line() -> None:
    def line(scenario: str) -> tuple[str, str, str | None]:
        ledger = Ledger()
        SCENARIOS[scenario](ledger)
        brief = read_brief(ledger.rows)
        assert brief.duration_ms is not None
        return brief.status, brief.decision, brief.error_code

    assert line("success") == ("succeeded", "allow", None)
    assert line("approved_edited") == ("succeeded", "allow by bob", None)
    assert line("rejected") == ("denied", "deny by bob", "approval_rejected")
    assert line("unknown_tool") == ("failed", "", "tool_not_found")
    ledger = Ledger()
    parked(ledger)
    assert read_brief(ledger.rows).duration_ms is None
