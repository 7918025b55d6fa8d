"""The states of an invocation, the moves between them, and the thirteen phases that make the moves (AT-90 to AT-104).

Names here are the names in code, in events, in `ferrule explain` and on the console.
"""

from __future__ import annotations

from typing import Literal, get_args

State = Literal[
    "planned",
    "selected",
    "schema_parse_failed",
    "arguments_ready",
    "validation_failed",
    "pre_hooks_running",
    "awaiting_approval",
    "approved",
    "denied",
    "queued",
    "running",
    "needs_input",
    "partial_result",
    "post_hooks_running",
    "yielded",
    "succeeded",
    "failed",
    "canceled",
    "timed_out",
    "blocked",
]
STATES: tuple[State, ...] = get_args(State)
"""In the standard's order; records on disk store a state as its place in this tuple, so new ones go at the end."""

Phase = Literal[
    "resolve_tool",
    "parse_schema",
    "check_schema_loaded",
    "validate_values",
    "prepare_observable_input",
    "pre_hooks",
    "permission",
    "schedule",
    "execute",
    "map_result",
    "post_hooks",
    "persist_result",
    "emit_terminal",
]
# Records on disk hold a phase as its place in this tuple, in four bits (`journal.phase_times`).
PHASES: tuple[Phase, ...] = get_args(Phase)

_LATE: tuple[State, ...] = ("succeeded", "failed", "canceled", "timed_out")

TRANSITIONS: dict[State, frozenset[State]] = {
    "planned": frozenset({"selected", "arguments_ready", "schema_parse_failed", "blocked", "failed", "canceled"}),
    "selected": frozenset({"arguments_ready", "schema_parse_failed", "blocked", "failed", "canceled"}),
    "arguments_ready": frozenset(
        {
            "validation_failed",
            "pre_hooks_running",
            "awaiting_approval",
            "approved",
            "denied",
            "blocked",
            "queued",
            "running",
            "failed",
            "canceled",
        }
    ),
    "pre_hooks_running": frozenset(
        {
            "awaiting_approval",
            "approved",
            "denied",
            "blocked",
            "queued",
            "running",
            "validation_failed",
            "failed",
            "canceled",
            "timed_out",
        }
    ),
    "awaiting_approval": frozenset({"approved", "denied", "blocked", "canceled", "timed_out"}),
    "approved": frozenset({"queued", "running", "awaiting_approval", "validation_failed", "blocked", "canceled"}),
    "queued": frozenset({"running", "awaiting_approval", "blocked", "failed", "canceled", "timed_out"}),
    "running": frozenset({"needs_input", "partial_result", "post_hooks_running", "yielded", *_LATE}),
    "needs_input": frozenset({"running", "failed", "canceled", "timed_out"}),
    "partial_result": frozenset({"partial_result", "running", "needs_input", "post_hooks_running", "yielded", *_LATE}),
    "post_hooks_running": frozenset({"yielded", *_LATE}),
    "yielded": frozenset({*_LATE, "running", "partial_result", "post_hooks_running"}),
    "schema_parse_failed": frozenset(),
    "validation_failed": frozenset(),
    "denied": frozenset(),
    "blocked": frozenset(),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "canceled": frozenset(),
    "timed_out": frozenset(),
}
"""The states an invocation may go to from each state (AT-93). Terminal states have none (AT-94)."""

STARTS: frozenset[State] = frozenset({"planned", "selected", "arguments_ready"})
TERMINAL: frozenset[State] = frozenset(state for state, nexts in TRANSITIONS.items() if not nexts)


class IllegalTransition(AssertionError):
    """A bug of ours: a state was about to change in a way that is not allowed. Nothing was changed."""


def check_transition(old: State | None, new: State) -> None:
    """Raises IllegalTransition unless an invocation may go from `old` (None: not begun) to `new`."""
    legal = STARTS if old is None else TRANSITIONS[old]
    if new not in legal:
        raise IllegalTransition(f"an invocation cannot go from {old or 'the start'} to {new}")
