"""Writes and reads functions for OpenAI: chat completions, also of other providers, and responses."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.definitions.formats.entries import UnreadableTool
from ferrule.definitions.formats.functions import FunctionDefinition, FunctionList
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.model.value import JsonObject, JsonValue

NAMES = NameRule("A-Za-z0-9_-", 64)
_UPPER = frozenset({"OBJECT", "STRING", "ARRAY", "NUMBER", "INTEGER", "BOOLEAN"})


class ChatFunctions(FunctionList):
    """`tools` of chat completions: OpenAI's, and those of providers with the same format."""

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

    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a function in its wrapper, or one without, as older lists have them."""
        inner = definition.get("function")
        if isinstance(inner, dict):
            return "name" in inner
        return "type" not in definition and is_bare(definition)

    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a function, with or without its wrapper."""
        inner = definition.get("function", definition)
        if not isinstance(inner, dict):
            raise UnreadableTool(
                "`function` must be an object", ("function",), "put the name and the parameters into it"
            )
        kind = definition.get("type", "function")
        if kind != "function":
            raise _build_foreign_error(kind)
        strict = {"strict": inner["strict"]} if isinstance(inner.get("strict"), bool) else {}
        return FunctionDefinition(inner.get("name"), inner.get("description"), inner.get("parameters"), strict)

    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns the function in its wrapper."""
        function: JsonObject = {"name": each.name}
        if each.description:
            function["description"] = each.description
        function["parameters"] = each.schema
        if each.is_strict:
            function["strict"] = True
        return {"type": "function", "function": function}


class OpenAiResponses(FunctionList):
    """`tools` of responses: flat, with groups and deferred schemas."""

    name = "openai-responses"
    title = "OpenAI responses"
    rule = NAMES
    profile = "openai"
    strict_profile = "openai-strict"
    can_defer = True
    schema_keys = frozenset({"parameters"})

    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a flat function with a type."""
        return definition.get("type") == "function" and "name" in definition

    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a flat function."""
        kind = definition.get("type", "function")
        if kind != "function":
            raise _build_foreign_error(kind)
        if "function" in definition and "name" not in definition:
            raise UnreadableTool(
                "the function is wrapped as for chat completions", ("function",), "read it as `openai`"
            )
        flags = ("strict", "defer_loading")
        hints = {key: definition[key] for key in flags if isinstance(definition.get(key), bool)}
        return FunctionDefinition(
            definition.get("name"), definition.get("description"), definition.get("parameters"), hints
        )

    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns the function, flat. `strict` is always set, because the service has another default."""
        function: JsonObject = {"type": "function", "name": each.name}
        if each.description:
            function["description"] = each.description
        function |= {"parameters": each.schema, "strict": each.is_strict}
        if is_deferred:
            function["defer_loading"] = True
        return function

    def build_document(self, definitions: list[JsonObject], groups: Sequence[JsonObject | None]) -> JsonValue:
        """Returns the list, with functions in the groups that they were imported with."""
        listed: list[JsonObject] = []
        made: dict[str, JsonObject] = {}
        for definition, group in zip(definitions, groups, strict=True):
            if not isinstance(group, dict) or not isinstance(group.get("name"), str):
                listed.append(definition)
                continue
            if group["name"] not in made:
                made[group["name"]] = {**group, "tools": []}
                listed.append(made[group["name"]])
            made[group["name"]]["tools"].append(definition)
        return listed


def is_bare(definition: JsonObject) -> bool:
    """Returns True for a function without a wrapper whose schema is JSON Schema."""
    parameters = definition.get("parameters")
    return "name" in definition and isinstance(parameters, dict) and parameters.get("type") not in _UPPER


def _build_foreign_error(kind: JsonValue) -> UnreadableTool:
    if not isinstance(kind, str):
        return UnreadableTool("`type` must be a text", ("type",), 'write `"type": "function"`')
    hint = "whoever calls the model's service lists it there"
    return UnreadableTool(
        f"{kind!r} is a tool of the provider's own, not a function", ("type",), hint, is_expected=True
    )


CHAT = ChatFunctions("openai", "OpenAI chat completions", "openai", "openai-strict")
RESPONSES = OpenAiResponses()
MISTRAL = ChatFunctions("mistral", "Mistral", "mistral", "mistral")
OLLAMA = ChatFunctions("ollama", "Ollama", "ollama", "", takes_other_names=True)
"""Its server drops keywords it does not know, so schemas are plain."""
