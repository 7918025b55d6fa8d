"""Counts of calls by standing, and over time: for charts and for the numbers beside filters.

For an operator of the workspace the ledger counts. For anybody else, and for searches that have to read calls, only as
many of the newest are counted as one page reads; `is_complete` reports that.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import msgspec

from ferrule.app.views.past_calls import list_calls, list_open_calls, next_row_number
from ferrule.ledger.history.summary import STANDINGS, Standing, find_ending, find_standing
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.call_filters import CallFilter, CallQuery, CallSearch, prepare_search
from ferrule.servers.api.calls.invocations import find_visibility_surface
from ferrule.servers.api.replies import AnyReply, JsonReply
from ferrule.servers.api.shapes import describe, parse_moment

_DAY = 24 * 3600 * 1_000_000
_MOST_ROWS = 100_000
"""Rows that the ledger counts."""
_MOST_READ = 2_000
"""Calls that are read for counting."""
_WIDTHS = tuple(
    seconds * 1_000_000
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
)


class TallyQuery(CallFilter, kw_only=True):
    """Filters for calls, and the number of stretches of time."""

    stretches: Annotated[
        int, describe("How many stretches at most; each is a round number of seconds, minutes or hours.", ge=1, le=200)
    ] = 96


class Stretch(msgspec.Struct, kw_only=True):
    """Calls that ended within one stretch of time."""

    at: Annotated[str, describe("When it began.")]
    ended: Annotated[dict[str, int], describe("How many, by standing.")]


class Tally(msgspec.Struct, kw_only=True):
    """Counts of calls by standing."""

    since: str
    until: str
    counted_since: Annotated[str, describe("Later than `since` where there were too many calls to count them all.")]
    is_complete: Annotated[bool, describe("False when there are more calls than were counted.")]
    seconds: Annotated[float, describe("The length of one stretch.")]
    open: Annotated[dict[str, int], describe("How many have not ended, by standing, whenever they began.")]
    ended: Annotated[dict[str, int], describe("How many ended in this time, by standing.")]
    stretches: Annotated[list[Stretch], describe("Those in which calls ended.")]


async def tally_invocations(ask: Ask) -> AnyReply:
    """Counts calls by standing."""
    query, surface = ask.query(TallyQuery), await find_visibility_surface(ask)
    now = time.time_ns() // 1000
    until = parse_moment("until", query.until) or now
    since = parse_moment("since", query.since)
    oldest = await ask.edge.app.store.rows_after(0, 1)
    since = max(until - _DAY if since is None else since, oldest[0].at if oldest else 0)
    since = min(since, until)
    filters = {name: getattr(query, name) for name in CallFilter.__struct_fields__}
    search = await prepare_search(ask, CallQuery(**{**filters, "since": iso(max(since, 0))}), surface)
    width = width_for(until - since, query.stretches)
    open_now = await _count_open(search)
    counted = (
        await _count_in_ledger(search, width) if search.covers_everything else await _count_by_reading(search, width)
    )
    ended: Counter[str] = Counter()
    for stretch in counted.stretches.values():
        ended.update(stretch)
    tally = Tally(
        since=iso(since),
        until=iso(until),
        counted_since=iso(max(since, counted.since or 0)),
        is_complete=counted.since is None,
        seconds=width / 1_000_000,
        open=open_now,
        ended=dict(ended),
        stretches=[Stretch(at=iso(at), ended=dict(found)) for at, found in sorted(counted.stretches.items())],
    )
    return JsonReply(tally)


def width_for(span: int, most: int) -> int:
    """Returns the smallest round length with which at most `most` stretches cover a span; microseconds."""
    return next((width for width in _WIDTHS if span <= width * most), -(-span // (most * _DAY)) * _DAY)


class _StretchCounts(msgspec.Struct):
    stretches: dict[int, Counter[str]]
    since: int | None
    """Start of the counted calls; None when all were counted."""


async def _count_in_ledger(search: CallSearch, width: int) -> _StretchCounts:
    before = search.before or await next_row_number(search.store)
    after = max(search.after, before - 1 - _MOST_ROWS)
    found: dict[int, Counter[str]] = {}
    for ending in await search.store.endings(after, before, width, search.wanted.tool or ""):
        standing = find_ending(ending.outcome)
        if standing is not None:
            found.setdefault(ending.at, Counter())[standing] += ending.calls
    oldest = await search.store.rows_after(after, 1) if after > search.after else []
    return _StretchCounts(found, oldest[0].at if oldest else None)


async def _count_by_reading(search: CallSearch, width: int) -> _StretchCounts:
    page = await list_calls(
        search.store, search.matches, before=search.before, count=_MOST_READ, quick=search.build_ledger_query()
    )  # fmt: skip
    found: dict[int, Counter[str]] = {}
    for rows in page.calls:
        standing: Standing | None = "failed" if search.hides(rows) else find_ending(rows[-1].outcome)
        if standing is not None:
            found.setdefault(rows[-1].at // width * width, Counter())[standing] += 1
    if page.before is None:
        return _StretchCounts(found, None)
    oldest = await search.store.rows_after(page.before - 1, 1)
    return _StretchCounts(found, oldest[0].at if oldest else 0)


async def _count_open(search: CallSearch) -> dict[str, int]:
    everywhen = msgspec.structs.replace(search.build_ledger_query(), after=0)
    page = await list_open_calls(
        search.store, search.matches, states=(), before=None, count=_MOST_READ, quick=everywhen
    )  # fmt: skip
    counts = Counter(find_standing(rows[-1].kind, rows[-1].outcome) for rows in page.calls)
    return {standing: counts[standing] for standing in STANDINGS if counts[standing]}
