"""Ledgers with one call each."""

from __future__ import annotations

import pytest

from tests.ledger.history.rows import SCENARIOS, Ledger


@pytest.fixture(params=SCENARIOS, ids=str)
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """A ledger with one call in it, for every way a call can end."""
    ledger = Ledger(first=7)
    SCENARIOS[request.param](ledger)
    return ledger
