"""Builds statements from structured input instead of SQL: a table, columns, filters, an order and a limit.

    {"table": "orders", "columns": ["id", "total"], "filters": [{"column": "customer", "op": "=", "value": "c-7"}],
     "order": [{"column": "id", "direction": "desc"}], "limit": 20}

Every name is looked up in the live schema and written as it is there, quoted; every value is bound. An action may also
give an `operation`: `insert`, `update` or `delete`, with `values`; the last two need filters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.misfits import describe_complaint
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import Database, LiveTable
from ferrule.runtime.executors.database.settings import QueryPlan
from ferrule.runtime.executors.database.statements import Dialect, Statement

_COMPARISONS = {"=": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "like": "LIKE"}
Operator = Literal["=", "!=", "<>", "<", "<=", ">", ">=", "like", "in", "is_null", "not_null"]
_MOST = 1_000


class RowFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One condition on rows; all of them have to hold."""

    column: str
    op: Operator = "="
    value: Any = None


class RowOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column that rows are sorted by."""

    column: str
    direction: Literal["asc", "desc"] = "asc"


class OrmRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input of a tool with `query_method: orm`. Unknown members are refused: a misspelt filter would select every row."""

    table: str
    operation: Literal["select", "insert", "update", "delete"] = "select"
    columns: tuple[str, ...] = ()
    """All columns when empty."""
    filters: tuple[RowFilter, ...] | dict[str, Any] = ()
    """Conditions, or an object of columns and their required values."""
    order: tuple[RowOrder | str, ...] = ()
    limit: int | None = None
    offset: int | None = None
    values: dict[str, Any] = {}


MEMBERS = OrmRequest.__struct_fields__


async def orm_statement(
    arguments: JsonObject, plan: QueryPlan, database: Database
) -> tuple[Statement, Mapping[str, object]]:
    """Builds a statement and its values from the input. Raises ExecutionFailed (`invalid_arguments`), DatabaseFailed."""
    try:
        request = msgspec.convert({name: value for name, value in arguments.items() if value is not None}, OrmRequest)
    except msgspec.ValidationError as error:
        why = describe_complaint(error)
        raise _bad_request(f"the input does not say which rows: {why}; it may have {', '.join(MEMBERS)}") from None
    if plan.is_read_only and request.operation != "select":
        raise ExecutionFailed(
            "permission_denied",
            f"the database tool {plan.tool_id!r} is a retrieval and only reads; it does not {request.operation}",
            code="read_only",
        )
    table = await _table(request, plan, database)
    return _StatementWriter(request, table, plan.dialect).statement()


async def _table(request: OrmRequest, plan: QueryPlan, database: Database) -> LiveTable:
    allowed = plan.transport.tables
    if allowed and request.table not in allowed:
        raise _bad_request(
            f"there is no table {request.table!r} here; there are {', '.join(map(repr, sorted(allowed)))}"
        )
    schema, dot, name = request.table.rpartition(".")
    found = await database.tables(schema if dot else "", name)
    if len(found) != 1:
        why = "there is no table" if not found else "there is more than one table"
        raise _bad_request(f"{why} {request.table!r} in the database; write its schema too: 'schema.table'")
    return found[0]


class _StatementWriter:
    """Writer of one statement: pieces of text with parameters between them."""

    def __init__(self, request: OrmRequest, table: LiveTable, dialect: Dialect) -> None:
        self._request = request
        self._table = table
        self._dialect = dialect
        self._pieces = [""]
        self._names: list[str] = []
        self._values: JsonObject = {}

    def statement(self) -> tuple[Statement, Mapping[str, object]]:
        request = self._request
        match request.operation:
            case "select":
                self._select()
            case "insert":
                self._insert()
            case "update":
                self._need_filters()
                self._add(f"UPDATE {self._target()} SET ")
                self._assign_columns(request.values, " = ")
                self._where()
            case "delete":
                self._need_filters()
                self._add(f"DELETE FROM {self._target()}")
                self._where()
        return Statement(tuple(self._pieces), tuple(self._names), (request.operation,)), self._values

    def _select(self) -> None:
        request = self._request
        columns = ", ".join(self._column(name) for name in request.columns or self._table.columns)
        limit = None if request.limit is None else _count("limit", request.limit)
        offset = None if request.offset is None else _count("offset", request.offset)
        is_mssql = self._dialect == "mssql"
        self._add(f"SELECT {columns} FROM {self._target()}")
        self._where()
        self._order_by(is_needed=is_mssql and (limit is not None or offset is not None))
        if is_mssql:
            if limit is not None or offset is not None:
                self._add(f" OFFSET {offset or 0} ROWS")
                self._add(f" FETCH NEXT {limit} ROWS ONLY" if limit is not None else "")
            return
        if limit is not None or offset is not None:
            # MySQL has no OFFSET without a LIMIT.
            self._add(f" LIMIT {limit if limit is not None else 2**63 - 1}")
            self._add(f" OFFSET {offset}" if offset else "")

    def _insert(self) -> None:
        values = self._request.values
        if not values:
            raise _bad_request("an insert needs 'values'")
        self._add(f"INSERT INTO {self._target()} ({', '.join(map(self._column, values))}) VALUES (")
        for position, value in enumerate(values.values()):
            self._add(", " if position else "")
            self._bind(value)
        self._add(")")

    def _order_by(self, *, is_needed: bool) -> None:
        written = []
        for order in self._request.order:
            ordering = (
                RowOrder(order.removeprefix("-"), "desc" if order.startswith("-") else "asc")
                if isinstance(order, str)
                else order
            )
            written.append(f"{self._column(ordering.column)} {ordering.direction.upper()}")
        if written or is_needed:
            # SQL Server has OFFSET only behind ORDER BY.
            self._add(f" ORDER BY {', '.join(written) or '(SELECT NULL)'}")

    def _where(self) -> None:
        filters_given = self._request.filters
        filters = (
            tuple(RowFilter(name, "=", value) for name, value in filters_given.items())
            if isinstance(filters_given, dict)
            else filters_given
        )
        for position, each in enumerate(filters):
            self._add(" AND " if position else " WHERE ")
            self._condition(each)

    def _condition(self, condition: RowFilter) -> None:
        column = self._column(condition.column)
        if condition.op in ("is_null", "not_null") or (condition.value is None and condition.op in ("=", "!=", "<>")):
            is_null = condition.op in ("is_null", "=")
            self._add(f"{column} IS {'' if is_null else 'NOT '}NULL")
        elif condition.op == "in":
            self._in(column, condition.value)
        else:
            self._add(f"{column} {_COMPARISONS[condition.op]} ")
            self._bind(condition.value)

    def _in(self, column: str, values: object) -> None:
        if not isinstance(values, list) or len(values) > _MOST:
            raise _bad_request(f"the value of an 'in' filter must be a list of at most {_MOST} values")
        if not values:
            # `IN ()` is no SQL in most dialects.
            self._add("1 = 0")
            return
        self._add(f"{column} IN (")
        for position, value in enumerate(values):
            self._add(", " if position else "")
            self._bind(value)
        self._add(")")

    def _assign_columns(self, values: JsonObject, between: str) -> None:
        if not values:
            raise _bad_request(f"an {self._request.operation} needs 'values'")
        for position, (name, value) in enumerate(values.items()):
            self._add((", " if position else "") + self._column(name) + between)
            self._bind(value)

    def _need_filters(self) -> None:
        if not self._request.filters:
            raise _bad_request(f"an {self._request.operation} without filters would touch every row; say which")

    def _target(self) -> str:
        table = self._table
        return ".".join(quote_name(part, self._dialect) for part in (table.schema, table.name) if part)

    def _column(self, name: str) -> str:
        if name not in self._table.columns:
            known = ", ".join(map(repr, self._table.columns[:50]))
            raise _bad_request(f"the table {self._table.name!r} has no column {name!r}; it has {known}")
        return quote_name(name, self._dialect)

    def _add(self, text: str) -> None:
        self._pieces[-1] += text

    def _bind(self, value: object) -> None:
        name = f"p{len(self._names) + 1}"
        self._names.append(name)
        self._values[name] = value
        self._pieces.append("")


def quote_name(name: str, dialect: Dialect) -> str:
    """Quotes a name from the schema as the engine's dialect does."""
    match dialect:
        case "mysql":
            return "`" + name.replace("`", "``") + "`"
        case "bigquery":
            return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
        case "mssql":
            return "[" + name.replace("]", "]]") + "]"
        case _:
            return '"' + name.replace('"', '""') + '"'


def _count(what: str, number: int) -> int:
    if isinstance(number, bool) or not 0 <= number < 2**63:
        raise _bad_request(f"{what!r} must be a whole number that is not negative")
    return number


def _bad_request(message: str) -> ExecutionFailed:
    return ExecutionFailed("invalid_arguments", message, code="bad_request")
