"""How commands find a call in the ledger and say times: the last one, a shortened id, and durations for people."""

from __future__ import annotations

import pytest

from ferrule.cli import call_lookup
from ferrule.errors import WorkspaceError
from tests.cli.ledger_runs import Run
from tests.ledger.history.rows import NOON, SCENARIOS, Ledger, Writer, parked


def test_the_last_call_is_the_one_that_was_begun_last(ledger: Ledger, run: Run) -> None:
    """Whoever cancels `last` means the call just made, not an older one that moved after it."""
    older = parked(ledger, "inv_older")
    newer = Writer(ledger, "inv_newer", created_at=NOON + 5_000_000)
    newer.enter("planned", "selected", "arguments_ready", "running").row("started")
    older.enter("canceled").row("ended", status="canceled")
    assert run("explain", "last").out.startswith("inv_newer ")
    assert run("log").out.splitlines()[-1].split()[2] == "inv_newer"


def test_an_id_may_be_shortened(ledger: Ledger, run: Run) -> None:
    for name in ("denied", "disabled_while_parked", "success"):
        SCENARIOS[name](ledger)
    assert run("explain", "inv_den").out.startswith("inv_denied ")
    assert run("explain", "suc").out.startswith("inv_success ")
    with pytest.raises(WorkspaceError, match="2 calls begin with 'inv_d'"):
        run("explain", "inv_d")
    with pytest.raises(WorkspaceError, match="did you mean 'inv_denied'"):
        run("explain", "inv_denyed")
    with pytest.raises(WorkspaceError, match="'ferrule log' lists them"):
        run("explain", "zzzz")


def test_durations_for_people() -> None:
    told = [
        call_lookup.format_duration(value)
        for value in (None, 0.0004, 0.0123, 9.5, 250, 12_345, 65_000, 60_000, 7_440_000)
    ]
    assert told == ["-", "0 ms", "0.0123 ms", "9.5 ms", "250 ms", "12.3 s", "1 min 5 s", "1 min", "2 h 4 min"]
