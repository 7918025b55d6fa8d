"""The beginning of a request to a provider, in its own words: the tools, which of them may be chosen, and the instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ferrule.model.value import JsonValue


class Beginning(NamedTuple):
    """What a request begins with."""

    tools: JsonValue
    """As the format wrote them."""
    choice: str = "auto"
    """`auto`, `none`, `required`, or the one name that may be called."""
    instructions: str = ""
    is_parallel: bool = True
    """False for a model that shall make one call at a time."""
    is_strict: bool = False


def request_of(provider: str, beginning: Beginning) -> dict[str, Any]:
    """The members of a request. What a provider does by itself is not said."""
    return _REQUESTS[provider](beginning)


def is_provider(name: str) -> bool:
    """True for a format that belongs into requests."""
    return name in _REQUESTS


def _chat(given: Beginning) -> dict[str, Any]:
    return _systems(given) | {"tools": given.tools} | _chosen(given) | _single(given)


def _mistral(given: Beginning) -> dict[str, Any]:
    any_of = given._replace(choice="any") if given.choice == "required" else given
    return _systems(given) | {"tools": given.tools} | _chosen(any_of, "any") | _single(given)


def _ollama(given: Beginning) -> dict[str, Any]:
    """There is no choice to make: a model that shall call nothing is given nothing."""
    return _systems(given) | ({} if given.choice == "none" else {"tools": given.tools})


def _responses(given: Beginning) -> dict[str, Any]:
    request: dict[str, Any] = {"instructions": given.instructions} if given.instructions else {}
    request["tools"] = given.tools
    if given.choice in ("none", "required"):
        request["tool_choice"] = given.choice
    elif given.choice != "auto":
        request["tool_choice"] = {"type": "function", "name": given.choice}
    return request | _single(given)


def _anthropic(given: Beginning) -> dict[str, Any]:
    request: dict[str, Any] = {"system": given.instructions} if given.instructions else {}
    request["tools"] = given.tools
    named = {"type": "tool", "name": given.choice}
    choice: dict[str, Any] = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}.get(
        given.choice, named
    )
    if not given.is_parallel and given.choice != "none":
        choice = choice | {"disable_parallel_tool_use": True}
    return request if choice == {"type": "auto"} else request | {"tool_choice": choice}


def _gemini(given: Beginning) -> dict[str, Any]:
    request: dict[str, Any] = {}
    if given.instructions:
        request["systemInstruction"] = {"parts": [{"text": given.instructions}]}
    request["tools"] = given.tools
    mode: dict[str, Any] = {
        "auto": {"mode": "VALIDATED" if given.is_strict else "AUTO"},
        "none": {"mode": "NONE"},
        "required": {"mode": "ANY"},
    }.get(given.choice, {"mode": "ANY", "allowedFunctionNames": [given.choice]})  # fmt: skip
    return request if mode == {"mode": "AUTO"} else request | {"toolConfig": {"functionCallingConfig": mode}}


def _bedrock(given: Beginning) -> dict[str, Any]:
    """It has no word for "none of them", and refuses an empty list."""
    request: dict[str, Any] = {"system": [{"text": given.instructions}]} if given.instructions else {}
    config = given.tools if isinstance(given.tools, dict) else {"tools": given.tools}
    if given.choice == "none" or not config.get("tools"):
        return request
    if given.choice != "auto":
        config = config | {
            "toolChoice": {"any": {}} if given.choice == "required" else {"tool": {"name": given.choice}}
        }
    return request | {"toolConfig": config}


def _mcp(given: Beginning) -> dict[str, Any]:
    """What a server tells of itself, and its list; a client chooses as it likes."""
    listed = given.tools if isinstance(given.tools, dict) else {"tools": given.tools}
    return ({"instructions": given.instructions} if given.instructions else {}) | listed


def _systems(given: Beginning) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": given.instructions}]} if given.instructions else {}


def _chosen(given: Beginning, word: str = "required") -> dict[str, Any]:
    if given.choice == "auto":
        return {}
    if given.choice in ("none", word):
        return {"tool_choice": given.choice}
    return {"tool_choice": {"type": "function", "function": {"name": given.choice}}}


def _single(given: Beginning) -> dict[str, Any]:
    return {} if given.is_parallel else {"parallel_tool_calls": False}


_REQUESTS: dict[str, Callable[[Beginning], dict[str, Any]]] = {
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
