"""The list of calls: filters that are all in the address, the newest calls first, and a bar for newer ones.

The strip above the list shows how calls ended over time, as bars in percent of the width. It is made of answers of the
HTTP API alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console.calls import invocation
from ferrule.servers.console.calls.call_words import (
    STANDINGS,
    caller_of,
    decision_of,
    display_name,
    duration_of,
    microseconds,
    now_micros,
    state_of,
)
from ferrule.servers.console.rendering import normalize_json
from ferrule.servers.console.view import ConsolePage, ConsoleView

HEIGHT = 44.0
_PARTS = (
    ("succeeded", "f-ok"),
    ("canceled", "g-idle"),
    ("refused", "f-deny"),
    ("timed_out", "f-bad"),
    ("failed", "f-bad"),
)
"""The parts of a bar from its bottom to its top, each with its class."""
_MOST_LABELS = 6


def strip_of(tally: Mapping[str, Any]) -> JsonObject:
    """Returns the bars and labels of a strip, and the strip in words."""
    since, until = microseconds(tally["since"]), microseconds(tally["until"])
    width = round(tally["seconds"] * 1_000_000)
    first = since // width * width
    count = max(1, -(-(until - first) // width))
    highest = max((sum(stretch["ended"].values()) for stretch in tally["stretches"]), default=0)
    bars = [bar for stretch in tally["stretches"] if (bar := _bar(stretch, first, width, count, highest))]
    labels = [iso(first + (until - first) * number // (_MOST_LABELS - 1)) for number in range(_MOST_LABELS)]
    return {"bars": bars, "labels": labels, "height": HEIGHT, "says": _describe_strip(tally, highest)}


def _bar(stretch: Mapping[str, Any], first: int, width: int, count: int, highest: int) -> JsonObject | None:
    at = microseconds(stretch["at"])
    place = (at - first) // width
    if not 0 <= place < count or not highest:
        return None
    pieces, top = [], HEIGHT
    for standing, shape in _PARTS:
        calls = stretch["ended"].get(standing, 0)
        if calls:
            height = max(1.5, HEIGHT * calls / highest)
            top -= height
            pieces.append({"class": shape, "y": round(max(0.0, top), 2), "height": round(height, 2)})
    parts = [f"{calls:,} {STANDINGS[standing][1]}" for standing, calls in stretch["ended"].items() if calls]
    return {
        "x": round(100 * place / count, 3),
        "width": round(max(0.2, 86 / count), 3),
        "pieces": pieces,
        "since": stretch["at"],
        "until": iso(at + width),
        "says": ", ".join(parts),
    }


def _describe_strip(tally: Mapping[str, Any], highest: int) -> str:
    """Returns the strip in words, for people who cannot see it."""
    if not tally["stretches"]:
        return "No call ended in this time."
    busiest = max(tally["stretches"], key=lambda stretch: sum(stretch["ended"].values()))
    text = (
        f"Calls that ended, over time; at most {highest:,} in one bar, at {busiest['at'][:16].replace('T', ' ')} UTC."
    )
    failed = max(tally["stretches"], key=lambda stretch: stretch["ended"].get("failed", 0))
    most = failed["ended"].get("failed", 0)
    return f"{text} Most failures: {most:,}, at {failed['at'][:16].replace('T', ' ')} UTC." if most else text


_AT_ONCE = 50
_MOST_NEWER = 100
RANGES: dict[str, tuple[str, int | None]] = {
    "hour": ("the last hour", 3600),
    "day": ("the last 24 hours", 24 * 3600),
    "week": ("the last 7 days", 7 * 24 * 3600),
    "month": ("the last 30 days", 30 * 24 * 3600),
    "all": ("all recorded time", None),
}
_DEFAULT_RANGE = "day"
_OPEN = ("running", "waiting", "unknown")
_FILTERS = ("q", "state", "tool", "agent", "for", "run", "range", "since", "until")
_SECOND = 1_000_000


class CallListFilters:
    """The filters in an address."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self.chosen = {name: query[name].strip() for name in _FILTERS if query.get(name, "").strip()}
        if self.chosen.get("state") not in STANDINGS:
            self.chosen.pop("state", None)
        if self.chosen.get("range") not in RANGES:
            self.chosen.pop("range", None)
        if "range" in self.chosen:  # a range in the address was chosen after the stretch
            self.chosen = {name: value for name, value in self.chosen.items() if name not in ("since", "until")}

    def get(self, name: str) -> str:
        """Returns one filter; empty where it is not set."""
        return self.chosen.get(name, "")

    @property
    def range(self) -> str:
        """The chosen time range; empty for a stretch picked from the strip."""
        return "" if "since" in self.chosen or "until" in self.chosen else self.chosen.get("range", _DEFAULT_RANGE)

    @property
    def span(self) -> str:
        """The time in words."""
        return RANGES[self.range][0] if self.range else "the chosen time"

    def search(self, now: int) -> dict[str, str | None]:
        """Returns the filters as the API takes them, without the state."""
        seconds = RANGES[self.range][1] if self.range else None
        since = iso(now - seconds * _SECOND) if seconds else self.chosen.get("since")
        return {
            "words": self.chosen.get("q"),
            "tool": self.chosen.get("tool"),
            "agent": self.chosen.get("agent"),
            "principal": self.chosen.get("for"),
            "run": self.chosen.get("run"),
            "since": since,
            "until": self.chosen.get("until"),
        }

    def listing(self, now: int) -> dict[str, str | None]:
        """Returns the filters with the state. Open calls are listed whenever they began."""
        state = self.chosen.get("state")
        found = {**self.search(now), "standing": state}
        return {**found, "since": None, "until": None} if state in _OPEN else found

    def address(self, **changed: str) -> str:
        """Returns the address of this list with some filters changed; empty ones are left out."""
        query = {name: value for name, value in {**self.chosen, **changed}.items() if value}
        return f"/console/invocations?{urlencode(query)}" if query else "/console/invocations"


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/invocations`"""
    filters, now = CallListFilters(view.query), now_micros()
    cursor = view.query.get("cursor", "")
    page = await view.api.get("/invocations", limit=_AT_ONCE, cursor=cursor, **filters.listing(now))
    counts = await load_counts(view, filters, now)
    rows = [row_of(call, now) for call in page["items"]]
    older = _cursor_of(page["next"])
    return await view.page(
        "invocations.html",
        filters={name: filters.get(name) for name in _FILTERS},
        range=filters.range,
        ranges=[(name, words) for name, (words, _) in RANGES.items()],
        is_filtered=bool(filters.chosen),
        here=filters.address(),
        **counts,
        rows=rows,
        cursor=cursor,
        older=filters.address(cursor=older) if older else "",
        newest=rows[0]["seq"] if rows else 0,
        newer=_newer_address(filters, rows),
        tools=sorted({row["tool"] for row in rows}),
    )


async def load_counts(view: ConsoleView, filters: CallListFilters, now: int) -> JsonObject:
    """Returns the counts of the matching calls: the sentence, the chips, the strip."""
    span = filters.search(now)
    if span["since"] is None and span["until"] is None:
        span["since"] = iso(0)
    tally = await view.api.get("/invocations/tally", **span)
    strip = strip_of(tally)
    return {
        "sentence": sentence_of(tally, filters.span),
        "chips": [_chip(standing, tally, filters) for standing in STANDINGS],
        "strip": {**strip, "bars": [{**bar, "address": _stretch_address(filters, bar)} for bar in strip["bars"]]},
        "is_complete": tally["is_complete"],
        "counted_since": tally["counted_since"],
        "tally_address": filters.address().replace("/console/invocations", "/console/invocations/counts", 1),
    }


def _stretch_address(filters: CallListFilters, bar: Mapping[str, Any]) -> str:
    return filters.address(range="", since=bar["since"], until=bar["until"])


def sentence_of(tally: Mapping[str, Any], span: str) -> str:
    """Returns what the list shows, for people who read nothing else."""
    ended, open_now = tally["ended"], tally["open"]
    total = sum(ended.values())
    more = "" if tally["is_complete"] else "More than "
    if not total and not open_now:
        return f"No call ended in {span}."
    parts = [f"{more}{total:,} {'call' if total == 1 else 'calls'} ended in {span}"]
    bad = ended.get("failed", 0) + ended.get("timed_out", 0)
    if bad:
        parts.append(f"{bad:,} failed or timed out")
    if ended.get("refused"):
        parts.append(f"{ended['refused']:,} {'was' if ended['refused'] == 1 else 'were'} denied")
    text = ", ".join(parts) + "."
    if open_now.get("waiting"):
        text += f" {open_now['waiting']:,} {'waits' if open_now['waiting'] == 1 else 'wait'} for a person."
    if open_now.get("unknown"):
        text += f" {open_now['unknown']:,} {'has' if open_now['unknown'] == 1 else 'have'} an unknown outcome."
    return text


def _chip(standing: str, tally: Mapping[str, Any], filters: CallListFilters) -> JsonObject:
    kind, word = STANDINGS[standing]
    is_on = filters.get("state") == standing
    is_open = standing in _OPEN
    return {
        "standing": standing,
        "kind": kind,
        "word": word,
        "count": tally["open" if is_open else "ended"].get(standing, 0),
        "is_least": not is_open and not tally["is_complete"],
        "is_on": is_on,
        "address": filters.address(state="" if is_on else standing, cursor=""),
    }


def row_of(call: Mapping[str, Any], now: int) -> JsonObject:
    """Returns one line of the list."""
    return {
        "id": call["invocation_id"],
        "seq": call["seq"],
        "state": state_of(call),
        "is_open": call["duration_ms"] is None and call["standing"] in _OPEN,
        "tool": display_name(call),
        "input": normalize_json(call["input"]),
        "caller": caller_of(call),
        "decision": decision_of(call),
        "took": duration_of(call, now) if call["standing"] != "unknown" else None,
        "at": call["at"],
    }


def _cursor_of(address: str | None) -> str:
    return parse_qs(urlsplit(address).query)["cursor"][0] if address else ""


def _newer_address(filters: CallListFilters, rows: list[JsonObject]) -> str:
    query = {**filters.chosen, "after": str(max((row["seq"] for row in rows), default=0))}
    return f"/console/invocations/newer?{urlencode(query)}"


async def show_newer(view: ConsoleView) -> HttpAnswer:
    """`GET /console/invocations/newer?after=`: how many matching calls are newer. They are not put into the list."""
    filters, now = CallListFilters(view.query), now_micros()
    search = {**filters.listing(now), "after": view.number("after") or None}
    page = await view.api.get("/invocations", limit=_MOST_NEWER, **search)
    count = len(page["items"])
    return view.fragment("invocations_newer.html", count=count, is_more=bool(page["next"]), here=filters.address())


async def show_counts(view: ConsoleView) -> HttpAnswer:
    """`GET /console/invocations/counts`: the strip and the chips again."""
    filters = CallListFilters(view.query)
    return view.fragment("invocations_counts.html", **await load_counts(view, filters, now_micros()))


async def show_row(view: ConsoleView) -> HttpAnswer:
    """`GET /console/invocations/{invocation_id}/row`: the line of a call that has not ended."""
    call = await view.api.get(f"/invocations/{view.parts['invocation_id']}")
    return view.fragment("invocations_row.html", row=row_of(call, now_micros()))


PAGES = (
    ConsolePage("GET", "/invocations", show),
    ConsolePage("GET", "/invocations/newer", show_newer),
    ConsolePage("GET", "/invocations/counts", show_counts),
    ConsolePage("GET", "/invocations/{invocation_id}/row", show_row),
    *invocation.PAGES,
)
