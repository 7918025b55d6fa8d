"""Recorded calls, for people who look back: pages of them, and the full story of one.

Pages are ordered by the begin of calls, the newest first, so that paging neither repeats nor misses one that changes
meanwhile. The search is bounded: a page may be short, with the position to continue from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ferrule.app.preview.rule_review import review_rules
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.store import ANY_CALL, CallsWanted, Store
from ferrule.contracts.surface import CatalogView
from ferrule.model.journal import StoredEntry
from ferrule.model.story import Story

_ROWS = 200
_MOST_ROWS = 50_000
"""Rows that are searched for one page."""
_MOST_CALLS = 2_000
"""Calls that are read for one page."""

Rows = Sequence[StoredEntry]


class CallPage(NamedTuple):
    """Some calls, each with all its rows, and the position to continue from; None at the end."""

    calls: list[Rows]
    before: int | None


async def list_calls(
    store: Store, is_wanted: Callable[[Rows], bool], *, before: int | None, count: int, quick: CallsWanted = ANY_CALL
) -> CallPage:
    """Returns up to `count` wanted calls that began before a row, the newest first. `quick`: conditions that the ledger checks
    itself, so that other calls are not read."""
    top = min(before or 10**15, await next_row_number(store))
    floor = max(quick.after, top - 1 - _MOST_ROWS)
    wanted = msgspec.structs.replace(quick, after=floor)
    found: list[Rows] = []
    looked, some = 0, min(count, _ROWS)
    while looked < _MOST_CALLS:
        firsts = await store.calls_before(top, some, wanted)
        for rows in await read_whole_calls(store, firsts):
            top = rows[0].seq
            if is_wanted(rows):
                found.append(rows)
                if len(found) == count:
                    return CallPage(found, top if top > quick.after + 1 else None)
        if len(firsts) < some:
            return CallPage(found, floor + 1 if floor > quick.after else None)
        looked, some = looked + len(firsts), _ROWS
    return CallPage(found, top)


async def list_open_calls(
    store: Store, is_wanted: Callable[[Rows], bool], *, states: Sequence[str], before: int | None, count: int,
    quick: CallsWanted = ANY_CALL,
) -> CallPage:  # fmt: skip
    """Returns a page of open calls in these states, from the ledger's own list of them."""
    names = [one.call for one in await store.open_calls(*states)]
    calls = [rows for rows in (await store.rows_of_calls(names)).values() if quick.after < rows[0].seq]
    calls.sort(key=lambda rows: -rows[0].seq)
    found: list[Rows] = []
    for rows in calls:
        if (before is None or rows[0].seq < before) and is_wanted(rows):
            if len(found) == count:
                return CallPage(found, found[-1][0].seq)
            found.append(rows)
    return CallPage(found, None)


async def find_calls_holding(
    store: Store, part: bytes, *, after: int, most_rows: int, holding: tuple[bytes, ...] = ()
) -> list[Rows]:  # fmt: skip
    """Finds calls whose first row contains a text, among those that began within `most_rows` after a row; the oldest first."""
    before = min(after + 1 + most_rows, await next_row_number(store))
    firsts = await store.calls_before(before, _MOST_CALLS, CallsWanted(after=after, holding=(part, *holding)))
    return (await read_whole_calls(store, firsts))[::-1]


async def read_whole_calls(store: Store, firsts: Sequence[StoredEntry]) -> list[Rows]:
    """Returns calls with all their rows, in the order of their first ones."""
    longer = await store.rows_of_calls([row.call for row in firsts if row.kind != "call"])
    return [longer.get(row.call) or (row,) for row in firsts]


async def next_row_number(store: Store) -> int:
    """Returns one more than the number of the last row."""
    newest = await store.rows_before(None, 1)
    return newest[0].seq + 1 if newest else 1


async def read_story(store: Store, rows: Rows, catalog: CatalogView, engine: PolicyEngine) -> Story:
    """Reads the full story of a call, with the rules of the policy in force."""
    story = Story(rows, await store.news_of(rows[0].call))
    story.considered = await review_rules(story, catalog, engine)
    return story
