"""Finds a tool's MCP server in its definition or in `[mcp.servers]`, and holds the server to what was accepted of it.

The server's definitions now are compared with those in the lock, before anything is sent. This module connects to
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.compare import differences
from ferrule.infra.lockfile.file import LOCK_FILE, Lock, Native, read_lock
from ferrule.infra.lockfile.tools import imported
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.tool import Tool
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.mcp.failures import blocked

_INHERITED = ("PATH", "HOME", "LANG")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One MCP server."""

    key: str
    """What it is called in the lock: its id, or its address."""
    label: str
    """What it is called in messages: its id, or its host."""
    target: Target | None = None
    """Where it listens; None for a program."""
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    protocol_version: str = ""
    credentials: Credentials = Credentials()

    @property
    def source(self) -> str:
        """Its address, or the program, for the lock."""
        return " ".join(self.command) if self.target is None else self.target.url

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of its program. Raises ExecutionFailed when one is asked for that is not set."""

        def value(match: re.Match[str]) -> str:
            found = env.get(match[1])
            if found is None:
                raise ExecutionFailed(
                    "credential_missing",
                    f"the MCP server {self.label!r} needs the environment variable {match[1]}, which is not set",
                    code="secret_unavailable",
                )
            return found

        own = {name: _VARIABLE.sub(value, text) for name, text in self.env.items()}
        return {name: env[name] for name in _INHERITED if name in env} | own

    def secrets(self, env: Mapping[str, str]) -> dict[str, str]:
        """The values that its program gets from variables of this process, by their names."""
        names = [name for text in self.env.values() for name in _VARIABLE.findall(text)]
        return {name: env[name] for name in names if env.get(name)}


REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""What can be asked for."""


class _Transport(msgspec.Struct):
    url: str
    tool_name: str
    protocol_version: str = ""


class Place(msgspec.Struct, frozen=True):
    """Which tool of which server."""

    upstream: Upstream
    tool_name: str
    accepted: Native | None = None
    """Of an imported tool: the definition it was made from."""
    is_own: bool = False
    """True for a program that does the work of a tool which is defined here: its definition counts, and nothing is locked."""
    names: tuple[str, ...] = ()
    """Of a program: what it may call the tool, the first that it lists. Tools of two namespaces may have one name."""

    def called(self, listed: Iterable[Native]) -> str:
        """What the server calls the tool."""
        there = {each["name"] for each in listed} if self.names else frozenset()
        return next((name for name in self.names if name in there), self.tool_name)


def program_place(tool: Tool, settings: McpUpstreams) -> Place | None:
    """The program of `[mcp.programs]` that does a tool's work; the first that says so."""
    for name, program in settings.programs.items():
        if program.runs(tool.tool_id):
            upstream = Upstream(
                key=f"program {name}", label=name, command=program.command, env=program.env, cwd=program.cwd
            )
            names = (tool.tool_id, f"{tool.namespace}.{tool.name}", tool.name)
            return Place(upstream, tool.name, is_own=True, names=names)
    return None


def place_of(tool: Tool, settings: McpUpstreams) -> Place:
    """Where a tool really lives. Raises ExecutionFailed (`setup_required`)."""
    own = program_place(tool, settings)
    if own is not None:
        return own
    if tool.dialect == "mcp":
        payload = imported(tool)
        server = settings.servers.get(payload.server_id)
        if server is None:
            raise ExecutionFailed(
                "setup_required", f"there is no [mcp.servers.{payload.server_id}] in ferrule.toml any more"
            )
        upstream = upstream_of(payload.server_id, server)
        return Place(upstream, str(payload.definition.get("name")), payload.definition)
    transport = read_transport(tool, _Transport)
    target = _target(transport.url, f"transport.url of {tool.tool_id!r}")
    upstream = Upstream(
        key=target.url,
        label=target.authority,
        target=target,
        protocol_version=_revision(transport.protocol_version, f"the transport of {tool.tool_id!r}"),
        credentials=read_tool_credentials(tool),
    )
    return Place(upstream, transport.tool_name)


def upstream_of(server_id: str, server: McpServerSettings) -> Upstream:
    """An imported server. Raises ExecutionFailed (`setup_required`)."""
    where = f"[mcp.servers.{server_id}]"
    try:
        credentials = read_credentials(server.credentials or None)
    except BadCredentials as error:
        raise ExecutionFailed("setup_required", f"the credentials of {where} cannot be used: {error}") from None
    return Upstream(
        key=server_id,
        label=server_id,
        target=_target(server.url, f"the url of {where}") if server.url else None,
        command=server.command,
        env=server.env,
        cwd=server.cwd,
        protocol_version=_revision(server.protocol_version, where),
        credentials=credentials,
    )


def _revision(written: str, where: str) -> str:
    """A revision as it was written. Another than was asked for is not spoken instead of one that nobody here knows."""
    if written and written not in REVISIONS:
        raise ExecutionFailed(
            "setup_required",
            f"{where} wants MCP {written[:40]!r}, which is not known here; write one of {', '.join(REVISIONS)}, or leave it out",
            code="protocol_version",
        )
    return written


def folder(upstream: Upstream, root: Path) -> str:
    """The folder its program runs in. Raises ExecutionFailed for one outside of the workspace."""
    found = (root / upstream.cwd).resolve()
    if not found.is_relative_to(root.resolve()):
        raise ExecutionFailed("setup_required", f"cwd of the MCP server {upstream.label!r} leaves the workspace")
    return str(found)


def _target(url: str, where: str) -> Target:
    try:
        return parse_url(url)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"{where} cannot be used: {error}") from None


class Pinned:
    """What is accepted, read again whenever the file changes."""

    def __init__(self, root: Path, *, is_required: bool) -> None:
        self._root = root
        self._is_required = is_required
        self._stamp: tuple[int, int, int] | None = None
        self._lock = Lock()

    def definitions(self, place: Place) -> dict[str, Native]:
        """The accepted definitions of a tool's server; empty when nobody demands one for this tool.

        Raises ExecutionFailed (`policy_blocked`) when one is demanded and not there, or the file cannot be trusted.
        """
        if place.is_own:
            return {}
        label = place.upstream.label
        try:
            lock = self._read()
        except SettingsError as error:
            raise ExecutionFailed("policy_blocked", str(error), code="lock_damaged", is_retryable=False) from None
        server = lock.servers.get(place.upstream.key)
        pinned = {name: tool.definition for name, tool in server.tools.items()} if server is not None else {}
        if place.accepted is not None:
            # What the caller saw and was allowed counts, also when somebody has accepted something else since.
            return {**pinned, place.tool_name: place.accepted}
        if place.tool_name in pinned:
            return pinned
        if self._is_required:
            raise blocked(label, place.tool_name, f"it is not in {LOCK_FILE}, and [mcp] require_lock wants it there",
                          "upstream_unlocked")  # fmt: skip
        return {}

    def _read(self) -> Lock:
        file = self._root / LOCK_FILE
        try:
            facts = file.stat()
        except OSError:
            self._stamp, self._lock = None, Lock()
            return self._lock
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        if stamp != self._stamp:
            self._lock, self._stamp = read_lock(self._root), stamp
        return self._lock


def demand_unchanged(place: Place, pinned: dict[str, Native], live: tuple[Native, ...]) -> None:
    """Raises ExecutionFailed (`policy_blocked`, `upstream_changed`) when the tool is not what was accepted."""
    for found in differences(pinned, live):
        if found.tool == place.tool_name and found.kind != "new":
            raise blocked(place.upstream.label, place.tool_name, found.text)
