"""A call in one line: for lists of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ferrule.ledger.history.details import milliseconds
from ferrule.model.journal import StoredEntry, header_of, state_times
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.timestamps import iso


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `ferrule log`."""

    at: int
    """When it was planned: microseconds since 1970."""
    invocation_id: str
    tool_id: str
    principal: str
    agent: str | None
    status: str
    duration_ms: float | None
    """None while it has not ended."""
    decision: str
    """The last decision: `allow`, `deny`, `ask`, `allow by bob`; empty when none was reached."""
    error_code: str | None
    rules: tuple[str, ...] = ()
    """The rules that the last decision goes back to: of a person's, those that asked."""

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        record = {**msgspec.structs.asdict(self), "at": iso(self.at)}
        del record["rules"]
        return record


def brief_of(rows: Sequence[StoredEntry]) -> Brief:
    """A call in one line, from all its rows in order."""
    segments = [row.segment() for row in rows]
    header, last = header_of(segments[0]), segments[-1]
    states = [pair for segment in segments for pair in state_times(segment)]
    decisions = [decision for segment in segments for decision in segment.decisions]
    decision = decisions[-1] if decisions else None
    said = "" if decision is None else decision.ruling.behavior
    is_over = rows[-1].outcome in TERMINAL
    return Brief(
        at=segments[0].created_at,
        invocation_id=rows[0].call,
        tool_id=header.tool_id,
        principal=header.principal,
        agent=header.agent,
        status=rows[-1].outcome,
        duration_ms=milliseconds(states[-1][1]) if is_over and states else None,
        decision=f"{said} by {decision.by}" if decision is not None and decision.by else said,
        error_code=last.error.error_code if last.error is not None else None,
        rules=next((said.ruling.rule_refs for said in reversed(decisions) if said.ruling.rule_refs), ()),
    )
