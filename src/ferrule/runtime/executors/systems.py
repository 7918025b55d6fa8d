"""Describes how tools run: the systems behind a catalog's tools, read from definitions, and a tool's execution profile.

Systems are hosts, servers, databases, queues and functions. Nothing is connected to and no driver is loaded. A tool
that a function of this process or a person carries out has no system behind it. A profile states every capability, also
those the tool does not have (AT-194), and a program says how exactly it is run (AT-195).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ferrule.contracts.executor import ExecutionFailed, Executor, Support
from ferrule.contracts.surface import CatalogView
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.transports import HUMAN, MCP, OXP, TransportExecutor, transport_of

_ENGINES = {
    "postgresql": "PostgreSQL",
    "mysql": "MySQL",
    "mssql": "SQL Server",
    "bigquery": "BigQuery",
    "snowflake": "Snowflake",
    "rds-data-api": "RDS Data API",
}
_CLOUDS = {"aws": "AWS", "gcp": "Google Cloud", "azure": "Azure"}
_QUEUES = {"aws": "SQS queue", "gcp": "Pub/Sub topic", "azure": "Azure queue", "kafka": "Kafka topic"}
_AT_ONCE = 200
"""Tools examined before the event loop gets a turn."""


class System(NamedTuple):
    """One system that tools reach."""

    kind: str
    """`HTTP`, `MCP`, `OXP`, `PostgreSQL`, `SQS queue`, …"""
    name: str
    """Its host, its id in the settings, or what the definition calls it."""

    @property
    def key(self) -> str:
        """The system's unique key."""
        return f"{self.kind} {self.name}"


class _Definition(msgspec.Struct):
    transport: dict[str, Any] = {}
    server_id: str = ""


_decode = msgspec.json.Decoder(_Definition).decode


def system_of(tool: Tool) -> System | None:
    """Returns the system that a tool's definition names; None when it names none, or none that can be read."""
    kind = transport_of(tool)
    if kind is None or kind == HUMAN:
        return None
    try:
        definition = _decode(tool.payload)
    except msgspec.MsgspecError:
        return None
    if definition.server_id:
        return System("OXP" if kind == OXP else "MCP", definition.server_id)
    return _system_of_transport(kind, definition.transport)


def _system_of_transport(kind: str, transport: JsonObject) -> System | None:
    said = {key: value for key, value in transport.items() if isinstance(value, str)}
    match kind:
        case "rest-api":
            return _system_if_named("HTTP", _host(said.get("base_url", "")))
        case "lambda":
            cloud = _CLOUDS.get(said.get("provider", ""), "")
            return _system_if_named(f"{cloud} function".strip(), said.get("function_id", "").rpartition(":")[2])
        case "message-queue":
            queue = said.get("queue_url", "").rstrip("/")
            return _system_if_named(_QUEUES.get(said.get("provider", ""), "queue"), queue.rpartition("/")[2])
        case "database":
            engine = said.get("engine", "")
            return _system_if_named(_ENGINES.get(engine, engine or "database"), _label(transport.get("credentials")))
        case _:
            return _system_if_named("MCP" if kind == MCP else kind, _host(said.get("url", "")))


def _system_if_named(kind: str, name: str) -> System | None:
    return System(kind, name) if name else None


def _host(url: str) -> str:
    """Returns host and port of an URL, never a user name or a password."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _label(credentials: object) -> str:
    """Returns the name of the secret that opens a database: a definition has nothing else to identify it by."""
    try:
        return read_credentials(credentials).label
    except BadCredentials:
        return ""


class Systems:
    """The systems behind the tools of the current catalog, cached until the catalog is replaced."""

    def __init__(self, catalog_of: Callable[[], CatalogView], executor_of: Callable[[Tool], Executor | None]) -> None:
        self._catalog_of = catalog_of
        self._executor_of = executor_of
        self._catalog: CatalogView | None = None
        self._found: dict[str, System | None] = {}
        self._is_complete = False

    def key_of(self, tool_id: str) -> str | None:
        """Returns the key of the system behind a tool; None when there is none."""
        self._look_at_catalog()
        if tool_id not in self._found:
            if self._is_complete or tool_id.startswith("unknown:"):
                return None
            versions = self._catalog_of().versions(tool_id)
            self._found[tool_id] = self._find_system(versions[0].tool) if versions else None
        found = self._found[tool_id]
        return found.key if found is not None else None

    async def count_tools(self) -> dict[System, int]:
        """Counts the tools of every system."""
        self._look_at_catalog()
        catalog = self._catalog_of()
        if not self._is_complete:
            for number, listed in enumerate(catalog.list_preferred()):
                if number % _AT_ONCE == _AT_ONCE - 1:
                    await asyncio.sleep(0)
                    if catalog is not self._catalog_of():  # replaced while others had their turn: start over
                        return await self.count_tools()
                if listed.tool.tool_id not in self._found:
                    self._found[listed.tool.tool_id] = self._find_system(listed.tool)
            self._is_complete = True
        tools: dict[System, int] = {}
        for system in self._found.values():
            if system is not None:
                tools[system] = tools.get(system, 0) + 1
        return tools

    def _look_at_catalog(self) -> None:
        catalog = self._catalog_of()
        if catalog is not self._catalog:
            self._catalog, self._found, self._is_complete = catalog, {}, False

    def _find_system(self, tool: Tool) -> System | None:
        return system_of(tool) if isinstance(self._executor_of(tool), TransportExecutor) else None


_KINDS = {"rest-api": "http_api", "lambda": "http_api", "mcp": "mcp_server"}
_NOTHING = Support(timeout=False, result_persistence=False)


def profile_of(tool: Tool, executor: Executor | None) -> JsonObject:
    """Builds the profile of one tool with the executor that would run it; `unready` says why it could not run."""
    transport = transport_of(tool)
    kind = "embedded_runtime" if transport is None else _KINDS.get(transport, "hybrid")
    profile = {"execution_profile_id": f"{tool.tool_id}.here", "execution_kind": kind}
    if executor is None:
        return {**profile, **_NOTHING.to_record(), "unready": "no executor here runs tools of this kind"}
    try:
        run = executor.prepare(tool)
    except ExecutionFailed as failed:
        return {**profile, **executor.support.to_record(), "unready": failed.message}
    support: Support = getattr(run, "support", None) or executor.support
    return {**profile, **support.to_record(), **getattr(run, "profile", {})}
