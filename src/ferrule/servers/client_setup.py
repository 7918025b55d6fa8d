"""How the common clients connect to this server: a few lines of configuration for each, ready to paste.

A token is a secret, so the lines name the file it is in; only configuration files that cannot read a file hold the
token.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER

_PLACE = "TOKEN"
"""Stands for the token where a file has to hold it."""


class Place(msgspec.Struct, frozen=True):
    """Where a workspace is served."""

    name: str
    """What a client calls the server."""
    root: Path
    url: str
    """The address of the process, without a path."""
    mcp_path: str
    is_open: bool = False
    """True when no token is needed."""

    @property
    def mcp(self) -> str:
        """Where MCP clients connect."""
        return self.url + self.mcp_path

    @property
    def token_file(self) -> Path:
        """The file with the agents' token."""
        return self.root / KEYS_FOLDER / AGENT_FILE

    @property
    def read_token(self) -> str:
        """The token, as a shell reads it."""
        return f"$(cat {shlex.quote(str(self.token_file))})"


def _claude(place: Place) -> str:
    token = "" if place.is_open else f' --header "Authorization: Bearer {place.read_token}"'
    return f"claude mcp add --transport http {shlex.quote(place.name)} {place.mcp}{token}"


def _servers(place: Place) -> str:
    return _config("mcpServers", place, {"type": "http", "url": place.mcp, **_headers(place)})


def _vscode(place: Place) -> str:
    return _config("servers", place, {"type": "http", "url": place.mcp, **_headers(place)})


def _desktop(place: Place) -> str:
    words = ["-m", "ferrule", "serve", "--stdio", "--workspace", str(place.root)]
    return _config("mcpServers", place, {"command": sys.executable, "args": words})


def _curl(place: Place) -> str:
    token = "" if place.is_open else f' -H "Authorization: Bearer {place.read_token}"'
    return f"curl{token} {place.url}/v1/tools"


def _python(place: Place) -> str:
    token = "" if place.is_open else f", auth=open({str(place.token_file)!r}).read().strip()"
    return (
        "import asyncio\n\nfrom fastmcp import Client\n\n\nasync def main():\n"
        f"    async with Client({place.mcp!r}{token}) as client:\n"
        "        print([tool.name for tool in await client.list_tools()])\n\n\nasyncio.run(main())"
    )


def _headers(place: Place) -> dict[str, dict[str, str]]:
    return {} if place.is_open else {"headers": {"Authorization": f"Bearer {_PLACE}"}}


def _config(key: str, place: Place, server: dict[str, object]) -> str:
    return json.dumps({key: {place.name: server}}, indent=2, ensure_ascii=False)


CLIENTS: dict[str, Callable[[Place], str]] = {
    "claude-code": _claude,
    "claude-desktop": _desktop,
    "cursor": _servers,
    "vscode": _vscode,
    "curl": _curl,
    "python": _python,
}


def snippet(client: str, place: Place) -> str:
    """What to give a client."""
    return CLIENTS[client](place)


_FILES = {
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a project (MCP: Open User Configuration for all)",
}


def advice(client: str, place: Place) -> str:
    """What a person has to do with it; empty when that goes without saying."""
    lines = [f"This belongs into {_FILES[client]}."] if client in _FILES else []
    if f"Bearer {_PLACE}" in snippet(client, place):
        lines.append(f"Put the content of {place.token_file} in place of {_PLACE}.")
    if client == "python":
        lines.append("It needs: pip install fastmcp")
    return "\n".join(lines)
