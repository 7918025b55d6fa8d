"""What a tool may ask the calling client (MCP-209, MCP-212, MCP-213, MCP-294, MCP-297)."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.client_requests import complete_form, find_flaw

USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": []}]}
HI = {"role": "user", "content": {"type": "text", "text": "hi"}}


def form(**fields: Any) -> dict[str, Any]:
    """A question with a form."""
    schema = {"type": "object", "properties": fields}
    return {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}


def url(address: str) -> dict[str, Any]:
    """A question by address."""
    return {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": address}}


def model(*messages: Any, **more: Any) -> dict[str, Any]:
    """A question for the client's model."""
    return {"method": "sampling/createMessage", "params": {"messages": list(messages), "maxTokens": 5, **more}}


GOOD = [
    form(),
    form(name={"type": "string", "format": "email"}, age={"type": "integer"}, score={"type": "number"}),
    form(one={"type": "string", "enum": ["a"]}, other={"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
    form(legacy={"type": "string", "enum": ["a"], "enumNames": ["A"]}),
    form(some={"type": "array", "items": {"enum": ["a"]}}, more={"type": "array", "items": {"anyOf": []}}),
    form(max_tokens={"type": "integer"}, yes={"type": "boolean"}),
    url("https://example.com/pay"),
    url("http://localhost:8787/pay"),
    model(HI),
    model(HI, USE, RESULT, tools=[]),
    {"method": "roots/list"},
]
BAD = [
    {"method": "elicitation/create"},
    {"method": "elicitation/create", "params": {"message": "?"}},
    {"method": "elicitation/create", "params": []},
    {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "string"}}},
    form(nested={"type": "object", "properties": {}}),
    form(listed={"type": "array", "items": {"type": "string"}}),
    form(anything={}),
    form(password={"type": "string"}),
    form(apiKey={"type": "string"}),
    form(word={"type": "string", "format": "password"}),
    url("http://example.com/pay"),
    url("javascript:alert(1)"),
    url("https://user:pass@example.com/"),
    url("https://"),
    {"method": "sampling/createMessage", "params": {"messages": [HI]}},
    {"method": "sampling/createMessage", "params": {"maxTokens": 5}},
    model(HI, USE),
    model(HI, RESULT),
    model(USE, {"role": "user", "content": [*RESULT["content"], {"type": "text", "text": "and"}]}),
    model(HI, includeContext="allServers"),
]


@pytest.mark.parametrize("asked", GOOD, ids=range(len(GOOD)))
def test_what_can_be_asked(asked: dict[str, Any]) -> None:
    assert find_flaw({"key": asked}) is None


@pytest.mark.parametrize("asked", BAD, ids=range(len(BAD)))
def test_what_cannot_be_asked(asked: dict[str, Any]) -> None:
    assert (find_flaw({"good": form(), "bad": asked}) or "").startswith("'bad': ")


def test_a_question_without_a_form_gets_an_empty_one() -> None:
    asked = {"method": "elicitation/create", "params": {"message": "?"}}
    assert find_flaw({"key": complete_form(asked)}) is None
    assert [complete_form(each) for each in GOOD] == GOOD
