"""Since when open calls wait for a person. What was read of one is kept until it goes on, so that looking again costs little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ferrule.contracts.store import Store
from ferrule.errors import LedgerDamaged
from ferrule.model.journal import OpenCall, StoredEntry


class Wait(NamedTuple):
    """A question to a person."""

    seq: int
    """The call's last row when it was read."""
    asked_at: int
    """Microseconds since 1970."""
    is_for_people: bool
    """False for what waits for a reply queue, or for the client that called."""


class Waits:
    """The waits of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Wait] = {}

    async def of(self, opened: Sequence[OpenCall]) -> dict[str, Wait]:
        """Those of these open calls that wait for a person. They are all that are open: others are forgotten."""
        new = [one for one in opened if one.call not in self._known or self._known[one.call].seq != one.seq]
        rows = await self._store.rows_of_calls([one.call for one in new]) if new else {}
        fresh = {one.call: wait_in(rows.get(one.call, ()), one.seq) for one in new}
        self._known = {one.call: fresh.get(one.call) or self._known[one.call] for one in opened}
        return {call: wait for call, wait in self._known.items() if wait.is_for_people}


def wait_in(rows: Sequence[StoredEntry], seq: int) -> Wait:
    """What a call's rows say it waits for. Of one that was answered, nobody is waited for any more."""
    asking = next((row for row in reversed(rows) if row.kind in ("parked", "unknown")), None)
    if asking is None:
        return Wait(seq, 0, False)
    try:
        segment = asking.segment()
    except LedgerDamaged:  # the inbox cannot show it either; an audit tells what is wrong
        return Wait(seq, asking.at, False)
    request = segment.request
    is_reply = request is not None and request.requirement.is_reply_only
    is_answered = request is not None and request.purpose == "input" and rows[-1].kind == "answered"
    is_for_people = not (is_reply or is_answered or "client_requests" in segment.notes)
    return Wait(seq, request.requested_at if request is not None else asking.at, is_for_people)
