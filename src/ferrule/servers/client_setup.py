"""How common clients connect to this server: a few lines of configuration for each, ready to paste.

A token is a secret, so the lines name its file; only configuration files that cannot read a file hold the token itself.
`ferrule connect` and the API's `/v1/clients` show them. It does not know who may connect.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER

_TOKEN_PLACEHOLDER = "TOKEN"
"""Takes the token's place where a configuration file has to hold it."""


class ServedWorkspace(msgspec.Struct, frozen=True):
    """A served workspace: its name, its folder and its address."""

    name: str
    """The name that clients give the server."""
    root: Path
    url: str
    """The address of the process, without a path."""
    mcp_path: str
    is_open: bool = False
    """True when no token is needed."""

    @property
    def mcp(self) -> str:
        """The address that MCP clients connect to."""
        return self.url + self.mcp_path

    @property
    def token_file(self) -> Path:
        """The file with the agents' token."""
        return self.root / KEYS_FOLDER / AGENT_FILE

    @property
    def read_token(self) -> str:
        """The shell expression that reads the token."""
        return f"$(cat {shlex.quote(str(self.token_file))})"


def _write_claude_command(place: ServedWorkspace) -> str:
    token = "" if place.is_open else f' --header "Authorization: Bearer {place.read_token}"'
    return f"claude mcp add --transport http {shlex.quote(place.name)} {place.mcp}{token}"


def _write_mcp_servers(place: ServedWorkspace) -> str:
    return _config("mcpServers", place, {"type": "http", "url": place.mcp, **_headers(place)})


def _write_vscode_servers(place: ServedWorkspace) -> str:
    return _config("servers", place, {"type": "http", "url": place.mcp, **_headers(place)})


def _write_desktop_config(place: ServedWorkspace) -> str:
    words = ["-m", "ferrule", "serve", "--stdio", "--workspace", str(place.root)]
    return _config("mcpServers", place, {"command": sys.executable, "args": words})


def _write_curl_command(place: ServedWorkspace) -> str:
    token = "" if place.is_open else f' -H "Authorization: Bearer {place.read_token}"'
    return f"curl{token} {place.url}/v1/tools"


def _write_python_program(place: ServedWorkspace) -> str:
    token = "" if place.is_open else f", auth=open({str(place.token_file)!r}).read().strip()"
    return (
        "import asyncio\n\nfrom fastmcp import Client\n\n\nasync def main():\n"
        f"    async with Client({place.mcp!r}{token}) as client:\n"
        "        print([tool.name for tool in await client.list_tools()])\n\n\nasyncio.run(main())"
    )


def _headers(place: ServedWorkspace) -> dict[str, dict[str, str]]:
    return {} if place.is_open else {"headers": {"Authorization": f"Bearer {_TOKEN_PLACEHOLDER}"}}


def _config(key: str, place: ServedWorkspace, server: dict[str, object]) -> str:
    return json.dumps({key: {place.name: server}}, indent=2, ensure_ascii=False)


CLIENTS: dict[str, Callable[[ServedWorkspace], str]] = {
    "claude-code": _write_claude_command,
    "claude-desktop": _write_desktop_config,
    "cursor": _write_mcp_servers,
    "vscode": _write_vscode_servers,
    "curl": _write_curl_command,
    "python": _write_python_program,
}


def write_snippet(client: str, place: ServedWorkspace) -> str:
    """Returns the configuration that connects a client."""
    return CLIENTS[client](place)


_FILES = {
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a project (MCP: Open User Configuration for all)",
}


def explain_snippet(client: str, place: ServedWorkspace) -> str:
    """Returns what a person has to do with a client's snippet; empty when that is obvious."""
    lines = [f"This belongs into {_FILES[client]}."] if client in _FILES else []
    if f"Bearer {_TOKEN_PLACEHOLDER}" in write_snippet(client, place):
        lines.append(f"Put the content of {place.token_file} in place of {_TOKEN_PLACEHOLDER}.")
    if client == "python":
        lines.append("It needs: pip install fastmcp")
    return "\n".join(lines)
