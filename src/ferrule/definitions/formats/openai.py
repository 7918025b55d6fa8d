"""Functions for OpenAI: chat completions and responses. Others that take the chat shape build on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrule.definitions.formats.entries import Unreadable
from ferrule.definitions.formats.functions import FunctionList, Said
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import Offered
from ferrule.model.value import JsonValue

NAMES = NameRule("A-Za-z0-9_-", 64)
_UPPER = frozenset({"OBJECT", "STRING", "ARRAY", "NUMBER", "INTEGER", "BOOLEAN"})


class ChatFunctions(FunctionList):
    """`tools` of chat completions: OpenAI's, and those of others who take the same shape."""

    rule = NAMES
    schema_keys = frozenset({"parameters"})

    def __init__(
        self, name: str, title: str, profile: str, strict_profile: str, *, takes_other_names: bool = False
    ) -> None:
        self.name = name
        self.title = title
        self.profile = profile
        self.strict_profile = strict_profile
        self.takes_other_names = takes_other_names

    def claims(self, definition: dict[str, Any]) -> bool:
        """A function in its wrapper, or one of the bare ones that lists had before there were wrappers."""
        inner = definition.get("function")
        if isinstance(inner, dict):
            return "name" in inner
        return "type" not in definition and is_bare(definition)

    def said(self, definition: dict[str, Any]) -> Said:
        """What a function says, with or without its wrapper."""
        inner = definition.get("function", definition)
        if not isinstance(inner, dict):
            raise Unreadable("`function` must be an object", ("function",), "put the name and the parameters into it")
        kind = definition.get("type", "function")
        if kind != "function":
            raise _foreign(kind)
        strict = {"strict": inner["strict"]} if isinstance(inner.get("strict"), bool) else {}
        return Said(inner.get("name"), inner.get("description"), inner.get("parameters"), strict)

    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """The function in its wrapper."""
        function: dict[str, Any] = {"name": each.name}
        if each.description:
            function["description"] = each.description
        function["parameters"] = each.schema
        if each.is_strict:
            function["strict"] = True
        return {"type": "function", "function": function}


class OpenAiResponses(FunctionList):
    """`tools` of responses: flat, with groups, and schemas that are loaded later."""

    name = "openai-responses"
    title = "OpenAI responses"
    rule = NAMES
    profile = "openai"
    strict_profile = "openai-strict"
    can_defer = True
    schema_keys = frozenset({"parameters"})

    def claims(self, definition: dict[str, Any]) -> bool:
        """A flat function that says it is one."""
        return definition.get("type") == "function" and "name" in definition

    def said(self, definition: dict[str, Any]) -> Said:
        """What a flat function says."""
        kind = definition.get("type", "function")
        if kind != "function":
            raise _foreign(kind)
        if "function" in definition and "name" not in definition:
            raise Unreadable("the function is wrapped as for chat completions", ("function",), "read it as `openai`")
        flags = ("strict", "defer_loading")
        hints = {key: definition[key] for key in flags if isinstance(definition.get(key), bool)}
        return Said(definition.get("name"), definition.get("description"), definition.get("parameters"), hints)

    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """The function, flat. `strict` is always said: the service would choose for itself."""
        function: dict[str, Any] = {"type": "function", "name": each.name}
        if each.description:
            function["description"] = each.description
        function |= {"parameters": each.schema, "strict": each.is_strict}
        if is_deferred:
            function["defer_loading"] = True
        return function

    def document(self, definitions: list[dict[str, Any]], groups: Sequence[dict[str, Any] | None]) -> JsonValue:
        """The list, with functions that came in a group in that group again."""
        listed: list[dict[str, Any]] = []
        made: dict[str, dict[str, Any]] = {}
        for definition, group in zip(definitions, groups, strict=True):
            if not isinstance(group, dict) or not isinstance(group.get("name"), str):
                listed.append(definition)
                continue
            if group["name"] not in made:
                made[group["name"]] = {**group, "tools": []}
                listed.append(made[group["name"]])
            made[group["name"]]["tools"].append(definition)
        return listed


def is_bare(definition: dict[str, Any]) -> bool:
    """True for a function without a wrapper whose schema is JSON Schema."""
    parameters = definition.get("parameters")
    return "name" in definition and isinstance(parameters, dict) and parameters.get("type") not in _UPPER


def _foreign(kind: JsonValue) -> Unreadable:
    if not isinstance(kind, str):
        return Unreadable("`type` must be a text", ("type",), 'write `"type": "function"`')
    hint = "whoever calls the model's service lists it there"
    return Unreadable(f"{kind!r} is a tool of the provider's own, not a function", ("type",), hint, is_expected=True)


CHAT = ChatFunctions("openai", "OpenAI chat completions", "openai", "openai-strict")
RESPONSES = OpenAiResponses()
