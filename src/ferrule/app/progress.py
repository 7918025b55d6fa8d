"""Follows one call: its progress, in order, from any number on, whatever process it runs in.

Recorded progress comes from the ledger; that of a call in this process comes at once. A slow reader costs nothing: no
progress is buffered for it. `Cancellation` is the outcome of a request to stop the call: asked, acknowledged, and how it
ended are three different facts (AT-207).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec

from ferrule.contracts.store import Store
from ferrule.model.journal import LAST_KINDS
from ferrule.model.news import Fact, facts_in
from ferrule.model.progress import Progress
from ferrule.runtime.pipeline.live import InFlight

_LOOK_SECONDS = 1.0
_UNSEEN_SECONDS = 2.0
_ROWS = 8
"""Rows that are held for a reader at once."""
_NAMES = frozenset(Progress.__struct_fields__)


async def follow_progress(store: Store, calls: InFlight, call_id: str, after: int = 0) -> AsyncIterator[Progress]:
    """Yields the progress of a call after a sequence number, until the call has ended."""
    seen_row, until = 0, asyncio.get_running_loop().time() + _UNSEEN_SECONDS
    while True:
        # Read before the news: a row written in between wakes the wait below at once.
        newest = await store.rows_before(None, 1)
        is_over = await _is_over(store, calls, call_id, until)
        rows = await store.news_of(call_id, seen_row, _ROWS)
        for row in rows:
            seen_row = row.seq
            for fact in facts_in(row) if row.outcome == "progress" else ():
                said = _restore_progress(call_id, fact)
                if said.sequence > after:
                    after = said.sequence
                    yield said
        if len(rows) == _ROWS:
            continue  # there may be more
        live = calls.calls.get(call_id)
        for said in live.list_unwritten(after) if live is not None else ():
            if said.sequence != after + 1:
                break  # those before it were just written to the ledger, and are read from there
            after = said.sequence
            yield said
        if is_over or (live is None and calls.is_closing):
            return
        if live is None:
            await calls.wait_unless_closing(store.wait_after(newest[0].seq if newest else 0, _LOOK_SECONDS))
        elif live.list_unwritten(after) or live.has_ended:
            await asyncio.sleep(0)
        else:
            await live.wait_for_change(_LOOK_SECONDS)


async def _is_over(store: Store, calls: InFlight, call_id: str, until: float) -> bool:
    """True when no more progress can come. Asked before the news is read, so that the last of it is not missed.

    A call without rows may still run in another process: its news shows so, unless that process has died.
    """
    if call_id in calls.calls:
        return False
    rows = await store.rows_of(call_id)
    if rows:
        return rows[-1].kind in LAST_KINDS
    return asyncio.get_running_loop().time() > until or not await store.news_of(call_id, 0, 1)


def _restore_progress(call_id: str, fact: Fact) -> Progress:
    """Restores a progress record from a recorded fact."""
    data = dict(fact.data)
    for name in ("schema_version", "progress_id", "invocation_id", "timestamp"):
        data.pop(name, None)
    extra = {name: data.pop(name) for name in list(data) if name not in _NAMES}
    said: dict[str, Any] = {"invocation_id": call_id, "timestamp": fact.at, "extra": extra, **data}
    return msgspec.convert(said, Progress)


class Cancellation(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request to stop a call, as far as it is known."""

    invocation_id: str
    outcome: Literal["canceled", "cancel_failed", "requested"]
    """`requested`: the tool has not stopped yet; the call runs until it does, and ends with what really happened."""
    is_acknowledged: bool = False
    """True when the tool has stopped."""
    is_supported: bool | None = None
    """True when the tool can be stopped at all; None when only the process that runs it knows."""
    state: str = ""
    """The state of the call."""
    message: str = ""
