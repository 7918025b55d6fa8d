"""The strip over a list of calls: how they ended, stretch by stretch, as bars in percent of the width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ferrule.model.timestamps import iso
from ferrule.servers.console.calls.call_words import STANDINGS, microseconds

HEIGHT = 44.0
_PARTS = (
    ("succeeded", "f-ok"),
    ("canceled", "g-idle"),
    ("refused", "f-deny"),
    ("timed_out", "f-bad"),
    ("failed", "f-bad"),
)
"""From the bottom of a bar to its top, each with its class."""
_MOST_LABELS = 6


def strip_of(tally: Mapping[str, Any]) -> dict[str, Any]:
    """Bars and labels of a strip, and what it shows in words."""
    since, until = microseconds(tally["since"]), microseconds(tally["until"])
    width = round(tally["seconds"] * 1_000_000)
    first = since // width * width
    count = max(1, -(-(until - first) // width))
    highest = max((sum(stretch["ended"].values()) for stretch in tally["stretches"]), default=0)
    bars = [bar for stretch in tally["stretches"] if (bar := _bar(stretch, first, width, count, highest))]
    labels = [iso(first + (until - first) * number // (_MOST_LABELS - 1)) for number in range(_MOST_LABELS)]
    return {"bars": bars, "labels": labels, "height": HEIGHT, "says": _says(tally, highest)}


def _bar(stretch: Mapping[str, Any], first: int, width: int, count: int, highest: int) -> dict[str, Any] | None:
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
    told = [f"{calls:,} {STANDINGS[standing][1]}" for standing, calls in stretch["ended"].items() if calls]
    return {
        "x": round(100 * place / count, 3),
        "width": round(max(0.2, 86 / count), 3),
        "pieces": pieces,
        "since": stretch["at"],
        "until": iso(at + width),
        "says": ", ".join(told),
    }


def _says(tally: Mapping[str, Any], highest: int) -> str:
    """The strip for those who do not see it."""
    if not tally["stretches"]:
        return "No call ended in this time."
    busiest = max(tally["stretches"], key=lambda stretch: sum(stretch["ended"].values()))
    text = (
        f"Calls that ended, over time; at most {highest:,} in one bar, at {busiest['at'][:16].replace('T', ' ')} UTC."
    )
    failed = max(tally["stretches"], key=lambda stretch: stretch["ended"].get("failed", 0))
    most = failed["ended"].get("failed", 0)
    return f"{text} Most failures: {most:,}, at {failed['at'][:16].replace('T', ' ')} UTC." if most else text
