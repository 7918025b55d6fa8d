"""What one row tells of a call, as one line of steps in the order in which they happened.

A row keeps states, decisions, changes and hooks in lists of their own. Their clocks may be too coarse to tell which came
first, so the place of a step in a call's life counts before its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from ferrule.model.approval import Answer
from ferrule.model.decision import Decision
from ferrule.model.journal import HookRun, Mutation, Segment, StoredEntry, state_times
from ferrule.model.lifecycle import STARTS, STATES, TERMINAL, State
from ferrule.model.news import HAPPENED


class Entered(NamedTuple):
    """The call went on to a state."""

    state: State
    before: State | None
    """The state it left; None when the row does not tell."""


class Decided(NamedTuple):
    """A decision was made."""

    decision: Decision


class Mutated(NamedTuple):
    """An input was changed."""

    mutation: Mutation


class HookBegan(NamedTuple):
    """A hook was started."""

    run: HookRun


class HookEnded(NamedTuple):
    """A hook gave its answer."""

    run: HookRun


class Happened(NamedTuple):
    """Something rare, already in the words of its event."""

    event: str
    data: dict[str, Any]


class Answered(NamedTuple):
    """A person answered. What follows from it is decided when the call goes on."""

    answer: Answer


Fact: TypeAlias = Entered | Decided | Mutated | HookBegan | HookEnded | Happened | Answered


class Step(NamedTuple):
    """One thing that happened to a call."""

    at: int
    """Nanoseconds since the call was planned."""
    fact: Fact


_PLACES: dict[State, int] = {
    "planned": 0,
    "selected": 1,
    "arguments_ready": 2,
    "pre_hooks_running": 3,
    "awaiting_approval": 4,
    "approved": 5,
    "queued": 6,
    "running": 7,
    "needs_input": 8,
    "partial_result": 8,
    "post_hooks_running": 9,
    "yielded": 10,
    **dict.fromkeys(TERMINAL, 11),
}
_MUTATION_PLACES = {"hook": 3, "permission_prompt": 4}
_HOOK_PLACES = {"post_tool_use": 9, "post_tool_use_failure": 9, "result_persistence": 10}
_LAST = 11


class _Waiting(NamedTuple):
    """A step that has no place yet: it comes after the states of its place, and before the first later one."""

    place: int
    step: Step

    def comes_before(self, state: State, entered: int) -> bool:
        place = _PLACES[state]
        return place == _LAST or (place > self.place and self.step.at <= entered)


def is_first(row: StoredEntry, segment: Segment) -> bool:
    """True for the row that begins a call."""
    return row.kind == "call" or (bool(segment.states) and STATES[segment.states[0] & 31] in STARTS)


def steps_of(row: StoredEntry, segment: Segment) -> list[Step]:
    """What a row tells of its call, in order."""
    states = _states(row, segment)
    facts, decisions = _facts(segment), list(segment.decisions)
    before: State | None = None
    found: list[Step] = []
    for number, (state, entered) in enumerate(states):
        found += _taken(facts, state, entered)
        will_ask = any(later == "awaiting_approval" for later, _ in states[number + 1 :])
        while decisions and _led_to(decisions[0], state, will_ask):
            found.append(_decided(decisions.pop(0), segment, entered))
        found.append(Step(entered, Entered(state, before)))
        before = state
    found += (fact.step for fact in facts)
    found += (_decided(decision, segment) for decision in decisions)
    return _in_time(found)


def _states(row: StoredEntry, segment: Segment) -> list[tuple[State, int]]:
    states = state_times(segment)
    if is_first(row, segment) and (not states or states[0][0] != "planned"):
        states.insert(0, ("planned", 0))
    return states


def _facts(segment: Segment) -> list[_Waiting]:
    return sorted(_unsorted(segment), key=lambda fact: fact.step.at)


def _unsorted(segment: Segment) -> Iterator[_Waiting]:
    for run in segment.hooks:
        place = _HOOK_PLACES.get(run.hook_event, 3)
        yield _Waiting(place, Step(run.started, HookBegan(run)))
        yield _Waiting(place, Step(run.ended, HookEnded(run)))
    for mutation in segment.mutations:
        yield _Waiting(_MUTATION_PLACES.get(mutation.source_type, 1), Step(mutation.at, Mutated(mutation)))
    if segment.answer is not None and all(decision.by != segment.answer.by for decision in segment.decisions):
        at = (segment.answer.answered_at - segment.created_at) * 1000
        yield _Waiting(4, Step(at, Answered(segment.answer)))
    for happened in segment.notes.get(HAPPENED, ()):
        fact = Happened(happened["event"], happened.get("data", {}))
        yield _Waiting(7, Step(happened.get("at", 0), fact))


def _decided(decision: Decision, segment: Segment, latest: int | None = None) -> Step:
    """Decisions carry the time of day, which may have been set anew meanwhile; states do not."""
    at = (decision.decided_at - segment.created_at) * 1000
    return Step(at if latest is None else min(at, latest), Decided(decision))


def _led_to(decision: Decision, state: State, will_ask: bool) -> bool:
    """True when a decision was made before its call entered a state."""
    behavior, place = decision.ruling.behavior, _PLACES[state]
    if place == _LAST:
        return True
    if behavior == "ask":
        return state == "awaiting_approval" or (place > 4 and not will_ask)
    return place > (3 if behavior == "passthrough" else 4)


def _taken(facts: list[_Waiting], state: State, entered: int) -> list[Step]:
    """Takes out of the list what comes before a state."""
    taken = [fact.step for fact in facts if fact.comes_before(state, entered)]
    facts[:] = [fact for fact in facts if not fact.comes_before(state, entered)]
    return taken


def _in_time(steps: list[Step]) -> list[Step]:
    """The steps with times that never go back, whatever the clocks said."""
    latest = 0
    for number, step in enumerate(steps):
        if step.at < latest:
            steps[number] = Step(latest, step.fact)
        else:
            latest = step.at
    return steps
