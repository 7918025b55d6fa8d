"""What a definition says about its database: the engine, the statement, and how much may come back. Nothing is connected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.tool import Tool
from ferrule.model.upstreams import DatabaseUpstreams
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
"""Engines that have a read-only transaction, so that they refuse themselves what would change something."""

_STOPPED = frozenset({"insert", "update", "delete", "replace", "merge"})
"""What a read-only transaction stops everywhere. In MySQL others end the transaction first, and so can procedures."""


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """`transport` of a database tool."""

    engine: EngineName
    query_method: Literal["parameterised-sql", "orm"]
    statement: Annotated[str, msgspec.Meta(min_length=1)] | None = msgspec.field(name="x-statement", default=None)
    allows_sql: bool = msgspec.field(name="x-allow-sql", default=False)
    """True: `sql` and `params` come from the input."""
    allowed_statements: tuple[str, ...] | None = msgspec.field(name="x-allow-statements", default=None)
    """Of an action with `x-allow-sql`: the verbs it may use."""
    tables: tuple[str, ...] = msgspec.field(name="x-tables", default=())
    """Of `orm`: the tables it may name; all that the user of the database may see when none is said."""
    max_rows: Annotated[int, msgspec.Meta(ge=1)] | None = msgspec.field(name="x-max-rows", default=None)
    timeout_ms: Annotated[int, msgspec.Meta(ge=1)] | None = None
    truncates: bool = msgspec.field(name="x-truncate", default=False)
    """True: past the limits the first rows are given, with `truncated: true`, in place of a failure."""
    rows_member: str | None = msgspec.field(name="x-rows", default=None)
    """The member of the output that holds the rows."""
    dialect: Dialect | None = msgspec.field(name="x-dialect", default=None)
    """Of `rds-data-api`: what the cluster speaks, `postgresql` when not said."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about a tool before it is called."""

    tool_id: str
    transport: Transport
    dialect: Dialect
    is_read_only: bool
    statement: Statement | None
    """None: it is made from the input."""
    allowed: frozenset[str]
    """How a statement from the input may begin."""
    max_rows: int
    max_bytes: int
    seconds: float
    formats: dict[str, str] = {}
    """What the input schema says about parameters: `date-time`, `date`, `base64`, or a type."""


def plan_of(tool: Tool, limits: DatabaseUpstreams) -> Plan:
    """The plan of a tool. Raises ExecutionFailed (`setup_required`)."""
    said = read_transport(tool, Transport)
    is_read_only = tool_type(tool) == "retrieval"
    dialect: Dialect = said.dialect or ("postgresql" if said.engine == "rds-data-api" else said.engine)
    statement = None
    if said.query_method == "parameterised-sql":
        statement = _fixed(tool, said, dialect, is_read_only=is_read_only)
    elif said.engine in ("bigquery", "rds-data-api") and not said.tables:
        raise _unready(tool, "query_method orm needs 'x-tables' with this engine: the tables it may name")
    return Plan(
        tool_id=tool.tool_id,
        transport=said,
        dialect=dialect,
        is_read_only=is_read_only,
        statement=statement,
        allowed=READING if is_read_only else frozenset(map(str.lower, said.allowed_statements or CHANGING)),
        max_rows=said.max_rows or limits.max_rows,
        max_bytes=limits.max_bytes,
        seconds=min(limits.timeout_seconds, said.timeout_ms / 1000) if said.timeout_ms else limits.timeout_seconds,
        formats=_formats(members_of(tool.runtime_input_schema or tool.input_schema)),
    )


def members_of(schema: bytes | None) -> dict[str, Any]:
    """The properties of an input or output schema."""
    try:
        read = msgspec.json.decode(schema) if schema else {}
    except msgspec.DecodeError:
        return {}
    found = read.get("properties") if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def _passed(engine: EngineName, dialect: Dialect) -> frozenset[str]:
    """Verbs of a retrieval that may reach the engine: those that read, and those that its read-only transaction refuses."""
    if engine not in GUARDED or (engine == "rds-data-api" and dialect == "mysql"):
        return READING
    return READING | (_STOPPED if dialect == "mysql" else _STOPPED | {"create", "drop", "alter", "truncate"})


def _formats(members: dict[str, Any]) -> dict[str, str]:
    """What the input schema says about each parameter: `date-time`, `date`, `base64`, or its type."""
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


def _fixed(tool: Tool, said: Transport, dialect: Dialect, *, is_read_only: bool) -> Statement | None:
    members = members_of(tool.runtime_input_schema or tool.input_schema)
    if said.statement is None:
        if not said.allows_sql:
            raise _unready(
                tool,
                "it has no statement; write it into 'x-statement' of its transport with parameters as :name, or set"
                " 'x-allow-sql: true' to take 'sql' and 'params' from the input",
            )
        if "sql" not in members:
            raise _unready(tool, "'x-allow-sql' needs an input member 'sql', and 'params' for its values")
        return None
    if said.allows_sql:
        raise _unready(tool, "'x-statement' and 'x-allow-sql' exclude each other")
    try:
        statement = read_statement(said.statement, dialect)
    except BadStatement as problem:
        raise _unready(tool, f"its 'x-statement' cannot be used: {problem}") from None
    for name in statement.names:
        if name not in members:
            raise _unready(tool, f"its 'x-statement' names ':{name}', which its input schema does not have")
    verb = statement.verbs[0]
    if verb in CONTROLLING:
        raise _unready(
            tool, f"its 'x-statement' begins with {verb.upper()}, which is about the session, not about data"
        )
    passed = _passed(said.engine, dialect) if is_read_only else None
    changing = [verb for verb in statement.verbs if passed is not None and verb not in passed]
    if changing:
        raise _unready(
            tool, f"its 'x-statement' has {changing[0].upper()}, and a retrieval only reads; make it an action"
        )
    return statement


def _unready(tool: Tool, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "setup_required", f"the database tool {tool.tool_id!r} cannot run: {why}", code="bad_statement"
    )
