"""Begins requests to a provider in its own format: the tools, the choice among them, and the instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ferrule.model.value import JsonObject, JsonValue


class RequestStart(NamedTuple):
    """The first members of a request."""

    tools: JsonValue
    """As the format wrote them."""
    choice: str = "auto"
    """`auto`, `none`, `required`, or the one name that may be called."""
    instructions: str = ""
    is_parallel: bool = True
    """False for a model that may make only one call at a time."""
    is_strict: bool = False


def start_request(provider: str, beginning: RequestStart) -> JsonObject:
    """Returns the members of a request, without those that are the provider's defaults."""
    return _REQUESTS[provider](beginning)


def is_provider(name: str) -> bool:
    """Returns True for a format that is used in requests."""
    return name in _REQUESTS


def _chat(given: RequestStart) -> JsonObject:
    return _build_messages(given) | {"tools": given.tools} | _build_choice(given) | _build_parallel_flag(given)


def _mistral(given: RequestStart) -> JsonObject:
    any_of = given._replace(choice="any") if given.choice == "required" else given
    return _build_messages(given) | {"tools": given.tools} | _build_choice(any_of, "any") | _build_parallel_flag(given)


def _ollama(given: RequestStart) -> JsonObject:
    """Omits the tools for "none": Ollama has no tool choice."""
    return _build_messages(given) | ({} if given.choice == "none" else {"tools": given.tools})


def _responses(given: RequestStart) -> JsonObject:
    request: JsonObject = {"instructions": given.instructions} if given.instructions else {}
    request["tools"] = given.tools
    if given.choice in ("none", "required"):
        request["tool_choice"] = given.choice
    elif given.choice != "auto":
        request["tool_choice"] = {"type": "function", "name": given.choice}
    return request | _build_parallel_flag(given)


def _anthropic(given: RequestStart) -> JsonObject:
    request: JsonObject = {"system": given.instructions} if given.instructions else {}
    request["tools"] = given.tools
    named = {"type": "tool", "name": given.choice}
    choice: JsonObject = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}.get(
        given.choice, named
    )
    if not given.is_parallel and given.choice != "none":
        choice = choice | {"disable_parallel_tool_use": True}
    return request if choice == {"type": "auto"} else request | {"tool_choice": choice}


def _gemini(given: RequestStart) -> JsonObject:
    request: JsonObject = {}
    if given.instructions:
        request["systemInstruction"] = {"parts": [{"text": given.instructions}]}
    request["tools"] = given.tools
    mode: JsonObject = {
        "auto": {"mode": "VALIDATED" if given.is_strict else "AUTO"},
        "none": {"mode": "NONE"},
        "required": {"mode": "ANY"},
    }.get(given.choice, {"mode": "ANY", "allowedFunctionNames": [given.choice]})  # fmt: skip
    return request if mode == {"mode": "AUTO"} else request | {"toolConfig": {"functionCallingConfig": mode}}


def _bedrock(given: RequestStart) -> JsonObject:
    """Omits the tools for "none": Bedrock has no such choice, and refuses an empty list."""
    request: JsonObject = {"system": [{"text": given.instructions}]} if given.instructions else {}
    config = given.tools if isinstance(given.tools, dict) else {"tools": given.tools}
    if given.choice == "none" or not config.get("tools"):
        return request
    if given.choice != "auto":
        config = config | {
            "toolChoice": {"any": {}} if given.choice == "required" else {"tool": {"name": given.choice}}
        }
    return request | {"toolConfig": config}


def _mcp(given: RequestStart) -> JsonObject:
    """Returns the server's instructions and its list; the client chooses."""
    listed = given.tools if isinstance(given.tools, dict) else {"tools": given.tools}
    return ({"instructions": given.instructions} if given.instructions else {}) | listed


def _build_messages(given: RequestStart) -> JsonObject:
    return {"messages": [{"role": "system", "content": given.instructions}]} if given.instructions else {}


def _build_choice(given: RequestStart, word: str = "required") -> JsonObject:
    if given.choice == "auto":
        return {}
    if given.choice in ("none", word):
        return {"tool_choice": given.choice}
    return {"tool_choice": {"type": "function", "function": {"name": given.choice}}}


def _build_parallel_flag(given: RequestStart) -> JsonObject:
    return {} if given.is_parallel else {"parallel_tool_calls": False}


_REQUESTS: dict[str, Callable[[RequestStart], JsonObject]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-openapi": _gemini,
    "mistral": _mistral,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "mcp": _mcp,
}
