"""The states of an invocation: every pair of them."""

from __future__ import annotations

from itertools import product

import pytest

from ferrule.model.lifecycle import PHASES, STATES, TERMINAL, TRANSITIONS, IllegalTransition, State, check_transition

LEGAL = {
    "planned": "selected arguments_ready schema_parse_failed blocked failed canceled",
    "selected": "arguments_ready schema_parse_failed blocked failed canceled",
    "arguments_ready": "validation_failed pre_hooks_running awaiting_approval approved denied blocked queued running "
    "failed canceled",
    "pre_hooks_running": "awaiting_approval approved denied blocked queued running validation_failed failed canceled "
    "timed_out",
    "awaiting_approval": "approved denied blocked canceled timed_out",
    "approved": "queued running awaiting_approval validation_failed blocked canceled",
    "queued": "running awaiting_approval blocked failed canceled timed_out",
    "running": "needs_input partial_result post_hooks_running yielded succeeded failed canceled timed_out",
    "needs_input": "running failed canceled timed_out",
    "partial_result": "partial_result running needs_input post_hooks_running yielded succeeded failed canceled timed_out",
    "post_hooks_running": "yielded succeeded failed canceled timed_out",
    "yielded": "succeeded failed canceled timed_out running partial_result post_hooks_running",
    "schema_parse_failed": "",
    "validation_failed": "",
    "denied": "",
    "blocked": "",
    "succeeded": "",
    "failed": "",
    "canceled": "",
    "timed_out": "",
}
"""Written from the standard, not from the code."""
ENDS = {name for name, after in LEGAL.items() if not after}
PAIRS = list(product(STATES, STATES))


def is_refused(old: State | None, new: State) -> bool:
    try:
        check_transition(old, new)
    except IllegalTransition as error:
        assert new in str(error)
        return True
    return False


def test_at_92_there_are_the_twenty_states() -> None:
    """AT-92"""
    assert len(STATES) == 20
    assert set(STATES) == set(LEGAL) == set(TRANSITIONS)


def test_at_93_every_pair_of_states() -> None:
    """AT-93: only the moves of the table occur, over all 20 x 20 pairs."""
    assert len(PAIRS) == 400
    assert {(old, new) for old, new in PAIRS if not is_refused(old, new)} == {
        (old, new) for old, after in LEGAL.items() for new in after.split()
    }


def test_at_93_a_call_begins_early() -> None:
    """AT-93: the first state is planned, selected or arguments_ready."""
    assert {state for state in STATES if not is_refused(None, state)} == {"planned", "selected", "arguments_ready"}


@pytest.mark.parametrize("old", sorted(ENDS))
def test_at_94_a_terminal_state_is_final(old: State) -> None:
    """AT-94"""
    assert old in TERMINAL
    assert all(is_refused(old, new) for new in STATES)


def test_at_94_nothing_else_is_terminal() -> None:
    """AT-94"""
    assert set(TERMINAL) == ENDS


def test_at_95_inapplicable_states_are_skipped() -> None:
    """AT-95: the shortest path of a tool without hooks, questions or a queue."""
    path: tuple[State, ...] = ("arguments_ready", "running", "succeeded")
    assert not any(is_refused(old, new) for old, new in zip((None, *path), path, strict=False))


@pytest.mark.parametrize("new", ["queued", "running", "succeeded"])
def test_at_96_a_question_cannot_be_skipped(new: State) -> None:
    """AT-96"""
    assert is_refused("awaiting_approval", new)


def test_at_104_there_are_thirteen_phases_in_the_standards_order() -> None:
    """AT-104"""
    assert PHASES == (
        "resolve_tool", "parse_schema", "check_schema_loaded", "validate_values", "prepare_observable_input",
        "pre_hooks", "permission", "schedule", "execute", "map_result", "post_hooks", "persist_result", "emit_terminal",
    )  # fmt: skip
