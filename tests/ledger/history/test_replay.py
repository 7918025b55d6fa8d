"""Events alone rebuild a call, however it ended."""

from __future__ import annotations

import json

from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.replay import replay_events
from ferrule.model.journal import state_times
from tests.ledger.history.rows import (
    Ledger,
)


def test_replaying_the_events_rebuilds_the_call(ledger: Ledger) -> None:
    """AT-273: final status, transitions and decisions from exported events alone."""
    lines = [json.dumps(event.to_record()) for row in ledger.rows for event in expand_row(row, source="shop")]
    call = replay_events(map(json.loads, lines))[ledger.rows[0].call]
    segments = [row.segment() for row in ledger.rows]
    states = [state for segment in segments for state, _ in state_times(segment)]
    assert call.status == states[-1] == ledger.rows[-1].outcome
    assert [to for _, to, _ in call.transitions] == states
    assert [before for before, _, _ in call.transitions] == [None, *states[:-1]]
    assert call.behaviors == [decision.ruling.behavior for segment in segments for decision in segment.decisions]
    assert call.result_status == segments[-1].status
    assert call.error_class == (segments[-1].error.error_class if segments[-1].error else None)
    assert call.planned["principal"] == "alice"
