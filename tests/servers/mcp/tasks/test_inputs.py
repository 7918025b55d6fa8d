"""What the client of a task is asked, and what is an answer to it."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.servers.mcp.tasks.inputs import find_questions, why_unusable
from tests.ledger.history.rows import SCENARIOS, Ledger

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
FORM = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": SCHEMA}}
ROOTS = {"method": "roots/list"}
SAMPLING = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (FORM, {"action": "accept", "content": {"name": "ann"}}),
        (FORM, {"action": "decline"}),
        (ROOTS, {"roots": []}),
        (SAMPLING, {"role": "assistant", "content": {"type": "text", "text": "x"}}),
    ],
)
def test_an_answer_that_fits_its_request_has_no_problem(request_: dict[str, Any], answer: Any) -> None:
    assert why_unusable(request_, answer) is None


@pytest.mark.parametrize(
    ("request_", "answer", "problem"),
    [
        (FORM, [], "it is no object"),
        (FORM, {"action": "perhaps"}, "none of accept, decline, cancel"),
        (FORM, {"action": "accept"}, "its content is no object"),
        (FORM, {"action": "accept", "content": {"name": 7}}, "its content does not fit the form"),
        (ROOTS, {"roots": {}}, "it has no roots"),
        (SAMPLING, {"content": "x"}, "it is no message of a model"),
    ],
)
def test_what_is_no_answer_is_told_why(request_: dict[str, Any], answer: Any, problem: str) -> None:
    assert problem in (why_unusable(request_, answer) or "")


def test_a_call_that_waits_for_nobody_or_for_a_person_asks_its_client_nothing() -> None:
    ledger = Ledger()
    SCENARIOS["success"](ledger)
    assert find_questions([]) is None and find_questions(ledger.rows) is None
