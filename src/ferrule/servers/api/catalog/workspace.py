"""What is served here: the workspace in a few words, and what to give each of the common clients so that it connects.

No token is told, only the file that it is in, and that only to whoever administers the whole workspace.
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
from ferrule.servers.api.replies import Replied, Reply
from ferrule.servers.api.shapes import says
from ferrule.servers.auth.callers import has_scope
from ferrule.servers.client_setup import ServedWorkspace, explain_snippet, write_snippet

_WAYS = (
    ("mcp-http", "MCP over HTTP", "cursor"),
    ("mcp-stdio", "MCP over stdio", "claude-desktop"),
    ("claude-code", "Claude Code", "claude-code"),
    ("cursor", "Cursor", "cursor"),
    ("vscode", "VS Code", "vscode"),
    ("curl", "HTTP", "curl"),
    ("python", "Python", "python"),
)
"""What each way is called here and for people, and whose configuration shows it."""
_LOCAL = "mcp-stdio"
"""It starts a program on this machine, in the workspace's folder."""
_ANY = {
    "mcp-http": "Most clients take this in their file of MCP servers.",
    "mcp-stdio": "Most desktop clients take this.",
}


class WorkspaceState(msgspec.Struct, kw_only=True):
    """What is served."""

    name: str
    version: Annotated[str, says("Of Ferrule.")]
    started_at: Annotated[str, says("When the process that answers began to serve.")]
    url: Annotated[str, says("Where clients reach it, without a path.")]
    mcp_url: str
    http_url: str
    is_open: Annotated[bool, says("True when no token is needed.")]
    tools: Annotated[int | None, says("In the catalog; on the own surface for who may not look at that.")]
    agents: Annotated[int | None, says("Null for who may not look at the catalog.")]


class ClientSetup(msgspec.Struct, kw_only=True):
    """What one client is given."""

    client: str
    title: str
    text: Annotated[str, says("To paste. It names the file with the token, or has TOKEN where a file must hold it.")]
    note: Annotated[str, says("What to do with it; empty when that goes without saying.")]


class ClientSetups(msgspec.Struct, kw_only=True):
    """How clients connect."""

    items: list[ClientSetup]


async def get_workspace(ask: Ask) -> Replied:
    """What is served."""
    app, place = ask.edge.app, _place(ask)
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
    return Reply(state)


async def list_clients(ask: Ask) -> Replied:
    """What to give each of the common clients."""
    place, is_overseer = _place(ask), _is_overseer(ask)
    items = [
        ClientSetup(client=way, title=title, text=write_snippet(client, place), note=_note(way, client, place))
        for way, title, client in _WAYS
        if is_overseer or way != _LOCAL
    ]
    return Reply(ClientSetups(items=items))


def _note(way: str, client: str, place: ServedWorkspace) -> str:
    """What to do with it. What any client takes belongs into no single one's file."""
    lines = explain_snippet(client, place).splitlines()
    return "\n".join([_ANY[way], *lines[1:]] if way in _ANY else lines)


def _is_overseer(ask: Ask) -> bool:
    """True for who may know of the whole workspace, and of where it lies."""
    return ask.caller.is_operator and ask.caller.identity.tenant is None


def _place(ask: Ask) -> ServedWorkspace:
    edge, app = ask.edge, ask.edge.app
    # The gate let this host in, so it is one of ours; a name that clients cannot use would be of no use to them.
    url = edge.settings.public_url or f"http://{ask.request.header(b'host') or 'localhost'}"
    root = app.root.absolute() if _is_overseer(ask) else Path()
    return ServedWorkspace(app.name, root, url, edge.settings.mcp.path, not edge.settings.auth)
