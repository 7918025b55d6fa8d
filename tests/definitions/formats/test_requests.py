"""The beginning of a request, in the words of each provider."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.formats.requests import RequestStart, is_provider, start_request

LIST = [{"name": "find"}]
NAMED = {
    "openai": {"tool_choice": {"type": "function", "function": {"name": "find"}}},
    "openai-responses": {"tool_choice": {"type": "function", "name": "find"}},
    "anthropic": {"tool_choice": {"type": "tool", "name": "find"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["find"]}}},
    "mistral": {"tool_choice": {"type": "function", "function": {"name": "find"}}},
}
REQUIRED = {
    "openai": {"tool_choice": "required"},
    "openai-responses": {"tool_choice": "required"},
    "anthropic": {"tool_choice": {"type": "any"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
    "mistral": {"tool_choice": "any"},
    "ollama": {},
}
NONE = {
    "openai": {"tool_choice": "none"},
    "openai-responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    "mistral": {"tool_choice": "none"},
}
INSTRUCTED = {
    "openai": {"messages": [{"role": "system", "content": "Be brief."}]},
    "openai-responses": {"instructions": "Be brief."},
    "anthropic": {"system": "Be brief."},
    "gemini": {"systemInstruction": {"parts": [{"text": "Be brief."}]}},
    "mistral": {"messages": [{"role": "system", "content": "Be brief."}]},
    "ollama": {"messages": [{"role": "system", "content": "Be brief."}]},
    "mcp": {"instructions": "Be brief."},
}
SINGLE = {
    "openai": {"parallel_tool_calls": False},
    "openai-responses": {"parallel_tool_calls": False},
    "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    "mistral": {"parallel_tool_calls": False},
    "gemini": {},
    "ollama": {},
}


@pytest.mark.parametrize(("provider", "said"), NAMED.items())
def test_one_tool_that_must_be_called_is_named(provider: str, said: dict[str, Any]) -> None:
    """AT-72: a tool-specific value names that tool in the dialect's own form."""
    assert start_request(provider, RequestStart(LIST, "find")) == {"tools": LIST} | said


@pytest.mark.parametrize(("provider", "said"), REQUIRED.items())
def test_some_tool_must_be_called(provider: str, said: dict[str, Any]) -> None:
    """AT-72: `required` in the dialect's own word."""
    assert start_request(provider, RequestStart(LIST, "required")) == {"tools": LIST} | said


@pytest.mark.parametrize(("provider", "said"), NONE.items())
def test_no_tool_may_be_called(provider: str, said: dict[str, Any]) -> None:
    """AT-72: `none` offers no callable tool choice."""
    assert start_request(provider, RequestStart(LIST, "none")) == {"tools": LIST} | said


@pytest.mark.parametrize("provider", ["ollama", "bedrock"])
def test_where_none_cannot_be_said_no_tool_is_given(provider: str) -> None:
    """AT-72: nothing can be called of what is not there."""
    assert start_request(provider, RequestStart(LIST, "none")) == {}


@pytest.mark.parametrize(("provider", "said"), INSTRUCTED.items())
def test_instructions_stand_where_the_provider_wants_them(provider: str, said: dict[str, Any]) -> None:
    assert start_request(provider, RequestStart(LIST, instructions="Be brief.")) == {"tools": LIST} | said


@pytest.mark.parametrize(("provider", "said"), SINGLE.items())
def test_a_model_that_makes_one_call_at_a_time_is_told_so(provider: str, said: dict[str, Any]) -> None:
    """AT-73: without parallel calls the dialect's flag is off."""
    assert start_request(provider, RequestStart(LIST, is_parallel=False)) == {"tools": LIST} | said


def test_bedrock_has_its_tools_in_a_configuration() -> None:
    """AT-72"""
    tools: Any = {"tools": LIST}
    assert start_request("bedrock", RequestStart(tools, "find", "Be brief.")) == {
        "system": [{"text": "Be brief."}],
        "toolConfig": {"tools": LIST, "toolChoice": {"tool": {"name": "find"}}},
    }
    assert start_request("bedrock", RequestStart(tools, "required"))["toolConfig"]["toolChoice"] == {"any": {}}
    assert start_request("bedrock", RequestStart({"tools": []})) == {}, "an empty list is refused there"


def test_gemini_holds_models_to_schemas_for_a_whole_request() -> None:
    said = start_request("gemini", RequestStart(LIST, is_strict=True))
    assert said["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_what_a_provider_does_by_itself_is_not_said() -> None:
    for provider in (*REQUIRED, "mcp"):
        assert start_request(provider, RequestStart(LIST)) == {"tools": LIST}
        assert is_provider(provider)
    assert not is_provider("openapi")
