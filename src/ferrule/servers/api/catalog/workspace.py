"""The served workspace in a few words, and the configuration with which common clients connect to it.

It never returns a token, only the file with the token, and that only to an operator of the full workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ferrule import __version__
from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL
from ferrule.model.timestamps import iso
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import AnyReply, JsonReply
from ferrule.servers.api.shapes import describe
from ferrule.servers.auth.callers import has_scope
from ferrule.servers.client_setup import ServedWorkspace, explain_snippet, write_snippet

_CLIENT_KINDS = (
    ("mcp-http", "MCP over HTTP", "cursor"),
    ("mcp-stdio", "MCP over stdio", "claude-desktop"),
    ("claude-code", "Claude Code", "claude-code"),
    ("cursor", "Cursor", "cursor"),
    ("vscode", "VS Code", "vscode"),
    ("curl", "HTTP", "curl"),
    ("python", "Python", "python"),
)
"""Each kind's id, its title, and the client whose configuration shows it."""
_LOCAL = "mcp-stdio"
"""Starts a program on this machine, in the workspace's folder."""
_ANY = {
    "mcp-http": "Most clients take this in their file of MCP servers.",
    "mcp-stdio": "Most desktop clients take this.",
}


class WorkspaceState(msgspec.Struct, kw_only=True):
    """The served workspace."""

    name: str
    version: Annotated[str, describe("Of Ferrule.")]
    started_at: Annotated[str, describe("When the process that answers began to serve.")]
    url: Annotated[str, describe("Where clients reach it, without a path.")]
    mcp_url: str
    http_url: str
    is_open: Annotated[bool, describe("True when no token is needed.")]
    tools: Annotated[int | None, describe("In the catalog; on the own surface for who may not look at that.")]
    agents: Annotated[int | None, describe("Null for who may not look at the catalog.")]


class ClientSetup(msgspec.Struct, kw_only=True):
    """The configuration of one client."""

    client: str
    title: str
    text: Annotated[
        str, describe("To paste. It names the file with the token, or has TOKEN where a file must hold it.")
    ]
    note: Annotated[str, describe("What to do with it; empty when that goes without saying.")]


class ClientSetups(msgspec.Struct, kw_only=True):
    """The configurations of common clients."""

    items: list[ClientSetup]


async def get_workspace(ask: Ask) -> AnyReply:
    """Returns the served workspace in a few words."""
    app, place = ask.edge.app, _find_served_workspace(ask)
    tools = agents = None
    if _is_overseer(ask):
        tools, agents = len(app.catalog.list_preferred()), sum(1 for _ in app.catalog.records("agent"))
    elif has_scope(ask.caller, CALL):
        entries = (await resolve(ask.surface())).surface.entries.values()
        tools = sum(entry.is_visible and entry.is_offered for entry in entries)
    state = WorkspaceState(
        name=app.name,
        version=__version__,
        started_at=iso(ask.edge.began_at),
        url=place.url,
        mcp_url=place.mcp,
        http_url=f"{place.url}/v1",
        is_open=place.is_open,
        tools=tools,
        agents=agents,
    )
    return JsonReply(state)


async def list_clients(ask: Ask) -> AnyReply:
    """Lists the configurations of common clients."""
    place, is_overseer = _find_served_workspace(ask), _is_overseer(ask)
    items = [
        ClientSetup(client=way, title=title, text=write_snippet(client, place), note=_explain_kind(way, client, place))
        for way, title, client in _CLIENT_KINDS
        if is_overseer or way != _LOCAL
    ]
    return JsonReply(ClientSetups(items=items))


def _explain_kind(way: str, client: str, place: ServedWorkspace) -> str:
    """Returns what a person has to do with a snippet; the general ones name no client's file."""
    lines = explain_snippet(client, place).splitlines()
    return "\n".join([_ANY[way], *lines[1:]] if way in _ANY else lines)


def _is_overseer(ask: Ask) -> bool:
    """Returns True for operators of the full workspace, who may know its path."""
    return ask.caller.is_operator and ask.caller.identity.tenant is None


def _find_served_workspace(ask: Ask) -> ServedWorkspace:
    edge, app = ask.edge, ask.edge.app
    # The gate has checked this Host, so it is one of ours, and it is the name that this client can reach.
    url = edge.settings.public_url or f"http://{ask.request.header(b'host') or 'localhost'}"
    root = app.root.absolute() if _is_overseer(ask) else Path()
    return ServedWorkspace(app.name, root, url, edge.settings.mcp.path, not edge.settings.auth)
