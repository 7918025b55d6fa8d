"""The parts of a call's record: what is read before it was filled is a mistake of ours, and says whose turn it was."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ferrule.contracts.executor import Output
from ferrule.model.decision import Decision, Ruling
from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation
from ferrule.model.result import Result
from ferrule.runtime.pipeline.call_parts import UNJUDGED, CallEnding, CallInputs, CallJudgement, ReadTooEarly

EARLY: dict[str, tuple[Callable[[], object], str, str]] = {
    "arguments": (lambda: CallInputs(b"{}").require_arguments(), "arguments", "parse_schema"),
    "decision": (lambda: UNJUDGED.require_decision(), "decision", "permission"),
    "output": (lambda: CallEnding().require_output(), "output", "execute"),
    "stop": (lambda: CallEnding().require_stop(), "stop", "stop_call"),
    "result": (lambda: CallEnding().require_result(), "result", "map_result"),
}


@pytest.mark.parametrize("name", EARLY)
def test_what_is_read_too_early_says_what_and_who_fills_it(name: str) -> None:
    read, part, phase = EARLY[name]
    with pytest.raises(ReadTooEarly, match=f"^the {part} of the call was read before `{phase}` filled it$"):
        read()


def test_what_was_filled_is_given() -> None:
    stop = Stop("execution_failed", "no")
    result = Result(invocation_id="inv_1", status="failed", created_at=0, content=())
    ending = CallEnding(output=Output(1), stop=stop, result=result)
    assert ending.require_output().value == 1
    assert (ending.require_stop(), ending.require_result()) == (stop, result)
    decision = Decision(Ruling("allow", "", "rule"), 0)
    assert CallJudgement(decisions=(Decision(Ruling("deny", "", "rule"), 0), decision)).require_decision() is decision
    assert CallInputs(b"{}", arguments={}).require_arguments() == {}, "no arguments are arguments"


def test_the_input_that_would_run_is_the_last_one() -> None:
    inputs = CallInputs(b"{}")
    assert inputs.current == b"{}"
    inputs.mutate(Mutation("hook", "guard", ("a",), 1), {"a": 1}, b'{"a":1}')
    assert (inputs.current, inputs.model_input, inputs.require_arguments()) == (b'{"a":1}', b"{}", {"a": 1})


def test_the_judgement_that_calls_share_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        UNJUDGED.decisions = ()  # type: ignore[misc]
    assert msgspec.structs.replace(UNJUDGED, hook_allows=("guard",)).hook_allows == ("guard",)
    assert CallJudgement() == UNJUDGED
