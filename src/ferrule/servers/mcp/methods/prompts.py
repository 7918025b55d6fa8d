"""`prompts/list` and `prompts/get` (section 20): the prompts people start conversations with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from ferrule.definitions.formats.mcp_words import list_icons
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import PromptExposure
from ferrule.model.value import JsonObject
from ferrule.servers.mcp.methods import views
from ferrule.servers.mcp.methods.discovery import get_agent_prompts
from ferrule.servers.mcp.methods.exposed_tools import InputRequired, call_exposed_tool
from ferrule.servers.mcp.methods.listing import Item, ListKind, get_lists
from ferrule.servers.mcp.methods.views import AgentPrompt
from ferrule.servers.mcp.server import Exchange
from ferrule.servers.mcp.wire.blocks import project_blocks
from ferrule.servers.mcp.wire.messages import INTERNAL_ERROR, INVALID_PARAMS, RpcError, encode
from ferrule.servers.mcp.wire.params import Retry, params_of
from ferrule.servers.mcp.wire.projection import OLDEST, SECOND

PROMPTS = ListKind("prompts/list", "prompts")


class GetParams(Retry, gc=False):
    """The parameters of `prompts/get`."""

    name: str = ""
    arguments: dict[str, str] | None = None


async def list_prompts(exchange: Exchange, params: bytes) -> bytes:
    """Lists the prompts of the caller's surface (MCP-203)."""
    return get_lists(exchange.server).get_page(exchange, PROMPTS, *collect_prompts(exchange), params)


def collect_prompts(exchange: Exchange) -> tuple[bytes, Callable[[], Sequence[Item]]]:
    """Returns the key of the caller's list of prompts, and a function that encodes them."""
    view, revision = views.get_view(exchange), exchange.revision
    agents = [prompt for name, prompt in get_agent_prompts(exchange.server, view).items() if name not in view.prompts]
    said = [f"{entry.digest} {name}" for name, entry in view.prompts.items()]
    key = sha256("\n".join((*said, *map(str, agents))).encode(errors="backslashreplace")).digest()
    return key, lambda: [
        *((name, encode(_describe_prompt(name, entry, revision))) for name, entry in view.prompts.items()),
        *((prompt.name, encode(_describe_agent_prompt(prompt, revision))) for prompt in agents),
    ]


def _describe_agent_prompt(prompt: AgentPrompt, revision: str) -> JsonObject:
    title = {} if revision == OLDEST else {"title": prompt.title}
    return {"name": prompt.name, **title, "description": prompt.description}


def _describe_prompt(name: str, entry: SurfaceEntry, revision: str) -> JsonObject:
    tool = entry.tool
    shown: JsonObject = {"name": name}
    if tool.title and revision != OLDEST:
        shown["title"] = tool.title
    shown["description"] = tool.description
    arguments = list_arguments(entry, revision)
    if arguments:
        shown["arguments"] = arguments
    exposure = tool.exposed_as
    if (
        isinstance(exposure, PromptExposure)
        and revision not in (OLDEST, SECOND)
        and (icons := list_icons(exposure.icons))
    ):
        shown["icons"] = icons
    return shown


def list_arguments(entry: SurfaceEntry, revision: str) -> list[JsonObject]:
    """Returns the arguments of a prompt, from the input schema of its function."""
    schema: JsonObject = msgspec.json.decode(entry.tool.input_schema)
    required = set(schema.get("required", ()))
    found = []
    for name, member in schema.get("properties", {}).items():
        said = member if isinstance(member, dict) else {}
        argument: JsonObject = {"name": name}
        if isinstance(said.get("title"), str) and revision != OLDEST:
            argument["title"] = said["title"]
        if isinstance(said.get("description"), str):
            argument["description"] = said["description"]
        found.append({**argument, "required": name in required})
    return found


async def get_prompt(exchange: Exchange, params: bytes) -> JsonObject:
    """Answers `prompts/get`: a governed call, whose value is the messages (MCP-204, MCP-205)."""
    given: GetParams = params_of(params, GetParams)
    view = views.get_view(exchange)
    entry = view.prompts.get(given.name)
    written = get_agent_prompts(exchange.server, view).get(given.name)
    if entry is None and written is not None:
        message = {"role": "user", "content": {"type": "text", "text": written.text}}
        return {"description": written.description, "messages": [message]}
    if entry is None:
        raise RpcError(INVALID_PARAMS, f"there is no prompt {given.name[:200]!r}")
    arguments = given.arguments or {}
    missing = [one["name"] for one in list_arguments(entry, OLDEST) if one["required"] and one["name"] not in arguments]
    if missing:
        raise RpcError(INVALID_PARAMS, f"the prompt {given.name!r} needs {', '.join(map(repr, missing))}")
    try:
        value = await call_exposed_tool(exchange, "prompts/get", given.name, entry, dict(arguments), given)
    except InputRequired as asks:
        return asks.result
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        raise RpcError(INTERNAL_ERROR, "the prompt gave no messages")
    described = value.get("description")
    said = described if isinstance(described, str) else entry.tool.description
    return {"description": said, "messages": _encode_messages(messages, exchange.revision)}


def _encode_messages(messages: list[Any], revision: str) -> list[JsonObject]:
    """Returns messages with one block each, in the words of a revision (MCP-206)."""
    return [
        {"role": message["role"], "content": block}
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), dict)
        for block in project_blocks([message["content"]], revision)
    ]
