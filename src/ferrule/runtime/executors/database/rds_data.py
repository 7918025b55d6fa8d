"""Aurora through the RDS Data API: HTTP requests signed with this process's AWS keys, parameters by name.

On PostgreSQL a retrieval runs in a read-only transaction; on MySQL (`x-dialect: mysql`) its statement may only begin with a
reading verb. A cancelled query is rolled back. The API returns at most 1 MiB and fails past that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.clouds.aws_errors import make_aws_failure, read_aws_error
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import (
    BadMembers,
    ConnectionSpec,
    LiveTable,
    Query,
    QueryReport,
    Rows,
    group_columns,
)
from ferrule.runtime.executors.database.failures import DatabaseFailed, FailureReport, kind_of_state
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns, Convert, float_json, integer_json, json_text, parse_json

_ARN = re.compile(r"arn:aws[\w-]*:rds:([a-z0-9-]+):\d+:cluster:[\w.:-]+")
_STATE = re.compile(r"SQLState: ?([0-9A-Z]{5})")
_MOST_BYTES = 16 * 1024**2
_HINTS = {"date-time": "TIMESTAMP", "date": "DATE"}
_TABLES = (
    "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE table_name = ",
    " AND (table_schema = ",
    " OR (",
    " = '' AND table_schema NOT IN ('information_schema', 'pg_catalog', 'mysql', 'sys', 'performance_schema')))"
    " ORDER BY ordinal_position",
)


class RdsDataDatabase:
    """One database of an Aurora cluster."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers."""
        members = spec.members
        arn = _ARN.fullmatch(str(members["cluster_arn"]))
        if arn is None:
            raise BadMembers("'cluster_arn' is no ARN of a cluster")
        self._region = str(members.get("region") or arn[1])
        self._spec = spec
        self._seconds = seconds
        self._slots = asyncio.Semaphore(size)
        services = spec.services
        self._aws = services.clouds.aws
        self.host = f"{members['cluster_arn']}/{members['database']}"
        self._tasks: set[asyncio.Task[None]] = set()

    async def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query. Raises DatabaseFailed, ExecutionFailed."""
        is_mysql = query.dialect == "mysql"
        async with self._slots:
            transaction = await self._begin()
            answer.add_refs(transaction_id=transaction)
            is_in_doubt = False
            try:
                if query.is_read_only and not is_mysql:
                    await self._send("/Execute", {"sql": "SET TRANSACTION READ ONLY", "transactionId": transaction})
                text = query.statement.text(lambda _, name: f":{name}")
                parameters = [_parameter(name, query) for name in dict.fromkeys(query.statement.names)]
                found = await self._execute(text, parameters, transaction)
                if not query.is_read_only:
                    answer.affected = found.get("numberOfRecordsUpdated")
                yield _rows(found, query.wants)
                is_in_doubt = not query.is_read_only
                end = "/RollbackTransaction" if query.is_read_only else "/CommitTransaction"
                await self._send(end, {"transactionId": transaction}, is_bare=True)
            except BaseException as error:
                self._run_in_background(self._roll_back(transaction))
                if is_in_doubt and isinstance(error, ExecutionFailed):
                    error.is_retryable = False
                raise

    async def check(self, statement: Statement | None) -> str:
        """Runs `SELECT 1`, and EXPLAIN of a statement without parameters. Raises DatabaseFailed."""
        await self._send("/Execute", {"sql": "SELECT 1"})
        if statement is not None and not statement.names:
            await self._send("/Execute", {"sql": "EXPLAIN " + statement.text(lambda _, name: f":{name}")})
        return f"connected to {self.host}"

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the tables of that name. Raises DatabaseFailed."""
        statement = Statement(_TABLES, ("name", "schema", "schema"), ("select",))
        values = [{"name": key, "value": {"stringValue": text}} for key, text in (("name", name), ("schema", schema))]
        found = await self._execute(statement.text(lambda _, key: f":{key}"), values, None)
        records = found.get("records") or []
        return group_columns(tuple(field.get("stringValue", "") for field in record) for record in records)

    def retire(self) -> None:
        """Does nothing: no connection is kept."""

    async def aclose(self) -> None:
        """Waits for the transactions that are being rolled back."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # what has ended takes itself off in the next turn

    async def _begin(self) -> str:
        return str((await self._send("/BeginTransaction", {})).get("transactionId", ""))

    async def _execute(self, text: str, parameters: list[JsonObject], transaction: str | None) -> JsonObject:
        request: JsonObject = {
            "sql": text,
            "parameters": parameters,
            "includeResultMetadata": True,
            # As numbers, decimals would lose digits.
            "resultSetOptions": {"decimalReturnType": "STRING", "longReturnType": "LONG"},
        }
        return await self._send("/Execute", request | ({"transactionId": transaction} if transaction else {}))

    async def _roll_back(self, transaction: str) -> None:
        with suppress(ExecutionFailed, DatabaseFailed):
            await self._send("/RollbackTransaction", {"transactionId": transaction}, is_bare=True)

    async def _send(self, path: str, request: JsonObject, *, is_bare: bool = False) -> JsonObject:
        members = self._spec.members
        body = {"resourceArn": str(members["cluster_arn"]), "secretArn": self._secret(), **request}
        # The API takes a database in every request but those that end a transaction.
        if not is_bare:
            body["database"] = str(members["database"])
        fetched = await self._aws.request(
            "rds-data",
            region=self._region,
            path=path,
            headers=[("Content-Type", "application/json")],
            body=msgspec.json.encode(body),
            timeout_seconds=self._seconds,
            listed_only=self._spec.is_confined,
            max_bytes=_MOST_BYTES,
        )
        if fetched.status == 200:
            return read_json_object(fetched.body)
        error = read_aws_error(fetched)
        state = _STATE.search(error.message)  # the API has no field for it
        if state is not None:
            raise DatabaseFailed(FailureReport(f"sqlstate:{state[1]}", kind_of_state(state[1]), error.message))
        if "response size limit" in error.message:
            raise ExecutionFailed(
                "result_too_large", "the RDS Data API answers with at most 1 MiB, and this is more; ask for less"
            )
        raise make_aws_failure("the RDS Data API", fetched)

    def _secret(self) -> str:
        found = str(self._spec.members.get("secret_arn") or self._spec.secret_id)
        if not found:
            raise ExecutionFailed(
                "setup_required",
                "the RDS Data API logs in with a secret of AWS Secrets Manager; name it as 'secret_arn' in the credentials",
            )
        return found

    def _run_in_background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _parameter(name: str, query: Query) -> JsonObject:
    value, form = query.values.get(name), query.formats.get(name, "")
    made: JsonObject = {"name": name, "value": {"isNull": True}}
    if isinstance(value, bool):
        made["value"] = {"booleanValue": value}
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        made["value"] = {"doubleValue": float(value)} if form == "number" else {"longValue": value}
    elif isinstance(value, float):
        made["value"] = {"doubleValue": value}
    elif isinstance(value, str) and form == "base64":
        made["value"] = {"blobValue": value}
    elif isinstance(value, list | dict):
        made |= {"value": {"stringValue": json_text(value)}, "typeHint": "JSON"}
    elif value is not None:
        made["value"] = {"stringValue": str(value)}
        if form in _HINTS:
            made["typeHint"] = _HINTS[form]
            # This hint takes a blank between date and time, and no zone.
            made["value"] = {"stringValue": str(value).replace("T", " ").removesuffix("Z")}
    return made


def _rows(found: Mapping[str, Any], wants: Mapping[str, str]) -> list[JsonObject]:
    metadata = found.get("columnMetadata") or []
    names = [str(column.get("label") or column.get("name") or "") for column in metadata]
    converts = [_convert(str(column.get("typeName", "")).lower()) for column in metadata]
    records = found.get("records") or []
    return Columns(names, wants, converts).rows([[_field(field) for field in record] for record in records])


def _field(field: Mapping[str, Any]) -> Any:
    if field.get("isNull"):
        return None
    if "arrayValue" in field:
        return _array(field["arrayValue"])
    return next((value for name, value in field.items() if name.endswith("Value")), None)


def _array(value: Mapping[str, Any]) -> Any:
    for name, members in value.items():
        if name == "arrayValues":
            return [_array(member) for member in members]
        return list(members)
    return []


def _convert(kind: str) -> Convert:
    if kind in ("json", "jsonb"):
        return parse_json
    if kind in ("timestamp", "datetime"):
        return lambda value: value.replace(" ", "T", 1)
    if kind == "timestamptz":
        return lambda value: value.replace(" ", "T", 1) + ("" if value.endswith("Z") or "+" in value else "+00:00")
    return _number


def _number(value: object) -> Any:
    if isinstance(value, float):
        return float_json(value)
    return integer_json(value) if isinstance(value, int) and not isinstance(value, bool) else value
