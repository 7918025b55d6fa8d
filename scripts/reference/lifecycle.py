"""The page of states and phases: where a call can go, and what each phase does."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from inspect import getdoc

from ferrule.model.lifecycle import PHASES, STARTS, STATES, TERMINAL, TRANSITIONS, Phase, State
from scripts.reference.cells import cell

_INTRODUCTION = """\
# The life of a call

Every call takes the same thirteen phases and goes through the states of the Agent Tool standard. Names are the same in code, in
events, in `ferrule explain` and here. A state that does not apply is skipped: a call without hooks has no hook states.
"""
_BEGINS = "The first state is one of {starts}. No other move than these is ever made."


def page() -> str:
    """The phases, the states, and the moves between them."""
    lines = [_INTRODUCTION, "## Phases", "", "| | phase | |", "|---|---|---|"]
    lines += [f"| {number} | `{phase}` | {_phase_text(phase)} |" for number, phase in enumerate(PHASES, 1)]
    lines += ["", "A failure before `execute` goes on with `persist_result`; one of `execute` with `post_hooks`.", ""]
    lines += ["## States", "", _BEGINS.format(starts=_names(sorted(STARTS, key=STATES.index))), ""]
    lines += ["| state | may become |", "|---|---|"]
    for state in STATES:
        after = sorted(TRANSITIONS[state], key=STATES.index)
        lines.append(f"| `{state}` | {'*the end*' if state in TERMINAL else _names(after)} |")
    return "\n".join([*lines, ""])


def _names(states: Iterable[State]) -> str:
    return ", ".join(f"`{state}`" for state in states)


def _phase_text(phase: Phase) -> str:
    """What a phase says about itself: its module's first sentence, without its number."""
    text = getdoc(import_module(f"ferrule.runtime.pipeline.phases.{phase}")) or ""
    first = text.split("\n\n")[0].replace("\n", " ").partition(": ")[2]
    return cell(first[:1].upper() + first[1:])
