"""Requests a tool may send to the calling client: the kinds, the capability each needs, and the forms that are allowed.

A form never asks for a secret: such questions go to a URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ferrule.model.credentials import is_secret_name
from ferrule.model.value import JsonObject

MISSING = "client_capability_missing"
"""The error code of a call whose tool asked its client for an undeclared capability; `native_error_ref` names it."""

_FEATURES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def feature_of(request: Mapping[str, Any]) -> str:
    """Returns the capability a client needs for this request, in the words of `Context.client`; the method where none
    is known."""
    method = request.get("method")
    params = request.get("params")
    params = params if isinstance(params, dict) else {}
    if method == "elicitation/create" and params.get("mode") == "url":
        return "elicitation.url"
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return "sampling.tools"
    return _FEATURES.get(str(method), str(method))


def list_undeclared(requests: Mapping[str, Mapping[str, object]], client: frozenset[str]) -> list[str]:
    """Lists the capabilities that these requests need and the client has not declared, each once, in order."""
    return [feature for feature in dict.fromkeys(map(feature_of, requests.values())) if feature not in client]


_PRIMITIVES = ("string", "number", "integer", "boolean")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def complete_form(request: JsonObject) -> JsonObject:
    """Adds the members that the protocol demands: a form that only asks for yes or no has no fields."""
    params = request.get("params")
    if (
        request.get("method") == "elicitation/create"
        and isinstance(params, dict)
        and params.get("mode", "form") == "form"
    ):
        return {**request, "params": {"requestedSchema": {"type": "object", "properties": {}}, **params}}
    return request


def find_flaw(requests: Mapping[str, object]) -> str | None:
    """Returns what is wrong with the first invalid request; None when all can be sent."""
    return next((f"{key!r}: {flaw}" for key, request in requests.items() if (flaw := _flaw(request)) is not None), None)


def _flaw(request: Any) -> str | None:
    params = request.get("params")
    if params is not None and not isinstance(params, dict):
        return "params is an object"
    params = params or {}
    match feature_of(request):
        case "elicitation":
            return _without(params, "message", str) or _form_flaw(params.get("requestedSchema"))
        case "elicitation.url":
            return _without(params, "message", str) or _without(params, "url", str) or _url_flaw(params["url"])
        case "sampling" | "sampling.tools":
            return _without(params, "messages", list) or _without(params, "maxTokens", int) or _sampling_flaw(params)
    return None


def _without(params: JsonObject, name: str, kind: type) -> str | None:
    return None if isinstance(params.get(name), kind) else f"params.{name} is missing"


def _form_flaw(schema: object) -> str | None:
    """Checks that a form is a flat object of plain fields (MCP-209), none of which takes a secret (MCP-212)."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "params.requestedSchema is the schema of an object"
    fields = schema.get("properties", {})
    if not isinstance(fields, dict):
        return "the form has no fields"
    for name, field in fields.items():
        if not isinstance(field, dict) or not _is_plain(field):
            return f"field {name!r} of the form is no text, number, boolean or choice"
        if is_secret_name(name) or field.get("format") == "password":
            return f"field {name!r} of the form takes a secret; ask with mode 'url' for that"
    return None


def _is_plain(field: JsonObject) -> bool:
    if field.get("type") == "array":
        items = field.get("items")
        return isinstance(items, dict) and ("enum" in items or "anyOf" in items)
    return field.get("type") in _PRIMITIVES and "properties" not in field


def _url_flaw(url: str) -> str | None:
    """Checks that people are sent to HTTPS addresses only, without credentials in them (MCP-212)."""
    try:
        split = urlsplit(url)
        is_safe = split.scheme == "https" or (split.scheme == "http" and split.hostname in _LOOPBACK)
    except ValueError:
        return "params.url is no address"
    return None if is_safe and split.hostname and "@" not in split.netloc else "params.url is an https address"


def _sampling_flaw(params: JsonObject) -> str | None:
    """Checks that tool results answer tool uses one to one, in messages of their own (MCP-213); no other server's
    context (MCP-294)."""
    if params.get("includeContext", "none") != "none":
        return "includeContext is not used any more"
    open_uses: set[Any] = set()
    for message in params["messages"]:
        blocks = _blocks(message)
        results = [block.get("toolUseId") for block in blocks if block.get("type") == "tool_result"]
        if results and (len(results) != len(blocks) or message.get("role") != "user"):
            return "a message with tool results has nothing else in it"
        if len(results) != len(open_uses) or set(results) != open_uses:
            return "tool results do not answer the tool uses before them, one to one"
        open_uses = {block.get("id") for block in blocks if block.get("type") == "tool_use"}
    return "a tool use is not answered" if open_uses else None


def _blocks(message: Any) -> list[JsonObject]:
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
