"""A batch as a Gantt chart: bars in percent of the width, hatched where a call waited, and what delayed the batch.

Pure functions of the HTTP API's answers; `batches` stands above it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ferrule.model.lifecycle import TERMINAL
from ferrule.model.value import JsonObject
from ferrule.servers.console.calls.call_words import bar_of, join_words, microseconds, pluralize, state_of
from ferrule.servers.console.rendering import took

Batch = Mapping[str, Any]
_WORK = frozenset({"running", "partial_result", "post_hooks_running", "yielded"})
_PERSON = frozenset({"awaiting_approval", "needs_input"})
_LEAST, _SHORT = 0.4, 1000
"""The narrowest bar, in percent; waits shorter than this many microseconds are not drawn."""
_MOST_TICKS, _ROOM = 6, 1.2
"""How much wider the chart is than its bars, so that words fit beside them."""
VIEWS = {"kind": "By kind", "lock": "By lock", "order": "In answer order"}
POLICIES = {
    "ignore": "the others continue",
    "cancel_siblings": "all others are canceled",
    "cancel_dependent": "calls that depend on it are canceled, the rest continue",
}


class TimePiece(NamedTuple):
    """A part of a call's time. Microseconds since the batch began."""

    begin: float
    end: float
    kind: str
    """`work`, `person` or `turn`."""


def pieces_of(member: Mapping[str, Any], began: int, until: int) -> list[TimePiece]:
    """Returns the time of one call of a batch, in parts. `until`: the current time, for a call that is running."""
    states = [(each["state"], microseconds(each["at"]) - began) for each in member["states"]]
    found: list[TimePiece] = []
    for number, (state, at) in enumerate(states):
        if state in TERMINAL:
            break
        end = states[number + 1][1] if number + 1 < len(states) else until - began
        kind = "work" if state in _WORK else "person" if state in _PERSON else "turn"
        if end - at < (0 if kind == "work" else _SHORT):
            continue
        if found and found[-1].kind == kind and at - found[-1].end < _SHORT:
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(TimePiece(max(0, at), max(0, end), kind))
    return found


def chart_of(batch: Batch, by: str) -> JsonObject:
    """Returns the chart: axis, number of parallel calls, and groups of rows."""
    began, until = microseconds(batch["brief"]["at"]), _find_end(batch)
    span = max(1, until - began)
    ticks = ticks_of(span)
    has_labels = any(member["locks"] or member["call"]["standing"] == "canceled" for member in batch["calls"])
    width = max(span * (_ROOM if has_labels else 1), ticks[-1]["at"])
    pieces = [pieces_of(member, began, until) for member in batch["calls"]]
    names = names_of(batch)
    by_id = {member["call"]["invocation_id"]: names[number] for number, member in enumerate(batch["calls"])}
    rows = [
        row_of(member, names[number], pieces[number], began, width, by_id)
        for number, member in enumerate(batch["calls"])
    ]
    steps = count_parallel(pieces)
    return {
        "ticks": [{"x": round(100 * tick["at"] / width, 2), "text": tick["text"]} for tick in ticks],
        "now": None if batch["brief"]["is_over"] else round(100 * span / width, 2),
        "path": path_of(steps, width),
        "most": max((count for _, count in steps), default=0),
        "groups": groups_of(batch, rows, by),
    }


def _find_end(batch: Batch) -> int:
    """Returns the end of a batch, or the current time."""
    if not batch["brief"]["is_over"]:
        return microseconds(batch["now"])
    return max(microseconds(member["states"][-1]["at"]) for member in batch["calls"] if member["states"])


def ticks_of(span: float) -> list[JsonObject]:
    """Returns round times along the axis, from 0 to the end or a little later."""
    step = next(
        size * power
        for power in (10**exponent for exponent in range(16))
        for size in (1, 2, 5)
        if span <= size * power * (_MOST_TICKS - 1)
    )
    count = int(-(-span // step))
    return [{"at": number * step, "text": "0 s" if not number else took(number * step)} for number in range(count + 1)]


def names_of(batch: Batch) -> list[str]:
    """Returns the tools of the calls; repeated ones with a number."""
    names = [member["call"]["tool_name"] for member in batch["calls"]]
    counts, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return found


def row_of(
    member: Mapping[str, Any], name: str, pieces: list[TimePiece], began: int, width: float, names: Mapping[str, str]
) -> JsonObject:
    """Returns one call as a line of the chart."""
    call = member["call"]
    stands = state_of(call)
    has_run = any(piece.kind == "work" for piece in pieces)
    bars = [_bar(piece, stands["kind"], width) for piece in pieces]
    ended = member["states"][-1]["at"] if member["states"] else call["at"]
    end = max([piece.end for piece in pieces] or [microseconds(ended) - began])
    if not has_run and call["standing"] in ("canceled", "refused", "failed", "timed_out"):
        bars.append({"x": _percent(min(end, width), width), "width": 1.4, "class": "g-off", "is_hatched": False})
    locks = [lock["key"] for lock in member["locks"]]
    return {
        "id": call["invocation_id"],
        "index": member["index"],
        "name": name,
        "stands": stands,
        "bars": bars,
        "label": _label(member, locks, has_run, names),
        "label_x": min(_percent(min(end, width), width) + (0 if has_run or not bars else 1.4), 100.0),
        "says": _describe_bar(member, pieces, stands["word"], names),
        "took": sum(piece.end - piece.begin for piece in pieces) if pieces else None,
        "is_on_record": member["is_on_record"],
        "locks": locks,
        "is_read_only": member["is_read_only"],
    }


def _percent(at: float, width: float) -> float:
    return round(100 * max(0.0, at) / width, 2)


def _bar(piece: TimePiece, kind: str, width: float) -> JsonObject:
    colour = {"person": "g-wait", "turn": "g-idle"}.get(piece.kind) or bar_of(kind)
    x = min(_percent(piece.begin, width), 100 - _LEAST)
    return {
        "x": x,
        "width": max(_LEAST, round(_percent(piece.end, width) - x, 2)),
        "class": colour,
        "is_hatched": piece.kind != "work",
    }


def _label(member: Mapping[str, Any], locks: list[str], has_run: bool, names: Mapping[str, str]) -> str:
    """Returns the text beside a bar: the lock, or why the call never ran."""
    if member["call"]["standing"] == "canceled" and not has_run:
        cause = names.get(member["cause"] or "")
        return f"canceled: {cause} failed" if cause else "canceled before it began"
    if member["call"]["standing"] == "canceled" and member["cause"]:
        return f"stopped: {names.get(member['cause'], 'another')} failed"
    return join_words(locks[:2])


def _describe_bar(member: Mapping[str, Any], pieces: list[TimePiece], word: str, names: Mapping[str, str]) -> str:
    """Returns a bar in words, for people who cannot see it."""
    words = {"work": "ran", "person": "waited for a person", "turn": "waited for its turn"}
    parts = [f"{words[piece.kind]} from {took(piece.begin)} to {took(piece.end)}" for piece in pieces]
    after = [names[need] for need in member["depends_on"] if need in names]
    needs = f"; after {join_words(after)}" if after else ""
    return f"{word}: {', '.join(parts) or 'never began'}{needs}"


def count_parallel(pieces: list[list[TimePiece]]) -> list[tuple[float, int]]:
    """Returns the number of running calls, from each moment on at which it changed."""
    changes: dict[float, int] = defaultdict(int)
    for call in pieces:
        for piece in call:
            if piece.kind == "work":
                # Summed for each moment: calls that follow one another in the same microsecond do not overlap.
                changes[piece.begin] += 1
                changes[piece.end] -= 1
    found, running = [], 0
    for at in sorted(changes):
        running += changes[at]
        found.append((at, running))
    return found


def path_of(steps: list[tuple[float, int]], width: float) -> str:
    """Returns the number of running calls as the outline of an area, 100 wide and 40 high."""
    most = max((count for _, count in steps), default=0)
    if not most:
        return ""
    parts, height = [f"M{_percent(steps[0][0], width)} 40"], 40.0
    for at, count in steps:
        x, next_height = _percent(at, width), round(40 - 35 * count / most, 1)
        parts += [f"L{x} {height}", f"L{x} {next_height}"]
        height = next_height
    return " ".join([*parts, f"L{_percent(steps[-1][0], width)} 40 Z"])


def groups_of(batch: Batch, rows: list[JsonObject], by: str) -> list[JsonObject]:
    """Groups rows under headings: parallel reads and locked writes; or by lock; or in answer order."""
    if by == "order":
        return [{"heading": "In answer order", "rows": rows}]
    if by == "lock":
        keys = list(dict.fromkeys(key for row in rows for key in row["locks"]))
        found = [{"heading": f"Lock {key}", "rows": [row for row in rows if key in row["locks"]]} for key in keys]
        return [*found, {"heading": "Without a lock", "rows": [row for row in rows if not row["locks"]]}]
    reads = [row for row in rows if row["is_read_only"]]
    writes = [row for row in rows if not row["is_read_only"]]
    found = [
        {"heading": "Reads, in parallel", "rows": reads},
        {"heading": "Writes, one at a time for each lock", "rows": writes},
    ]
    return [group for group in found if group["rows"]]


def numbers_of(batch: Batch) -> JsonObject:
    """Returns the totals of a batch: successes, duration, parallel calls, and what delayed it."""
    began, until = microseconds(batch["brief"]["at"]), _find_end(batch)
    pieces = [pieces_of(member, began, until) for member in batch["calls"]]
    work = sum(piece.end - piece.begin for call in pieces for piece in call if piece.kind == "work")
    standings = batch["brief"]["standings"]
    bad = [pluralize(standings[name], word, word) for name, word in _BAD.items() if standings.get(name)]
    return {
        "succeeded": standings.get("succeeded", 0),
        "size": batch["brief"]["size"],
        "others": ", ".join(bad) or ("none failed" if batch["brief"]["is_over"] else "none failed so far"),
        "elapsed": until - began,
        "work": work,
        "most": max((count for _, count in count_parallel(pieces)), default=0),
        **find_delay(batch, pieces),
    }


_BAD = {"failed": "failed", "refused": "denied", "timed_out": "timed out", "canceled": "canceled", "unknown": "unknown",
        "waiting": "waiting", "running": "running"}  # fmt: skip


def find_delay(batch: Batch, pieces: list[list[TimePiece]]) -> JsonObject:
    """Returns what calls waited for longest, all together."""
    waited: Counter[str] = Counter()
    for number, member in enumerate(batch["calls"]):
        for piece in pieces[number]:
            if piece.kind == "person":
                waited["a person"] += round(piece.end - piece.begin)
        turns = sum(piece.end - piece.begin for piece in pieces[number] if piece.kind == "turn")
        for lock in member["locks"]:
            time = measure_lock_wait(lock["key"], number, batch, pieces)
            waited[lock["key"]] += round(time)
            turns -= time
        waited["other calls"] += round(max(0.0, turns))
    name, time = max(waited.items(), key=lambda pair: pair[1], default=("", 0))
    return {"held_by": name, "held_for": time} if time else {"held_by": "nothing", "held_for": 0}


def measure_lock_wait(key: str, number: int, batch: Batch, pieces: list[list[TimePiece]]) -> float:
    """Returns how long a call waited while another one had a lock that it needs."""
    others = [
        piece
        for other, member in enumerate(batch["calls"])
        if other != number and any(lock["key"] == key for lock in member["locks"])
        for piece in pieces[other]
        if piece.kind == "work"
    ]
    waits = [piece for piece in pieces[number] if piece.kind == "turn"]
    return sum(max(0.0, min(wait.end, held.end) - max(wait.begin, held.begin)) for wait in waits for held in others)


def locks_of(batch: Batch) -> list[JsonObject]:
    """Returns each lock: who has it, how many wait for it, and how long they waited."""
    began, until = microseconds(batch["brief"]["at"]), _find_end(batch)
    names, found = names_of(batch), dict[str, dict[str, Any]]()
    pieces = [pieces_of(member, began, until) for member in batch["calls"]]
    for number, member in enumerate(batch["calls"]):
        for lock in member["locks"]:
            known = found.setdefault(lock["key"], {"key": lock["key"], "mode": lock["mode"], "held_by": [], "waiting": 0,
                                                   "calls": 0, "waited": 0.0})  # fmt: skip
            known["calls"] += 1
            known["waited"] += measure_lock_wait(lock["key"], number, batch, pieces)
            if member["call"]["status"] in _WORK:
                known["held_by"].append(names[number])
            elif member["call"]["standing"] == "running":
                known["waiting"] += 1
    return list(found.values())


def answers_of(batch: Batch) -> JsonObject:
    """Returns how many answers were given; they are given in call order."""
    names = names_of(batch)
    ended = [member["call"]["standing"] not in ("running", "waiting", "unknown") for member in batch["calls"]]
    given = next((number for number, is_over in enumerate(ended) if not is_over), len(ended))
    return {
        "given": given,
        "size": batch["brief"]["size"],
        "next": f"{names[given]}, call {given + 1}" if given < len(names) else "",
        "on_failure": POLICIES.get(batch["sibling_failure_policy"], batch["sibling_failure_policy"]),
        "ordering": batch["ordering_policy"].replace("_", " "),
    }
