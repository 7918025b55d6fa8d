"""Orders the steps of a call that one row tells.

A row keeps states, decisions, changes and hooks in lists of their own. Their clocks may be too coarse to tell which
came first, so the place of a step in a call's life counts before its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from ferrule.model.approval import Answer
from ferrule.model.decision import Decision
from ferrule.model.journal import HookRun, Mutation, Segment, StoredEntry, state_times
from ferrule.model.lifecycle import STARTS, STATES, TERMINAL, State
from ferrule.model.news import HAPPENED


class StateEntered(NamedTuple):
    """The call went on to a state."""

    state: State
    before: State | None
    """The state it left; None when the row does not tell."""


class DecisionMade(NamedTuple):
    """A decision was made."""

    decision: Decision


class InputMutated(NamedTuple):
    """An input was changed."""

    mutation: Mutation


class HookBegan(NamedTuple):
    """A hook was started."""

    run: HookRun


class HookEnded(NamedTuple):
    """A hook gave its answer."""

    run: HookRun


class OtherEvent(NamedTuple):
    """Something rare, already in the words of its event."""

    event: str
    data: dict[str, Any]


class AnswerGiven(NamedTuple):
    """A person answered. What follows from it is decided when the call goes on."""

    answer: Answer


Fact: TypeAlias = StateEntered | DecisionMade | InputMutated | HookBegan | HookEnded | OtherEvent | AnswerGiven


class CallStep(NamedTuple):
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


class _PlacedStep(NamedTuple):
    """A step that has no place yet: it comes after the states of its place, and before the first later one."""

    place: int
    step: CallStep

    def comes_before(self, state: State, entered: int) -> bool:
        place = _PLACES[state]
        return place == _LAST or (place > self.place and self.step.at <= entered)


def is_first(row: StoredEntry, segment: Segment) -> bool:
    """Returns True for the row that begins a call."""
    return row.kind == "call" or (bool(segment.states) and STATES[segment.states[0] & 31] in STARTS)


def order_steps(row: StoredEntry, segment: Segment) -> list[CallStep]:
    """Orders the steps that a row tells of its call."""
    states = _list_states(row, segment)
    facts, decisions = _sort_facts(segment), list(segment.decisions)
    before: State | None = None
    found: list[CallStep] = []
    for number, (state, entered) in enumerate(states):
        found += _take_earlier(facts, state, entered)
        will_ask = any(later == "awaiting_approval" for later, _ in states[number + 1 :])
        # Decisions keep their own order; only their place among the states is worked out.
        while decisions and _is_decided_before(decisions[0], state, will_ask):
            found.append(_make_decision_step(decisions.pop(0), segment, entered))
        found.append(CallStep(entered, StateEntered(state, before)))
        before = state
    found += (fact.step for fact in facts)
    found += (_make_decision_step(decision, segment) for decision in decisions)
    return _make_monotonic(found)


def _list_states(row: StoredEntry, segment: Segment) -> list[tuple[State, int]]:
    states = state_times(segment)
    if is_first(row, segment) and (not states or states[0][0] != "planned"):
        # Every call begins as planned, which is not written down.
        states.insert(0, ("planned", 0))
    return states


def _sort_facts(segment: Segment) -> list[_PlacedStep]:
    return sorted(_find_facts(segment), key=lambda fact: fact.step.at)


def _find_facts(segment: Segment) -> Iterator[_PlacedStep]:
    for run in segment.hooks:
        place = _HOOK_PLACES.get(run.hook_event, 3)
        yield _PlacedStep(place, CallStep(run.started, HookBegan(run)))
        yield _PlacedStep(place, CallStep(run.ended, HookEnded(run)))
    for mutation in segment.mutations:
        yield _PlacedStep(_MUTATION_PLACES.get(mutation.source_type, 1), CallStep(mutation.at, InputMutated(mutation)))
    # An answer that became a decision is told by that decision.
    if segment.answer is not None and all(decision.by != segment.answer.by for decision in segment.decisions):
        at = (segment.answer.answered_at - segment.created_at) * 1000
        yield _PlacedStep(4, CallStep(at, AnswerGiven(segment.answer)))
    for happened in segment.notes.get(HAPPENED, ()):
        fact = OtherEvent(happened["event"], happened.get("data", {}))
        yield _PlacedStep(7, CallStep(happened.get("at", 0), fact))


def _make_decision_step(decision: Decision, segment: Segment, latest: int | None = None) -> CallStep:
    """Makes the step of a decision. Its time of day may jump when the clock is set; states use a monotonic clock."""
    at = (decision.decided_at - segment.created_at) * 1000
    return CallStep(at if latest is None else min(at, latest), DecisionMade(decision))


def _is_decided_before(decision: Decision, state: State, will_ask: bool) -> bool:
    """Returns True when a decision was made before its call entered a state."""
    behavior, place = decision.ruling.behavior, _PLACES[state]
    if place == _LAST:
        return True
    # 4 is the place of `awaiting_approval` among the states, 3 that of `pre_hooks_running`.
    if behavior == "ask":
        return state == "awaiting_approval" or (place > 4 and not will_ask)
    return place > (3 if behavior == "passthrough" else 4)


def _take_earlier(facts: list[_PlacedStep], state: State, entered: int) -> list[CallStep]:
    """Takes the facts that come before a state out of the list."""
    taken = [fact.step for fact in facts if fact.comes_before(state, entered)]
    facts[:] = [fact for fact in facts if not fact.comes_before(state, entered)]
    return taken


def _make_monotonic(steps: list[CallStep]) -> list[CallStep]:
    """Returns the steps with times that never go back, whatever the clocks said."""
    latest = 0
    for number, step in enumerate(steps):
        if step.at < latest:
            steps[number] = CallStep(latest, step.fact)
        else:
            latest = step.at
    return steps
