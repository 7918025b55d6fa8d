"""The thirteen phases of a call as a timeline: bars in percent of the width, the outcome of each phase, and its facts.

Waits are hatched, brass for a person and grey for a lock or a turn, and drawn no wider than the work, so that the work
stays visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from ferrule.model.lifecycle import PHASES
from ferrule.model.value import JsonObject
from ferrule.servers.console.calls.call_words import Story, microseconds
from ferrule.servers.console.calls.phases import describe_phase, list_details

_OPENING = PHASES[:9]
_WAITS: dict[str, tuple[Literal["person", "turn"], str]] = {
    "awaiting_approval": ("person", "permission"),
    "needs_input": ("person", "execute"),
    "queued": ("turn", "schedule"),
}
_LEAST = 0.6
"""The narrowest bar, in percent; anything shorter would be invisible."""
_HOOK_PHASES = {"pre_hooks": ("pre", "permission"), "post_hooks": ("post", "result")}


class TimelineWait(NamedTuple):
    """A time in which the call waited. Microseconds since it was planned."""

    begin: float
    end: float
    kind: Literal["person", "turn"]
    phase: str
    is_open: bool = False


class PhaseBar(NamedTuple):
    """One run of a phase."""

    phase: str
    begin: float
    end: float


def timeline_of(story: Story, now: int) -> JsonObject:
    """Returns the phases of a call, one row each. `now`: microseconds since 1970."""
    waits, total = waits_of(story, now), total_of(story, now)
    runs, place = runs_of(story, waits), make_scale(total, waits)
    idle = sum(wait.end - wait.begin for wait in waits)
    stopped, current = _find_stop(story), _find_current(story)
    rows = []
    for number, phase in enumerate(PHASES, 1):
        mine = [run for run in runs if run.phase == phase]
        held = [wait for wait in waits if wait.phase == phase]
        kind, word = _describe_state(story, phase, mine, held, stopped, current)
        bars = [*_draw_work(mine, held, place, _colour(phase, kind)), *_draw_waits(held, place)]
        took = sum(run.end - run.begin for run in _remove_waits(mine, held)) + sum(
            wait.end - wait.begin for wait in held
        )
        if phase == current and not held:
            begin = max((run.end for run in runs), default=0.0)
            bars.append(_bar(place, begin, max(begin, total), "g-act"))
            took = max(0.0, total - begin)
        rows.append(
            {
                "number": number,
                "phase": phase,
                "kind": kind,
                "word": word,
                "bars": bars,
                "took": took if mine or held or phase == current else None,
                "says": describe_phase(phase, story),
                "facts": list_details(phase, story, has_stopped=phase == stopped),
                "is_open": phase == stopped or any(wait.kind == "person" for wait in held),
            }
        )
    return {"phases": rows, "total": total, "work": max(0.0, total - idle), "has_wait": bool(waits)}


def total_of(story: Story, now: int) -> float:
    """Returns how long the call took, or has been running."""
    created = microseconds(story["created_at"])
    return float(max(0, (microseconds(story["ended_at"]) if story["ended_at"] else now) - created))


def waits_of(story: Story, now: int) -> list[TimelineWait]:
    """Returns the waits of a call, in order."""
    created, moves = microseconds(story["created_at"]), story["transitions"]
    found: list[TimelineWait] = []
    before = story.get("batch", {}).get("waited_ms")
    if before:
        found.append(TimelineWait(0, before * 1000, "turn", PHASES[0]))
    for number, move in enumerate(moves):
        if move["to"] not in _WAITS:
            continue
        kind, phase = _WAITS[move["to"]]
        is_open = number + 1 == len(moves)
        end = now if is_open else microseconds(moves[number + 1]["at"])
        begin = microseconds(move["at"]) - created
        found.append(TimelineWait(begin, max(begin, end - created), kind, phase, is_open and not story["ended_at"]))
    return found


def runs_of(story: Story, waits: Iterable[TimelineWait]) -> list[PhaseBar]:
    """Returns every run of a phase. The start of the first one after a wait is not recorded, so it is the end of the
    wait.
    """
    found: list[PhaseBar] = []
    for record in story["phases"]:
        if not record["ran"]:
            continue
        end = record["ended_after_ms"] * 1000
        if record["duration_ms"] is not None:
            begin = end - record["duration_ms"] * 1000
        else:
            begins = [wait.end for wait in waits if wait.end <= end]
            begin = max([*begins, found[-1].end if found else 0.0])
        found.append(PhaseBar(record["phase"], max(0.0, min(begin, end)), end))
    return found


def make_scale(total: float, waits: list[TimelineWait]) -> Callable[[float], float]:
    """Returns a function from a moment to its place in percent. All waits together are drawn no wider than the work."""
    idle = sum(wait.end - wait.begin for wait in waits)
    work = max(total - idle, 0.0)
    factor = min(1.0, work / idle) if idle and work else 1.0
    drawn = work + idle * factor

    def place(at: float) -> float:
        waited = sum(min(max(at - wait.begin, 0.0), wait.end - wait.begin) for wait in waits)
        return 100 * (min(at, total) - waited * (1 - factor)) / drawn if drawn else 0.0

    return place


def _remove_waits(runs: list[PhaseBar], waits: list[TimelineWait]) -> list[PhaseBar]:
    """Returns runs without the waits inside them."""
    pieces = runs
    for wait in waits:
        pieces = [piece for run in pieces for piece in _cut(run, wait)]
    return pieces


def _cut(run: PhaseBar, wait: TimelineWait) -> list[PhaseBar]:
    if wait.end <= run.begin or wait.begin >= run.end:
        return [run]
    before, after = run._replace(end=max(run.begin, wait.begin)), run._replace(begin=min(run.end, wait.end))
    return [piece for piece in (before, after) if piece.end > piece.begin]


def _draw_work(
    runs: list[PhaseBar], waits: list[TimelineWait], place: Callable[[float], float], colour: str
) -> list[JsonObject]:
    return [_bar(place, run.begin, run.end, colour) for run in _remove_waits(runs, waits)]


def _draw_waits(waits: list[TimelineWait], place: Callable[[float], float]) -> list[JsonObject]:
    colours = {"person": "g-wait", "turn": "g-idle"}
    return [{**_bar(place, wait.begin, wait.end, colours[wait.kind]), "is_hatched": True} for wait in waits]


def _bar(place: Callable[[float], float], begin: float, end: float, colour: str) -> JsonObject:
    width = max(_LEAST, place(end) - place(begin))
    x = min(place(begin), 100 - width)
    return {"x": round(max(0.0, x), 2), "width": round(min(width, 100.0), 2), "class": colour, "is_hatched": False}


def _colour(phase: str, kind: str) -> str:
    shapes = {"bad": "g-bad", "deny": "g-deny", "time": "g-bad"}
    return shapes.get(kind, "g-act" if phase == "execute" else "g-idle" if phase == "schedule" else "g-ok")


def _find_stop(story: Story) -> str | None:
    """Returns the phase in which a call ended without success; None for any other call."""
    if not story["ended_at"] or story["status"] == "succeeded":
        return None
    ran = [record["phase"] for record in story["phases"] if record["ran"] and record["phase"] in _OPENING]
    return ran[-1] if ran else None


def _find_current(story: Story) -> str | None:
    """Returns the phase that a running call is in."""
    if story["ended_at"] or story["status"] in ("awaiting_approval", "needs_input"):
        return None
    if story["status"] == "queued":
        return "schedule"
    ran = {record["phase"] for record in story["phases"] if record["ran"]}
    last = max((PHASES.index(phase) for phase in PHASES if phase in ran), default=-1)
    return PHASES[min(last + 1, len(PHASES) - 1)]


def _describe_state(
    story: Story, phase: str, runs: list[PhaseBar], waits: list[TimelineWait], stopped: str | None, current: str | None
) -> tuple[str, str]:  # fmt: skip
    """Returns the shape and the word of a phase."""
    people = [wait for wait in waits if wait.kind == "person"]
    if any(wait.is_open for wait in waits):
        return ("wait", "waits for a person") if people else ("queue", "queued")
    if phase == stopped:
        return _ENDS.get(story["status"], ("bad", "failed here"))
    if phase == current:
        return "run", "running"
    if people:
        return "wait", "waited for a person"
    if not runs:
        return ("skip", "did not run") if story["ended_at"] else ("queue", "not yet")
    hooks = _HOOK_PHASES.get(phase)
    if hooks and not any(hook["hook_event"].startswith(hooks) for hook in story.get("hooks", ())):
        return "skip", "nothing to do"
    return "ok", "passed"


_ENDS = {
    "denied": ("deny", "denied here"),
    "blocked": ("deny", "blocked here"),
    "canceled": ("off", "canceled here"),
    "timed_out": ("time", "timed out here"),
}
