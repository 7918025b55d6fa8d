"""Counts recorded decisions by their decider: rule hits, differences of the shadow policy, suggested rules.

Rows are read once. What is new is read when somebody looks; what is older is read a few rows at a time, back to seven
days. So the counts are true for the time they name, which may be shorter than was asked for.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.store import Store
from ferrule.errors import LedgerDamaged
from ferrule.model.decision import Ruling
from ferrule.model.journal import CALL_KINDS, StoredEntry, header_of
from ferrule.model.timestamps import MICROSECONDS
from ferrule.model.value import JsonObject

HOUR = 3600 * MICROSECONDS
DAY, WEEK = 24 * HOUR, 7 * 24 * HOUR
_KINDS = tuple(sorted(CALL_KINDS))
_AT_ONCE = 500
_MOST_ROWS = 500_000
"""Most rows to read back; a busier ledger is counted as far as they go."""
_DIFFERENCES, _SUGGESTIONS = 200, 100


class Decider(NamedTuple):
    """The decider of a call: a rule of a source, or what else the ruling names."""

    reason: str
    """`rule`, `mode`, `policy`, `classifier`, `hook`, …"""
    source: str
    rule_id: str
    """Empty when no rule decided; then the mode's name for `mode`."""


class RecordedDifference(NamedTuple):
    """A call that the shadow policy would have decided differently."""

    seq: int
    invocation_id: str
    at: int
    tool_id: str
    principal: str
    agent: str | None
    behavior: str
    ruled_by: str
    policy_ref: str
    shadow_behavior: str
    shadow_rules: tuple[str, ...]
    message: str


class RecordedSuggestion(NamedTuple):
    """A rule that would have settled an ask."""

    update: dict[str, Any]
    times: int
    invocation_id: str
    """The latest call it was suggested for."""
    at: int


class DecisionTally:
    """The counted decisions of one ledger."""

    def __init__(self) -> None:
        self._hours: dict[int, Counter[tuple[Decider, str]]] = {}
        self._shadowed: dict[int, Counter[tuple[str, str, str]]] = {}
        self._differences: list[RecordedDifference] = []
        self._suggested: dict[bytes, RecordedSuggestion] = {}
        self._newest = 0
        self._oldest: int | None = None
        self._is_begun = False
        self._is_far_enough = False
        self._lock = asyncio.Lock()
        self.rows = 0
        """Rows that were read."""
        self.since: int | None = None
        """The time of the oldest of them; None before there is any."""
        self.is_whole = False
        """True when it reaches back to the first row, or seven days."""

    async def read_more(self, store: Store, now: int, rows: int) -> bool:
        """Reads new rows, then older ones, up to a number of rows. Returns True when there is no more to read."""
        async with self._lock:
            if not self._is_begun:
                await self._begin(store)
            while rows > 0:
                read = await self._read_forward(store)
                if read == 0:
                    # New rows come first; older ones fill the rest of the budget.
                    read = 0 if self.is_whole or self._is_far_enough else await self._read_back(store, now)
                if read == 0:
                    self._forget(now)
                    return True
                rows -= read
            return False

    async def _begin(self, store: Store) -> None:
        self._is_begun = True
        newest = await store.rows_before(None, 1)
        self._newest = newest[0].seq if newest else 0
        self._oldest = self._newest + 1

    async def _read_forward(self, store: Store) -> int:
        found = await store.rows_after(self._newest, _AT_ONCE)
        for row in found:
            self.feed(row)
        if found:
            self._newest = found[-1].seq
            self.since = self.since or found[0].at
        return len(found)

    async def _read_back(self, store: Store, now: int) -> int:
        found = await store.rows_before(self._oldest, _AT_ONCE, kinds=_KINDS)
        for row in found:
            if row.at < now - WEEK:
                self.is_whole = True
                break
            self.feed(row)
            self._oldest, self.since = row.seq, row.at
        self.is_whole = self.is_whole or len(found) < _AT_ONCE
        self._is_far_enough = self.rows >= _MOST_ROWS
        return len(found)

    def feed(self, row: StoredEntry) -> None:
        """Counts one row."""
        self.rows += 1
        if row.kind not in CALL_KINDS:
            return
        try:
            segment = row.segment()
            for decision in segment.decisions:
                # A person's decision says nothing about a rule.
                if decision.by is None:
                    self._count(row, decision.ruling)
        except LedgerDamaged:  # the audit tells of it; here it is one row less
            return

    def _count(self, row: StoredEntry, ruling: Ruling) -> None:
        hour = row.at // HOUR
        self._hours.setdefault(hour, Counter())[find_decider(ruling), ruling.behavior] += 1
        shadow = ruling.shadow
        if shadow is not None:
            key = (shadow.policy_ref, ruling.behavior, shadow.behavior)
            self._shadowed.setdefault(hour, Counter())[key] += 1
            self._keep_difference(row, ruling)
        for update in ruling.suggested_updates:
            self._keep_suggestion(row, update)

    def _keep_difference(self, row: StoredEntry, ruling: Ruling) -> None:
        kept, shadow = self._differences, ruling.shadow
        if shadow is None or (len(kept) >= _DIFFERENCES and row.seq < kept[0].seq):
            return
        header = header_of(row.segment())
        found = RecordedDifference(
            row.seq, row.call, row.at, row.tool, header.principal, header.agent, ruling.behavior, find_decider(ruling).rule_id,
            shadow.policy_ref, shadow.behavior, shadow.rule_refs, shadow.message,
        )  # fmt: skip
        # Rows are read forward and back, so the newest does not always come last.
        insort(kept, found)
        del kept[:-_DIFFERENCES]

    def _keep_suggestion(self, row: StoredEntry, update: JsonObject) -> None:
        key = msgspec.json.encode(update, order="deterministic")
        known = self._suggested.get(key)
        if known is None:
            if len(self._suggested) < _SUGGESTIONS:
                self._suggested[key] = RecordedSuggestion(update, 1, row.call, row.at)
            return
        latest = (row.call, row.at) if row.at >= known.at else (known.invocation_id, known.at)
        self._suggested[key] = RecordedSuggestion(update, known.times + 1, *latest)

    def _forget(self, now: int) -> None:
        first = (now - WEEK) // HOUR
        for counted in (self._hours, self._shadowed):
            for hour in [hour for hour in counted if hour < first]:
                del counted[hour]

    # What was found

    def count_decisions(self, since: int) -> Counter[tuple[Decider, str]]:
        """Counts the decisions of each decider, in the hours from a moment on."""
        return _merge_hours(self._hours, since)

    def count_shadow_differences(self, since: int) -> Counter[tuple[str, str, str]]:
        """Counts the shadow policy's differences: its name, the decision, its own decision."""
        return _merge_hours(self._shadowed, since)

    def list_differences(self) -> list[RecordedDifference]:
        """Lists the latest differences, the newest first."""
        return self._differences[::-1]

    def list_suggestions(self) -> list[RecordedSuggestion]:
        """Lists rules that would have settled asks, the most effective first."""
        return sorted(self._suggested.values(), key=lambda one: (-one.times, -one.at))


def find_decider(ruling: Ruling) -> Decider:
    """Finds the decider that a ruling names."""
    if ruling.reason_type == "rule" and ruling.rule_refs:
        return Decider("rule", ruling.source or "", ruling.rule_refs[0])
    return Decider(ruling.reason_type, "", ruling.mode if ruling.reason_type == "mode" else "")


def _merge_hours(hours: dict[int, Any], since: int) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for hour, counted in hours.items():
        if hour >= since // HOUR:
            total.update(counted)
    return total
