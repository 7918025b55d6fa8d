"""`completion/complete` (section 18): values for an argument of a prompt, or for a variable of a template."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import PromptExposure, ResourceExposure
from ferrule.model.value import JsonObject
from ferrule.schema.references import SchemaReferences
from ferrule.servers.mcp.methods import views
from ferrule.servers.mcp.methods.discovery import get_agent_prompts
from ferrule.servers.mcp.methods.exposed_tools import InputRequired, call_exposed_tool
from ferrule.servers.mcp.methods.resources import TEMPLATE
from ferrule.servers.mcp.methods.views import McpView
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.messages import INVALID_PARAMS, RpcError
from ferrule.servers.mcp.wire.params import Retry, params_of

_MOST = 100
_MOST_DEPTH = 8
"""Nested alternatives and references to follow; a schema that refers to itself has no end."""
_LONGEST = 1000
_NO_RETRY = Retry()


class CompletionReference(msgspec.Struct, gc=False):
    """The thing to complete: `ref/prompt` with a name, `ref/resource` with an address or a template."""

    type: str
    name: str = ""
    uri: str = ""


class CompletionArgument(msgspec.Struct, gc=False):
    """The argument, as far as it was typed."""

    name: str
    value: str


class CompletionContext(msgspec.Struct, frozen=True, gc=False):
    """The other arguments, as far as they are known."""

    arguments: dict[str, str] = {}


class CompleteParams(msgspec.Struct, gc=False):
    """The parameters of `completion/complete`."""

    ref: CompletionReference
    argument: CompletionArgument
    context: CompletionContext = CompletionContext()


async def complete(exchange: Exchange, params: bytes) -> JsonObject:
    """Returns the values that fit, best first (MCP-189 to MCP-192)."""
    asked: CompleteParams = params_of(params, CompleteParams)
    view, argument = views.get_view(exchange), asked.argument
    if asked.ref.type == "ref/resource" and asked.ref.uri == TEMPLATE:
        return _encode_completion(())
    if asked.ref.type == "ref/prompt" and asked.ref.name in get_agent_prompts(exchange.server, view):
        raise RpcError(INVALID_PARAMS, f"there is no argument {argument.name[:200]!r}")
    entry = _find_entry(view, asked.ref)
    schema: JsonObject = msgspec.json.decode(entry.tool.input_schema)
    if argument.name not in schema.get("properties", {}):
        raise RpcError(INVALID_PARAMS, f"there is no argument {argument.name[:200]!r}")
    if len(argument.value) > _LONGEST:
        return _encode_completion(())
    completer = view.completers.get((entry.tool.tool_id, argument.name))
    if completer is not None:
        given = {"value": argument.value, "arguments": asked.context.arguments}
        try:
            found = await call_exposed_tool(exchange, "completion/complete", argument.name, completer, given, _NO_RETRY)
        except InputRequired:
            found = ()  # nobody is asked for a completion (MCP-216)
        return _encode_completion(
            [value for value in found if isinstance(value, str)] if isinstance(found, list) else ()
        )
    return _encode_completion(_filter_values(_list_values(entry, argument.name, schema), argument.value))


def _find_entry(view: McpView, ref: CompletionReference) -> SurfaceEntry:
    if ref.type == "ref/prompt" and ref.name in view.prompts:
        return view.prompts[ref.name]
    if ref.type == "ref/resource":
        if ref.uri in view.templates:
            return view.templates[ref.uri]
        found = view.find_resource(ref.uri)
        if found is not None:
            return found[0]
    raise RpcError(INVALID_PARAMS, "there is no such prompt or resource")


def _list_values(entry: SurfaceEntry, name: str, schema: JsonObject) -> Iterable[str]:
    """Returns the values that a definition names: a list of them, or a schema that allows no others."""
    exposure = entry.tool.exposed_as
    if isinstance(exposure, ResourceExposure | PromptExposure) and name in exposure.completions:
        return exposure.completions[name]
    return _list_allowed(schema["properties"][name], SchemaReferences(schema))


def _list_allowed(member: object, references: SchemaReferences, depth: int = 0) -> list[str]:
    if isinstance(member, dict) and "$ref" in member:
        member = references.schema(member["$ref"])
    if not isinstance(member, dict) or depth > _MOST_DEPTH:
        return []
    if isinstance(member.get("enum"), list):
        return [value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in member["enum"]]
    if member.get("type") == "boolean":
        return ["true", "false"]
    forms = member.get("anyOf") or member.get("oneOf") or ()
    return [value for form in forms for value in _list_allowed(form, references, depth + 1)]


def _filter_values(values: Iterable[str], typed: str) -> list[str]:
    """Returns the values that begin with the typed text, then those that contain it."""
    wanted = typed.casefold()
    every = list(dict.fromkeys(values))
    first = [value for value in every if value.casefold().startswith(wanted)]
    return first + [value for value in every if wanted in value.casefold() and value not in set(first)]


def _encode_completion(values: Iterable[str]) -> JsonObject:
    every = list(values)
    return {"completion": {"values": every[:_MOST], "total": len(every), "hasMore": len(every) > _MOST}}
