"""Calls that are on record, for whoever looks back at them: pages of them, and the whole story of one.

Pages are in the order in which calls began, the newest first, so that paging on neither repeats nor misses one that moves
meanwhile. Looking is bounded: a page may come back short, with the place to go on from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ferrule.considered import considered
from ferrule.contracts.catalog import CatalogView
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.store import Store
from ferrule.history.story import Considered, Story, story_of
from ferrule.model.journal import CALL_KINDS, StoredEntry

_KINDS = tuple(sorted(CALL_KINDS))
_ROWS = 200
_MOST_ROWS = 4000
"""Rows that are looked at for one page."""

Rows = Sequence[StoredEntry]


class Page(NamedTuple):
    """Some calls, each with all its rows, and where to go on; None at the end."""

    calls: list[Rows]
    before: int | None


async def page_of_calls(store: Store, is_wanted: Callable[[Rows], bool], *, before: int | None, count: int) -> Page:
    """Up to `count` calls that are wanted, of those that began before a row; the newest first."""
    found: list[Rows] = []
    looked = 0
    while looked < _MOST_ROWS:
        page = await store.rows_before(before, _ROWS, kinds=_KINDS)
        for row in page:
            before = row.seq
            rows = await _begun_by(store, row)
            if rows and is_wanted(rows):
                found.append(rows)
                if len(found) == count:
                    return Page(found, before if before > 1 else None)
        if len(page) < _ROWS:
            return Page(found, None)
        looked += len(page)
    return Page(found, before)


async def _begun_by(store: Store, row: StoredEntry) -> Rows:
    """All rows of the call that begins with a row; none for a row that goes on with one."""
    if row.kind == "call":
        return (row,)
    rows = await store.rows_of(row.call)
    return rows if rows and rows[0].seq == row.seq else ()


async def told_story(store: Store, rows: Rows, catalog: CatalogView, engine: PolicyEngine) -> Story:
    """The whole story of a call, with the rules of the policy in force."""

    def rules(story: Story) -> Considered:
        versions = catalog.versions(story.header.tool_id)
        listed = next((one for one in versions if one.tool.version == story.header.tool_version), None)
        return considered(story, listed, engine)

    return story_of(rows, await store.news_of(rows[0].call), rules=rules)
