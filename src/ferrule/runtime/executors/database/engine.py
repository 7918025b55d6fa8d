"""The interface of a database engine: runs one query per call and yields rows in batches.

Each engine's file implements `Database`; the executor above knows only this interface and `FailureReport`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from ipaddress import IPv6Address
from typing import Any, Protocol

import msgspec

from ferrule.infra.network.urls import BadUrl, Target, parse_host
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.transport_services import TransportServices

BATCH = 500
Rows = AsyncGenerator[list[dict[str, Any]], None]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One statement with its values."""

    statement: Statement
    values: Mapping[str, Any]
    """Values by parameter; a missing one is NULL."""
    is_read_only: bool
    wants: Mapping[str, str] = {}
    """JSON types that the output schema names, by column."""
    formats: Mapping[str, str] = {}
    """Formats of parameters by the input schema (`date-time`, `date`, `base64`, a type), for engines that need them to bind."""
    dialect: str = ""
    seconds: float = 30.0


class QueryReport(msgspec.Struct):
    """The facts about a query besides its rows; the engine fills them in while it runs."""

    affected: int | None = None
    """Rows changed; None where the statement changes none."""
    ref: dict[str, Any] = {}
    """Native ids, for the record."""

    def add_refs(self, **ref: object) -> None:
        """Adds native ids."""
        self.ref = {**self.ref, **ref}


class LiveTable(msgspec.Struct, frozen=True):
    """A table of the live schema."""

    schema: str
    name: str
    columns: tuple[str, ...]


def group_columns(found: Iterable[tuple[str, str, str]]) -> list[LiveTable]:
    """Groups rows of schema, table and column, as an information schema returns them, into tables."""
    tables: dict[tuple[str, str], list[str]] = {}
    for schema, name, column in found:
        tables.setdefault((schema, name), []).append(column)
    return [LiveTable(schema, name, tuple(columns)) for (schema, name), columns in tables.items()]


class Database(Protocol):
    """One database, as one user."""

    host: str
    """Its name in records, without credentials."""

    def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query; yields rows as JSON objects, in batches. Commits a change when the consumer asks for more after the last
        batch, rolls it back when the generator is closed before. Cancelling stops the query at the server. Raises
        DatabaseFailed."""

    async def check(self, statement: Statement | None) -> str:
        """Connects, and has the server parse a statement without running it. Returns a sentence about the connection."""

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the tables of that name that the user can see; with an empty schema, those on the search path."""

    def retire(self) -> None:
        """Opens no new connections, as the credentials have changed; running calls keep theirs until they end."""

    async def aclose(self) -> None:
        """Closes every connection."""


class ConnectionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that an engine needs to build a `Database`; building one does not connect."""

    members: Mapping[str, Any]
    """The connection members of the credentials."""
    services: TransportServices
    is_confined: bool
    password: Callable[[], Awaitable[str]]
    """Called for each connection: a login token expires."""
    label: str
    """The label of the credentials, for messages."""
    secret_id: str = ""
    """The id of a secret in AWS Secrets Manager that RDS logs in with."""
    is_keyless: bool = False
    """True for `iam-role`: this process's own identity."""


class BadMembers(ValueError):
    """Connection members that cannot be used; the message names them."""


def target_of(members: Mapping[str, object]) -> Target:
    """Parses host and port strictly: what was checked is what is dialled. Raises BadMembers."""
    try:
        host = str(members["host"]).strip()
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        name = str(IPv6Address(bare)) if ":" in host else parse_host(host)
        port = int(str(members["port"]))
    except (BadUrl, KeyError, ValueError):
        raise BadMembers("'host' must be a host name or an address, 'port' a number") from None
    if not 0 < port < 65536:
        raise BadMembers("'host' must be a host name or an address, 'port' a number")
    return Target("https", name.lower(), port, "/")


def resolve_addresses(spec: ConnectionSpec, target: Target) -> list[str]:
    """Resolves a host to the addresses that may be dialled. Blocks. Raises Forbidden, OSError."""
    guard = spec.services.guard
    if spec.is_confined:
        guard.demand_listed(target)
    return guard.addresses(target)
