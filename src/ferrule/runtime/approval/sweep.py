"""Requests that nobody answered in time: which they are, and how they end. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule.model.failure import Stop
from ferrule.model.journal import OpenCall
from ferrule.model.timestamps import iso

LAPSING_STATES = frozenset({"awaiting_approval", "needs_input"})


def expired(open_calls: Iterable[OpenCall], now: int) -> list[OpenCall]:
    """The calls whose time to be answered is over. `now`: the clock, or the ledger's latest time if that is later."""
    return [
        call
        for call in open_calls
        if call.state in LAPSING_STATES and call.expires_at is not None and now >= call.expires_at
    ]


def lapsed(call: OpenCall) -> Stop:
    """How such a call ends: as `timed_out`, without having run."""
    until = iso(call.expires_at or 0)
    return Stop(
        "timeout", f"nobody answered until {until}, so the call of {call.tool_id!r} expired", "approval_expired"
    )
