"""One line of logging per ended call."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.sinks.log import LogSink
from tests.ledger.history.rows import Ledger, denied, success


def test_a_line_per_ended_call(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    success(ledger)
    denied(ledger)
    events = [event for row in ledger.rows for event in expand_row(row, source="shop")]
    with caplog.at_level(logging.INFO, "ferrule.calls"):
        asyncio.run(LogSink(logging.getLogger("ferrule.calls")).write(events))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "inv_success kb.search succeeded in 0.018 ms for alice"),
        ("WARNING", "inv_denied orders.refund-order denied in 0.013 ms for alice: permission_denied"),
    ]
