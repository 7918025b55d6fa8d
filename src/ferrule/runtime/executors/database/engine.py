"""What an engine's file gives: a live database that runs one query at a time for each call, rows in batches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from ipaddress import IPv6Address
from typing import Any, Protocol

import msgspec

from ferrule.infra.network.urls import BadUrl, Target, parse_host
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.surroundings import Surroundings

BATCH = 500
Rows = AsyncGenerator[list[dict[str, Any]], None]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One statement with its values."""

    statement: Statement
    values: Mapping[str, Any]
    """By parameter; what is not there is NULL."""
    is_read_only: bool
    wants: Mapping[str, str] = {}
    """JSON types that the output schema names, by column."""
    formats: Mapping[str, str] = {}
    """What the input schema says about parameters (`date-time`, `date`, `base64`, a type), for engines that want to be told."""
    dialect: str = ""
    seconds: float = 30.0


class Answer(msgspec.Struct):
    """What is told about a query besides its rows; filled while it runs."""

    affected: int | None = None
    """Rows changed; None where the statement changes none."""
    ref: dict[str, Any] = {}
    """Native ids, for the record."""

    def tell(self, **ref: Any) -> None:
        """Keep native ids."""
        self.ref = {**self.ref, **ref}


class Table(msgspec.Struct, frozen=True):
    """A table as the live schema has it."""

    schema: str
    name: str
    columns: tuple[str, ...]


def tables_of(found: Iterable[tuple[str, str, str]]) -> list[Table]:
    """The tables of rows with a schema, a table and a column, as an information schema gives them."""
    tables: dict[tuple[str, str], list[str]] = {}
    for schema, name, column in found:
        tables.setdefault((schema, name), []).append(column)
    return [Table(schema, name, tuple(columns)) for (schema, name), columns in tables.items()]


class Database(Protocol):
    """One database, as one user."""

    host: str
    """What it is called in records: never with credentials."""

    def rows(self, query: Query, answer: Answer) -> Rows:
        """Run a query; rows as JSON objects, in batches. A change is made when the last batch has been asked for, and taken
        back when the generator is closed before. Raises DatabaseFailed. Cancelling it stops the query at the server."""

    async def check(self, statement: Statement | None) -> str:
        """Connect, and have the server read a statement without running it. Gives whom it is connected as."""

    async def tables(self, schema: str, name: str) -> list[Table]:
        """The tables of that name that the user can see; with an empty schema, those on the search path."""

    def retire(self) -> None:
        """Its credentials have changed: no new connections, and the old ones end with their calls."""

    async def aclose(self) -> None:
        """Close everything."""


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine is given to make a `Database`. Nothing is connected by that."""

    members: Mapping[str, Any]
    """Connection members of the credentials."""
    surroundings: Surroundings
    is_confined: bool
    password: Callable[[], Awaitable[str]]
    """Asked for each connection: a login token does not last."""
    label: str
    """Of the credentials, for messages."""
    secret_id: str = ""
    """Of a secret in AWS Secrets Manager: what RDS is told to log in with."""
    is_keyless: bool = False
    """True for `iam-role`: this process's own identity."""


class BadMembers(ValueError):
    """Connection members that cannot be used; the message names them."""


def target_of(members: Mapping[str, Any]) -> Target:
    """Host and port, read in one way only. Raises BadMembers."""
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


def judged(opening: Opening, target: Target) -> list[str]:
    """The addresses to dial. Blocks while the name is resolved. Raises Forbidden, OSError."""
    guard = opening.surroundings.guard
    if opening.is_confined:
        guard.demand_listed(target)
    return guard.addresses(target)
