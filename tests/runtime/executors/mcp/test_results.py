"""A server of the newest revision that asks before it goes on: the call waits for a person, and goes on with the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import InboxError
from ferrule.model.approval import Identity
from ferrule.model.result import Pending, Result
from ferrule.model.upstreams import McpServerSettings
from ferrule.runtime.executors.mcp.results import QuestionState, output_of, question_of, responses_of
from tests.runtime.executors.mcp.imported_apps import far_app, play, program
from tests.runtime.executors.mcp.servers import HttpServer, Notes

OWNER = Identity("owner", "console", frozenset({"approve", "admin"}))


@pytest.mark.parametrize("way", ["program", "http"])
def test_a_question_parks_the_call_and_its_answer_goes_back_once(
    tmp_path: Path, official: HttpServer, way: str
) -> None:
    async def story() -> None:
        notes = Notes(tmp_path) if way == "program" else official.notes
        asked, paid = notes.count("asked"), notes.count("paid")
        server = program(tmp_path) if way == "program" else McpServerSettings(url=official.url())
        async with far_app(server) as app:
            waiting = await app.surface().call("ask", {"amount": 42})
            assert isinstance(waiting, Pending), waiting
            inbox = app.inbox(OWNER)
            (card,) = await inbox.pending()
            assert "Who is it for?" in str(card)
            with pytest.raises(InboxError, match="not what the tool asked for"):
                await inbox.answer(waiting.invocation_id, {"name": 7})
            answered = await inbox.answer(waiting.invocation_id, {"name": "Ada"})
            assert isinstance(answered.result, Result)
            assert answered.result.status == "succeeded", answered.result.error
            text = answered.result.content[0]["text"]
            assert "amount=42" in text
            assert "accept" in text
            assert "Ada" in text
        assert notes.count("asked") - asked == 2
        assert notes.count("paid") - paid == 1

    play(story)


def form(message: str = "?", schema: Any = None) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema or {"type": "object"}},
    }


def test_several_questions_are_one() -> None:
    page = {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Log in", "url": "https://x.example/in"},
    }
    found = question_of("far", {"a": 1}, {"inputRequests": {"who": form("Who?"), "in": page}, "requestState": "s"})
    assert "Who?" in found.message
    assert "https://x.example/in" in found.message
    assert found.answer_schema["required"] == ["who", "in"]
    state = QuestionState({"a": 1}, "s", {"who": "form", "in": "url"})
    assert responses_of(state, {"who": {"name": "x"}, "in": False}) == {
        "who": {"action": "accept", "content": {"name": "x"}},
        "in": {"action": "decline"},
    }


def test_a_schema_that_is_none_does_not_keep_people_from_answering() -> None:
    found = question_of("far", {}, {"inputRequests": {"who": form(schema={"type": "nonsense"})}})
    assert found.answer_schema == {"type": "object"}


def test_what_only_a_model_could_answer_is_a_gap() -> None:
    asked = {"inputRequests": {"x": {"method": "sampling/createMessage", "params": {}}}}
    with pytest.raises(ExecutionFailed) as caught:
        question_of("far", {}, asked)
    assert caught.value.error_class == "capability_gap"


def test_a_result_without_content_is_no_result() -> None:
    with pytest.raises(ExecutionFailed) as caught:
        output_of("far", "x", {"structuredContent": {}})
    assert caught.value.code == "bad_answer"
