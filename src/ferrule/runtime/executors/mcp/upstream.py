"""Finds a tool's MCP server in its definition or in `[mcp.servers]`, and enforces the definitions accepted in the lock.

The server's current definitions are compared with those in the lock before a call is sent. This module connects to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.compare import compare_tools
from ferrule.infra.lockfile.file import LOCK_FILE, Lock, Native, read_lock
from ferrule.infra.lockfile.tools import read_imported
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.tool import Tool
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from ferrule.runtime.executors.definition import read_tool_credentials, read_transport
from ferrule.runtime.executors.mcp.failures import changed_tool_failure

_INHERITED = ("PATH", "HOME", "LANG")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class McpUpstream(msgspec.Struct, frozen=True, kw_only=True):
    """One MCP server."""

    key: str
    """Its name in the lock: its id, or its address."""
    label: str
    """Its name in messages: its id, or its host."""
    target: Target | None = None
    """Its address; None for a program."""
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    protocol_version: str = ""
    credentials: Credentials = Credentials()

    @property
    def source(self) -> str:
        """Its address or command, for the lock."""
        return " ".join(self.command) if self.target is None else self.target.url

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Returns the environment of its program. Raises ExecutionFailed when a referenced variable is not set."""

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
        """Returns the values that its program gets from variables of this process, by their names."""
        names = [name for text in self.env.values() for name in _VARIABLE.findall(text)]
        return {name: env[name] for name in names if env.get(name)}


REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The revisions that a definition may ask for."""


class _Transport(msgspec.Struct):
    url: str
    tool_name: str
    protocol_version: str = ""


class ToolLocation(msgspec.Struct, frozen=True):
    """The server of a tool, and the tool's name there."""

    upstream: McpUpstream
    tool_name: str
    accepted: Native | None = None
    """The definition that an imported tool was made from."""
    is_own: bool = False
    """True for a program that runs a tool defined in the workspace: that definition counts, and none is locked."""
    names: tuple[str, ...] = ()
    """Names by which a program may list the tool, most specific first: tools of two namespaces may share a short name."""

    def listed_name(self, listed: Iterable[Native]) -> str:
        """Returns the tool's name on the server."""
        there = {each["name"] for each in listed} if self.names else frozenset()
        return next((name for name in self.names if name in there), self.tool_name)


def locate_in_programs(tool: Tool, settings: McpUpstreams) -> ToolLocation | None:
    """Returns the first program of `[mcp.programs]` that runs the tool; None when there is none."""
    for name, program in settings.programs.items():
        if program.runs(tool.tool_id):
            upstream = McpUpstream(
                key=f"program {name}", label=name, command=program.command, env=program.env, cwd=program.cwd
            )
            names = (tool.tool_id, f"{tool.namespace}.{tool.name}", tool.name)
            return ToolLocation(upstream, tool.name, is_own=True, names=names)
    return None


def locate_tool(tool: Tool, settings: McpUpstreams) -> ToolLocation:
    """Finds the server of a tool. Raises ExecutionFailed (`setup_required`)."""
    own = locate_in_programs(tool, settings)
    if own is not None:
        return own
    if tool.dialect == "mcp":
        payload = read_imported(tool)
        server = settings.servers.get(payload.server_id)
        if server is None:
            raise ExecutionFailed(
                "setup_required", f"there is no [mcp.servers.{payload.server_id}] in ferrule.toml any more"
            )
        upstream = upstream_of(payload.server_id, server)
        return ToolLocation(upstream, str(payload.definition.get("name")), payload.definition)
    transport = read_transport(tool, _Transport)
    target = _target(transport.url, f"transport.url of {tool.tool_id!r}")
    upstream = McpUpstream(
        key=target.url,
        label=target.authority,
        target=target,
        protocol_version=_revision(transport.protocol_version, f"the transport of {tool.tool_id!r}"),
        credentials=read_tool_credentials(tool),
    )
    return ToolLocation(upstream, transport.tool_name)


def upstream_of(server_id: str, server: McpServerSettings) -> McpUpstream:
    """Reads the settings of an imported server. Raises ExecutionFailed (`setup_required`)."""
    where = f"[mcp.servers.{server_id}]"
    try:
        credentials = read_credentials(server.credentials or None)
    except BadCredentials as error:
        raise ExecutionFailed("setup_required", f"the credentials of {where} cannot be used: {error}") from None
    return McpUpstream(
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
    """Returns a requested revision. Raises ExecutionFailed for an unknown one; there is no fallback to another."""
    if written and written not in REVISIONS:
        raise ExecutionFailed(
            "setup_required",
            f"{where} wants MCP {written[:40]!r}, which is not known here; write one of {', '.join(REVISIONS)}, or leave it out",
            code="protocol_version",
        )
    return written


def working_folder(upstream: McpUpstream, root: Path) -> str:
    """Returns the working folder of its program. Raises ExecutionFailed for one outside of the workspace."""
    found = (root / upstream.cwd).resolve()
    if not found.is_relative_to(root.resolve()):
        raise ExecutionFailed("setup_required", f"cwd of the MCP server {upstream.label!r} leaves the workspace")
    return str(found)


def _target(url: str, where: str) -> Target:
    try:
        return parse_url(url)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"{where} cannot be used: {error}") from None


class AcceptedDefinitions:
    """The accepted definitions in the lock file, read again when it changes."""

    def __init__(self, root: Path, *, is_required: bool) -> None:
        self._root = root
        self._is_required = is_required
        self._stamp: tuple[int, int, int] | None = None
        self._lock = Lock()

    def definitions(self, place: ToolLocation) -> dict[str, Native]:
        """Returns the accepted definitions of a tool's server; empty when none is required for this tool.

        Raises ExecutionFailed (`policy_blocked`) when one is required and missing, or the file cannot be trusted.
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
            # The definition that this caller's surface showed counts, even if another was accepted since.
            return {**pinned, place.tool_name: place.accepted}
        if place.tool_name in pinned:
            return pinned
        if self._is_required:
            raise changed_tool_failure(label, place.tool_name, f"it is not in {LOCK_FILE}, and [mcp] require_lock wants it there",
                          "upstream_unlocked")  # fmt: skip
        return {}

    def _read(self) -> Lock:
        file = self._root / LOCK_FILE
        try:
            facts = file.stat()
        except OSError:
            self._stamp, self._lock = None, Lock()
            return self._lock
        # From before the file is read: a change in between is seen the next time.
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        if stamp != self._stamp:
            self._lock, self._stamp = read_lock(self._root), stamp
        return self._lock


def demand_unchanged(place: ToolLocation, pinned: dict[str, Native], live: tuple[Native, ...]) -> None:
    """Raises ExecutionFailed (`policy_blocked`, `upstream_changed`) when the tool differs from its accepted definition."""
    for found in compare_tools(pinned, live):
        if found.tool == place.tool_name and found.kind != "new":
            raise changed_tool_failure(place.upstream.label, place.tool_name, found.text)
