"""Tools of imported MCP servers in the canonical model, from the lock alone, without a connection.

A server's claims about the safety of its tools are untrusted hints. They may make a tool count as more dangerous, never
as less (MCP says so itself), and every fact about an imported tool is inferred.
"""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from ferrule.errors import SettingsError
from ferrule.infra.lockfile.file import LOCK_FILE, Native, is_usable_name, read_lock
from ferrule.model.tool import Tool, infer_facts, raw
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from ferrule.schema.validation.validators import explain_refusal

DIALECT = "mcp"
_log = logging.getLogger("ferrule.mcp")


class ImportedTool(msgspec.Struct, frozen=True):
    """The payload of an imported tool."""

    server_id: str
    definition: Native
    """As the server gave it when it was accepted."""
    external_mappings: tuple[dict[str, Any], ...] = ()


def list_imported_tools(root: Path, settings: McpUpstreams) -> tuple[Tool, ...]:
    """Returns the accepted tools of every server in `[mcp.servers]`. Raises SettingsError for a lock that cannot be
    trusted."""
    if not settings.servers:
        return ()
    lock = read_lock(root)
    tools: list[Tool] = []
    for server_id, server in settings.servers.items():
        check_server(server_id, server)
        pinned = lock.servers.get(server_id)
        if pinned is None:
            _log.warning(
                "the tools of the MCP server %r are not there: nothing of it is in %s; run 'ferrule lock'",
                server_id,
                LOCK_FILE,
            )
            continue
        for name, tool in pinned.tools.items():
            if is_wanted(server, name) and why_unusable(tool.definition) is None:
                tools.append(make_imported_tool(server_id, server, tool.definition))
    return tuple(tools)


def list_imported_names(root: Path, settings: McpUpstreams) -> frozenset[tuple[str, str]] | None:
    """Returns server and name of each imported tool; None while a server is not pinned, since its tools are unknown
    then."""
    pinned = read_lock(root).servers
    if not settings.servers.keys() <= pinned.keys():
        return None
    return frozenset(
        (server_id, name)
        for server_id, server in settings.servers.items()
        for name in pinned[server_id].tools
        if is_wanted(server, name)
    )


def check_server(server_id: str, server: McpServerSettings) -> None:
    """Raises SettingsError for a server that cannot be reached as written."""
    where = f"[mcp.servers.{server_id}]"
    if not is_usable_name(server_id) or "/" in server_id:
        raise SettingsError(f"{where}: write the server's id with letters, digits, '_', '-' and '.'")
    if bool(server.command) == bool(server.url):
        raise SettingsError(f"{where} needs either a command or a url")


def is_wanted(server: McpServerSettings, name: str) -> bool:
    """True for a tool that `tools` in the server's settings names."""
    return any(fnmatchcase(name, pattern) for pattern in server.tools)


def why_unusable(definition: Native) -> str | None:
    """Returns why a definition cannot become a tool; None when it can."""
    if not is_usable_name(definition.get("name")):
        return "its name has characters that names of tools do not have, or is too long"
    for member in ("inputSchema", "outputSchema"):
        schema = definition.get(member)
        if schema is None and member == "outputSchema":
            continue
        if not isinstance(schema, dict):
            return f"its {member} is no object"
        refusal = explain_refusal(schema)
        if refusal is not None:
            return f"its {member} is no JSON Schema ({refusal})"
    return None


def make_imported_tool(server_id: str, server: McpServerSettings, definition: Native) -> Tool:
    """Returns a definition as a tool of the workspace."""
    name = definition["name"]
    hints = definition.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    facts, unstated = infer_facts({}, is_open_world=True, is_destructive=hints.get("destructiveHint") is True)
    output = definition.get("outputSchema")
    mapping = {"source": DIALECT, "server_id": server_id, "method": "tools/call", "tool_name": name}
    return Tool(
        tool_id=f"{server_id}.{name}",
        namespace=server_id,
        name=name,
        description=_text(definition.get("description")),
        lifecycle="available",
        tool_kind="mcp_tool",
        dialect=DIALECT,
        title=_text(definition.get("title")) or _text(hints.get("title")) or None,
        input_schema=raw(definition["inputSchema"]),
        output_schema=raw(output) if isinstance(output, dict) else None,
        facts=facts,
        inferred_facts=unstated,
        credentials=raw(server.credentials) if server.credentials else None,
        payload=raw({"server_id": server_id, "definition": definition, "external_mappings": [mapping]}),
    )


def read_imported(tool: Tool) -> ImportedTool:
    """Returns the payload of an imported tool."""
    return msgspec.json.decode(tool.payload, type=ImportedTool)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
