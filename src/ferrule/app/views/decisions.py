"""Recent decisions of people: the newest answers of the ledger, searched once and then followed.

A ledger is long and its answers are few. The first search goes through it; each later one reads only new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import msgspec

from ferrule.app.views.evidence import Fate, fate_of
from ferrule.contracts.store import Store
from ferrule.model.journal import Kind, StoredEntry
from ferrule.model.story import Story

_ASKED: tuple[Kind, ...] = ("answered", "unknown")
_UNANSWERED = frozenset({"timed_out", "canceled"})
_KEPT = 500
"""How many of the newest calls are remembered."""
_STEP, _STEPS = 500, 8
"""Rows that are read at once, and how often, before it is quicker to search the ledger again."""

Rows = Sequence[StoredEntry]


class DecidedCall(msgspec.Struct, frozen=True):
    """A call whose question to a person is closed."""

    rows: Rows
    fate: Fate


class Decisions:
    """The newest decisions of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seq: int | None = None
        self._calls: dict[str, int] = {}
        """Calls with a row about a decision, each with the number of the last such row; the oldest first."""

    async def list_since(self, at: int, is_wanted: Callable[[Rows], bool], count: int) -> list[DecidedCall]:
        """Returns up to `count` calls that were decided since a time, the newest first."""
        await self._refresh()
        found: list[DecidedCall] = []
        for call in list(reversed(self._calls)):
            rows = await self._store.rows_of(call)
            if not rows or rows[-1].at < at:
                break
            decided = _read_decided_call(rows)
            if decided is not None and (decided.fate.decided_at or 0) >= at and is_wanted(rows):
                found.append(decided)
                if len(found) == count:
                    break
        return sorted(found, key=lambda each: each.fate.decided_at or 0, reverse=True)

    async def _refresh(self) -> None:
        if self._seq is None or not await self._follow(self._seq):
            newest = await self._store.rows_before(None, 1)
            rows = await self._store.rows_before(None, _KEPT, kinds=_ASKED)
            rows += await self._store.rows_before(None, 2 * _KEPT, kinds=("ended",))
            self._calls.clear()
            self._take(sorted(rows, key=lambda row: row.seq))
            self._seq = newest[0].seq if newest else 0

    async def _follow(self, seq: int) -> bool:
        """Reads the new rows; False when there are too many."""
        for _ in range(_STEPS):
            rows = await self._store.rows_after(seq, _STEP)
            self._take(rows)
            seq = self._seq = rows[-1].seq if rows else seq
            if len(rows) < _STEP:
                return True
        return False

    def _take(self, rows: Rows) -> None:
        for row in rows:
            if _may_hold_decision(row):
                self._calls.pop(row.call, None)
                self._calls[row.call] = row.seq
        for call in list(self._calls)[: max(0, len(self._calls) - _KEPT)]:
            del self._calls[call]


def _may_hold_decision(row: StoredEntry) -> bool:
    """True for a row that may hold a decision."""
    if row.kind != "ended":
        return row.kind in _ASKED
    return row.outcome in _UNANSWERED or row.segment().answer is not None


def _read_decided_call(rows: Rows) -> DecidedCall | None:
    story = Story(rows) if rows else None
    if story is None or story.asking is None:
        return None  # it ended without anybody being asked
    fate = fate_of(story)
    return None if fate.outcome == "waiting" else DecidedCall(rows, fate)


_of_stores: WeakKeyDictionary[Store, Decisions] = WeakKeyDictionary()


def decisions_of(store: Store) -> Decisions:
    """Returns the decisions of a ledger, shared by all who ask in this process."""
    found = _of_stores.get(store)
    if found is None:
        found = _of_stores[store] = Decisions(store)
    return found
