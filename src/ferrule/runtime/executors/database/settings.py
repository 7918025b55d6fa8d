"""Settings of a database tool, read from its definition: the engine, the statement, and the limits of its result.

The executor reads them when it prepares a tool; nothing is connected."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.tool import Tool
from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.statements import (
    CHANGING,
    CONTROLLING,
    READING,
    BadStatement,
    Dialect,
    Statement,
    read_statement,
)
from ferrule.runtime.executors.definition import read_transport, tool_type

EngineName = Literal["postgresql", "mysql", "mssql", "bigquery", "snowflake", "rds-data-api"]
GUARDED: frozenset[str] = frozenset({"postgresql", "mysql", "rds-data-api"})
"""Engines with read-only transactions, which refuse changes themselves."""

_REFUSED = frozenset({"insert", "update", "delete", "replace", "merge"})
"""Verbs that every read-only transaction refuses. In MySQL others commit the transaction first, and so can procedures."""


class DatabaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a database tool."""

    engine: EngineName
    query_method: Literal["parameterised-sql", "orm"]
    statement: Annotated[str, msgspec.Meta(min_length=1)] | None = msgspec.field(name="x-statement", default=None)
    allows_sql: bool = msgspec.field(name="x-allow-sql", default=False)
    """True: `sql` and `params` come from the input."""
    allowed_statements: tuple[str, ...] | None = msgspec.field(name="x-allow-statements", default=None)
    """The verbs that an action with `x-allow-sql` may use."""
    tables: tuple[str, ...] = msgspec.field(name="x-tables", default=())
    """The tables that an `orm` tool may name; by default all that the database's user can see."""
    max_rows: Annotated[int, msgspec.Meta(ge=1)] | None = msgspec.field(name="x-max-rows", default=None)
    timeout_ms: Annotated[int, msgspec.Meta(ge=1)] | None = None
    truncates: bool = msgspec.field(name="x-truncate", default=False)
    """True: past the limits the first rows are returned with `truncated: true`, instead of a failure."""
    rows_member: str | None = msgspec.field(name="x-rows", default=None)
    """The member of the output that holds the rows."""
    dialect: Dialect | None = msgspec.field(name="x-dialect", default=None)
    """The cluster's dialect for `rds-data-api`; `postgresql` by default."""


class QueryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about a database tool before it is called."""

    tool_id: str
    transport: DatabaseSettings
    dialect: Dialect
    is_read_only: bool
    statement: Statement | None
    """None when the statement comes from the input."""
    allowed: frozenset[str]
    """The verbs that a statement from the input may use."""
    max_rows: int
    max_bytes: int
    seconds: float
    formats: dict[str, str] = {}
    """Formats of parameters by the input schema: `date-time`, `date`, `base64`, or a type."""


def plan_of(tool: Tool, limits: DatabaseUpstreams) -> QueryPlan:
    """Plans the queries of a tool. Raises ExecutionFailed (`setup_required`)."""
    settings = read_transport(tool, DatabaseSettings)
    is_read_only = tool_type(tool) == "retrieval"
    dialect: Dialect = settings.dialect or ("postgresql" if settings.engine == "rds-data-api" else settings.engine)
    statement = None
    if settings.query_method == "parameterised-sql":
        statement = _fixed_statement(tool, settings, dialect, is_read_only=is_read_only)
    elif settings.engine in ("bigquery", "rds-data-api") and not settings.tables:
        raise _setup_failure(tool, "query_method orm needs 'x-tables' with this engine: the tables it may name")
    return QueryPlan(
        tool_id=tool.tool_id,
        transport=settings,
        dialect=dialect,
        is_read_only=is_read_only,
        statement=statement,
        allowed=READING if is_read_only else frozenset(map(str.lower, settings.allowed_statements or CHANGING)),
        max_rows=settings.max_rows or limits.max_rows,
        max_bytes=limits.max_bytes,
        seconds=min(limits.timeout_seconds, settings.timeout_ms / 1000)
        if settings.timeout_ms
        else limits.timeout_seconds,
        formats=_formats(members_of(tool.runtime_input_schema or tool.input_schema)),
    )


def members_of(schema: bytes | None) -> JsonObject:
    """Returns the properties of an input or output schema."""
    try:
        read = msgspec.json.decode(schema) if schema else {}
    except msgspec.DecodeError:
        return {}
    found = read.get("properties") if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def _allowed_verbs(engine: EngineName, dialect: Dialect) -> frozenset[str]:
    """Returns the verbs that a retrieval may send: reading ones, and those that the engine's read-only transaction refuses."""
    if engine not in GUARDED or (engine == "rds-data-api" and dialect == "mysql"):
        return READING
    return READING | (_REFUSED if dialect == "mysql" else _REFUSED | {"create", "drop", "alter", "truncate"})


def _formats(members: JsonObject) -> dict[str, str]:
    """Reads the format of each parameter from the input schema: `date-time`, `date`, `base64`, or its type."""
    found: dict[str, str] = {}
    for name, member in members.items():
        if not isinstance(member, dict):
            continue
        kind, form = member.get("type"), member.get("format")
        if form in ("date-time", "date"):
            found[name] = form
        elif member.get("contentEncoding") == "base64" or form in ("byte", "binary"):
            found[name] = "base64"
        elif isinstance(kind, str):
            found[name] = kind
    return found


def _fixed_statement(
    tool: Tool, settings: DatabaseSettings, dialect: Dialect, *, is_read_only: bool
) -> Statement | None:
    members = members_of(tool.runtime_input_schema or tool.input_schema)
    if settings.statement is None:
        if not settings.allows_sql:
            raise _setup_failure(
                tool,
                "it has no statement; write it into 'x-statement' of its transport with parameters as :name, or set"
                " 'x-allow-sql: true' to take 'sql' and 'params' from the input",
            )
        if "sql" not in members:
            raise _setup_failure(tool, "'x-allow-sql' needs an input member 'sql', and 'params' for its values")
        return None
    if settings.allows_sql:
        raise _setup_failure(tool, "'x-statement' and 'x-allow-sql' exclude each other")
    try:
        statement = read_statement(settings.statement, dialect)
    except BadStatement as problem:
        raise _setup_failure(tool, f"its 'x-statement' cannot be used: {problem}") from None
    for name in statement.names:
        if name not in members:
            raise _setup_failure(tool, f"its 'x-statement' names ':{name}', which its input schema does not have")
    verb = statement.verbs[0]
    if verb in CONTROLLING:
        raise _setup_failure(
            tool, f"its 'x-statement' begins with {verb.upper()}, which is about the session, not about data"
        )
    passed = _allowed_verbs(settings.engine, dialect) if is_read_only else None
    changing = [verb for verb in statement.verbs if passed is not None and verb not in passed]
    if changing:
        raise _setup_failure(
            tool, f"its 'x-statement' has {changing[0].upper()}, and a retrieval only reads; make it an action"
        )
    return statement


def _setup_failure(tool: Tool, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "setup_required", f"the database tool {tool.tool_id!r} cannot run: {why}", code="bad_statement"
    )
