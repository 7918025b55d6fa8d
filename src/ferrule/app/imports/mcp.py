"""Imports the tools of an MCP server: reviews it, then writes it into the settings and pins its tools in the lock.

The lock is the only source of a server's tools: nothing here makes one from what a server says at the moment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from ferrule.app.imports.secret_file import keep_secrets
from ferrule.app.imports.store import demand_inside
from ferrule.app.imports.toml_text import add_table, set_member
from ferrule.app.lock.pinning import review_servers
from ferrule.app.lock.reviews import LockReview, ServerReview
from ferrule.errors import SettingsError
from ferrule.infra.atomic_files import write_whole
from ferrule.infra.lockfile.file import Lock, Native, write_lock
from ferrule.infra.lockfile.tools import check_server
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.upstreams import McpServerSettings
from ferrule.model.value import JsonObject
from ferrule.settings import FILE_NAME
from ferrule.workspace.workspace import Workspace

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_GENERIC = frozenset(
    {"mcp", "api", "www", "sse", "http", "https", "com", "localhost", "app", "dev", "io", "net", "org"}
)
_RUNNERS = frozenset(
    {"npx", "uvx", "uv", "node", "python", "python3", "run", "docker", "bunx", "deno", "pipx", "bash", "sh"}
)
_HINTS = (
    ("readOnlyHint", "only reads"),
    ("destructiveHint", "may destroy"),
    ("idempotentHint", "may be repeated"),
    ("openWorldHint", "reaches others"),
)


class ImportedServer(NamedTuple):
    """A server to import, and the secrets to store outside the settings."""

    name: str
    server: McpServerSettings
    secrets: dict[str, str]


class OfferedTool(NamedTuple):
    """One tool of a server, as displayed."""

    name: str
    description: str
    hints: tuple[str, ...]
    """The server's own safety hints; only those that warn are believed."""


def parse_server(
    words: Sequence[str],
    *,
    name: str = "",
    env: Sequence[str] = (),
    credentials: Mapping[str, object] | None = None,
    tools: Sequence[str] = (),
    known: set[str] | None = None,
) -> ImportedServer:
    """Parses the settings of a server: one address, or a program with its arguments. Raises SettingsError.

    `env`: `KEY=value` and `KEY`, for a program; values become secrets unless they are references already. `known`: variable
    names that are in use.
    """
    is_address = len(words) == 1 and urlsplit(words[0]).scheme in ("http", "https")
    chosen = name or _suggest_name(words, is_address=is_address)
    wanted = tuple(tools) or McpServerSettings().tools
    if is_address:
        if env:
            raise SettingsError(
                "--env is for programs; a server at an address gets --bearer, --header or --credentials"
            )
        if urlsplit(words[0]).username or urlsplit(words[0]).password:
            raise SettingsError("the address contains a password; remove it, and pass it with --bearer or --header")
        server = McpServerSettings(url=words[0], credentials=_check_credentials(credentials), tools=wanted)
        secrets: dict[str, str] = {}
    else:
        if credentials:
            raise SettingsError("--bearer, --header and --credentials are for addresses; a program gets --env")
        variables, secrets = _split_variables(chosen, env, known or set())
        server = McpServerSettings(command=tuple(words), env=variables, tools=wanted)
    check_server(chosen, server)
    return ImportedServer(chosen, server, secrets)


def _check_credentials(credentials: Mapping[str, object] | None) -> JsonObject:
    if not credentials:
        return {}
    try:
        read_credentials(dict(credentials))
    except BadCredentials as error:
        raise SettingsError(f"these credentials cannot be used: {error}") from None
    return dict(credentials)


def _split_variables(name: str, given: Sequence[str], known: set[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Splits a program's variables into the settings' references and the values for the secret file."""
    prefix = re.sub(r"[^A-Z0-9]+", "_", name.upper())
    written: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not key.isidentifier():
            raise SettingsError(f"--env takes KEY or KEY=VALUE, not {one!r}")
        if not equals:
            written[key] = f"${{{key}}}"
        elif _REFERENCE.fullmatch(value):
            written[key] = value
        else:
            variable, number = f"{prefix}_{key.upper()}", 2
            while variable in known or variable in secrets:
                variable, number = f"{prefix}_{key.upper()}_{number}", number + 1
            secrets[variable], written[key] = value, f"${{{variable}}}"
    return written, secrets


def _suggest_name(words: Sequence[str], *, is_address: bool) -> str:
    """Derives a name for a server from the most specific part of its address or command."""
    if is_address:
        parts = [part for part in (urlsplit(words[0]).hostname or "").split(".") if part not in _GENERIC]
        found = parts[0] if parts and not parts[0].isdigit() else ""
    else:
        candidates = [re.sub(r"\.\w+$", "", word.rstrip("/").rsplit("/", 1)[-1]) for word in words]
        candidates = [word for word in candidates if not word.startswith("-") and word.lower() not in _RUNNERS]
        found = re.sub(r"@.*$", "", candidates[0]) if candidates else ""
        # `npx -y @scope/mcp-server-github@1.2` becomes `github`.
        found = re.sub(r"^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-mcp|-server)$", "", found)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", found).strip("-_")
    if not plain:
        raise SettingsError("the server's name cannot be derived; set it with --name")
    return plain


async def review_server(
    workspace: Workspace, server: ImportedServer, env: Mapping[str, str] = os.environ
) -> LockReview:
    """Compares a server's tools with those pinned in the lock. Writes nothing. Raises FerruleError."""
    mcp = msgspec.structs.replace(workspace.settings.mcp, servers={server.name: server.server})
    oxp = msgspec.structs.replace(workspace.settings.oxp, servers={})
    settings = msgspec.structs.replace(workspace.settings, mcp=mcp, oxp=oxp)
    alone = Workspace(workspace.root, settings, has_settings_file=workspace.has_settings_file)
    return await review_servers(alone, {**env, **server.secrets}, only=frozenset({server.name}))


def find_review(reviewed: LockReview, name: str) -> ServerReview:
    """Returns the review of one server."""
    return next(one for one in reviewed.servers if one.key == name)


def describe_tool(definition: Native) -> OfferedTool:
    """Returns a tool as displayed."""
    annotations = definition.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    said = tuple(words for key, words in _HINTS if hints.get(key) is True)
    description = definition.get("description")
    return OfferedTool(str(definition.get("name")), description if isinstance(description, str) else "", said)


def add_server(text: str, name: str, server: McpServerSettings) -> str:
    """Adds a server to the text of the settings. Raises SettingsError."""
    members: JsonObject = {}
    if server.command:
        members["command"] = list(server.command)
    if server.url:
        members["url"] = server.url
    for key in ("env", "credentials"):
        if getattr(server, key):
            members[key] = dict(getattr(server, key))
    if server.tools != McpServerSettings().tools:
        members["tools"] = list(server.tools)
    return add_table(text, ("mcp", "servers", name), members)


def write_import(root: Path, server: ImportedServer, known: McpServerSettings | None, lock: Lock) -> None:
    """Writes the secrets, the settings and the lock. `known`: the server's present settings. Raises FerruleError."""
    # Each is useful only after the one before it: an interrupted import leaves no reference without its value.
    keep_secrets(root, server.secrets)
    file = demand_inside(root, FILE_NAME)
    text = before = file.read_text(encoding="utf-8") if file.exists() else ""
    if known is None:
        text = add_server(text, server.name, server.server)
    elif known.tools != server.server.tools:
        text = set_member(text, ("mcp", "servers", server.name), "tools", list(server.server.tools))
    if text != before:
        write_whole(file, text.encode())
    write_lock(root, lock)
