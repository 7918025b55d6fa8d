"""BigQuery through its REST API: `jobs.query` with named parameters, pages of results, and `jobs.cancel`.

A retrieval requests a read-only token, and its statement may only begin with a reading verb. A tool is probed with a dry run,
which changes nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import reach, read_json_object, status_failure
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import (
    BATCH,
    BadMembers,
    ConnectionSpec,
    LiveTable,
    Query,
    QueryReport,
    Rows,
)
from ferrule.runtime.executors.database.failures import AMBIGUOUS, STATES, DatabaseFailed, FailureKind, FailureReport
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns, Convert, float_json, integer_json, json_text, parse_json

_HOST = "https://bigquery.googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/bigquery"
_MOST_BYTES = 32 * 1024**2
_PAUSE_SECONDS = 0.1
_NAME = re.compile(r"[A-Za-z0-9_:.-]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REASONS: dict[str, FailureKind] = {
    "invalidQuery": AMBIGUOUS,
    "invalid": AMBIGUOUS,
    "notFound": AMBIGUOUS,
    "accessDenied": STATES["42501"],
    "quotaExceeded": STATES["53300"],
    "rateLimitExceeded": STATES["53300"],
    "resourcesExceeded": STATES["54"],
    "responseTooLarge": STATES["54"],
    "stopped": STATES["57014"],
    "timeout": STATES["57014"],
    "backendError": STATES["58"],
    "internalError": STATES["58"],
}


class BigqueryDatabase:
    """One BigQuery project, and possibly one dataset of it."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers."""
        members = spec.members
        if not _NAME.fullmatch(str(members["project"])):
            raise BadMembers("'project' is no name of a project")
        self._spec = spec
        self._seconds = seconds
        self._slots = asyncio.Semaphore(size)
        services = spec.services
        self._gcp = services.clouds.gcp
        emulator = services.env.get("BIGQUERY_EMULATOR_HOST", "")
        base = (emulator if "://" in emulator else f"http://{emulator}") if emulator else _HOST
        self._project = str(members["project"])
        self._base = f"{base.rstrip('/')}/bigquery/v2/projects/{quote(self._project, safe=':.-')}"
        self.host = "/".join(str(name) for name in (self._project, members.get("dataset")) if name)
        self._tasks: set[asyncio.Task[None]] = set()

    async def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query. Raises DatabaseFailed, ExecutionFailed."""
        async with self._slots:
            job: _Job | None = None
            is_over = False
            try:
                page = await self._send("POST", "/queries", self._query_body(query), is_reading=query.is_read_only)
                job = _Job.from_answer(page)
                answer.add_refs(job_id=job.job_id, location=job.location)
                columns: Columns | None = None
                while True:
                    if page.get("jobComplete"):
                        fields = (page.get("schema") or {}).get("fields") or []
                        columns = columns or _columns(fields, query.wants)
                        yield columns.rows([_cells(row) for row in page.get("rows") or []])
                        if not page.get("pageToken"):
                            break
                    else:
                        await asyncio.sleep(_PAUSE_SECONDS)  # the service waits itself before it says "not yet"
                    page = await self._send(
                        "GET", job.results_path(page.get("pageToken")), None, is_reading=query.is_read_only
                    )
                is_over = True
                if page.get("numDmlAffectedRows") is not None:
                    answer.affected = int(page["numDmlAffectedRows"])
            finally:
                if job is not None and not is_over:
                    self._run_in_background(self._cancel_job(job))

    async def check(self, statement: Statement | None) -> str:
        """Checks the statement with a dry run. Raises DatabaseFailed."""
        read = statement or Statement(("SELECT 1",), (), ("select",))
        query = Query(statement=read, values={}, is_read_only=True)
        await self._send("POST", "/queries", {**self._query_body(query), "dryRun": True}, is_reading=True)
        return f"reached BigQuery for {self.host}"

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the table of that name in a dataset. Raises DatabaseFailed."""
        dataset = schema or str(self._spec.members.get("dataset") or "")
        if not _NAME.fullmatch(name) or not _NAME.fullmatch(dataset):
            return []
        try:
            page = await self._send("GET", f"/datasets/{quote(dataset)}/tables/{quote(name)}", None, is_reading=True)
        except DatabaseFailed as error:
            if error.report.ref == "bigquery:notFound":
                return []
            raise
        fields = (page.get("schema") or {}).get("fields") or []
        return [LiveTable(dataset, name, tuple(str(field.get("name")) for field in fields))]

    def retire(self) -> None:
        """Does nothing: no connection is kept."""

    async def aclose(self) -> None:
        """Waits for the jobs that are being cancelled."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # what has ended takes itself off in the next turn

    def _query_body(self, query: Query) -> JsonObject:
        members = self._spec.members
        dataset = {"projectId": self._project, "datasetId": str(members["dataset"])} if members.get("dataset") else None
        names = dict.fromkeys(query.statement.names)
        return {
            "query": query.statement.text(lambda _, name: f"@{name}"),
            "useLegacySql": False,
            "parameterMode": "NAMED",
            "queryParameters": [_parameter(name, query) for name in names],
            "maxResults": BATCH,
            "timeoutMs": 10_000,
            # The API writes whole numbers of 64 bits as texts.
            "jobTimeoutMs": str(max(1, round(query.seconds * 1000))),
            "formatOptions": {"useInt64Timestamp": True},
            "requestId": uuid4().hex,  # the same request twice is one job
            **({"defaultDataset": dataset} if dataset else {}),
            **({"location": str(members["location"])} if members.get("location") else {}),
        }

    async def _cancel_job(self, job: _Job) -> None:
        with suppress(ExecutionFailed, DatabaseFailed):
            await self._send("POST", f"/jobs/{quote(job.job_id)}/cancel{job.location_query()}", {}, is_reading=False)

    async def _send(self, method: str, path: str, body: JsonObject | None, *, is_reading: bool) -> JsonObject:
        members = self._spec.members
        account = dict(members) if members.get("private_key") else None
        scope = f"{_SCOPE}.readonly" if is_reading else _SCOPE
        token = await self._gcp.access_token(account, (scope,))
        headers = [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")]
        fetched = await reach(
            self._spec.services.client,
            "BigQuery",
            method,
            self._base + path,
            headers,
            b"" if body is None else msgspec.json.encode(body),
            timeout_seconds=self._seconds,
            listed_only=self._spec.is_confined,
            max_bytes=_MOST_BYTES,
        )
        answer = read_json_object(fetched.body)
        errors = answer.get("errors") if answer.get("jobComplete") else None
        if fetched.status < 400 and not errors:
            return answer
        report = _read_failure(answer, errors)
        if fetched.status == 401:
            self._gcp.forget()
            raise DatabaseFailed(FailureReport("http:401", STATES["28"]))
        if report is not None:
            raise DatabaseFailed(report)
        raise status_failure(f"BigQuery answered with status {fetched.status}", fetched)

    def _run_in_background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Job(msgspec.Struct, frozen=True):
    job_id: str
    location: str = ""

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> _Job:
        reference = answer.get("jobReference") or {}
        return cls(str(reference.get("jobId", "")), str(reference.get("location", "")))

    def location_query(self) -> str:
        return f"?{urlencode({'location': self.location})}" if self.location else ""

    def results_path(self, page: object) -> str:
        reference = {"location": self.location, "pageToken": page or "", "maxResults": BATCH, "timeoutMs": 10_000}
        reference["formatOptions.useInt64Timestamp"] = "true"
        return f"/queries/{quote(self.job_id)}?{urlencode({name: value for name, value in reference.items() if value})}"


def _read_failure(answer: Mapping[str, object], errors: object) -> FailureReport | None:
    """Reads the failure in an answer, by BigQuery's `reason`; None when the reason is unknown."""
    inner = answer.get("error")
    listed = errors or (inner.get("errors") if isinstance(inner, dict) else None)
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    meaning = _REASONS.get(str(first.get("reason", "")))
    return (
        None
        if meaning is None
        else FailureReport(f"bigquery:{first['reason']}", meaning, str(first.get("message", "")))
    )


_TYPES = {"integer": "INT64", "number": "FLOAT64", "boolean": "BOOL", "date-time": "TIMESTAMP", "date": "DATE",
          "base64": "BYTES", "object": "JSON"}  # fmt: skip


def _parameter(name: str, query: Query) -> JsonObject:
    value, form = query.values.get(name), query.formats.get(name, "")
    if isinstance(value, list):
        kind = _kind(value[0], "") if value else "STRING"
        members = [{"value": _text(member)} for member in value]
        return {
            "name": name,
            "parameterType": {"type": "ARRAY", "arrayType": {"type": kind}},
            "parameterValue": {"arrayValues": members},
        }
    return {
        "name": name,
        "parameterType": {"type": _kind(value, form)},
        "parameterValue": {"value": None if value is None else _text(value)},
    }


def _kind(value: object, form: str) -> str:
    if form in _TYPES and not (form == "integer" and isinstance(value, float)):
        return _TYPES[form]
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, int):
        return "INT64" if -(2**63) <= value < 2**63 else "BIGNUMERIC"
    if isinstance(value, float):
        return "FLOAT64"
    return "JSON" if isinstance(value, dict) else "STRING"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json_text(value) if isinstance(value, list | dict) else str(value)


def _cells(row: Mapping[str, Any]) -> list[Any]:
    return [cell.get("v") for cell in row.get("f") or []]


def _columns(fields: list[JsonObject], wants: Mapping[str, str]) -> Columns:
    return Columns([str(field.get("name", "")) for field in fields], wants, [_convert(field) for field in fields])


def _convert(field: Mapping[str, object]) -> Convert:
    one = _convert_one(field)
    if field.get("mode") == "REPEATED":
        return lambda value: [None if each.get("v") is None else one(each["v"]) for each in value]
    return one


def _convert_one(field: Mapping[str, Any]) -> Convert:
    match str(field.get("type", "")).upper():
        case "INTEGER" | "INT64":
            return lambda value: integer_json(int(value))
        case "FLOAT" | "FLOAT64":
            return lambda value: float_json(float(value))
        case "BOOLEAN" | "BOOL":
            return lambda value: str(value).lower() == "true"
        case "TIMESTAMP":
            return _timestamp
        case "JSON":
            return parse_json
        case "RECORD" | "STRUCT":
            fields = field.get("fields") or []
            columns = _columns(fields, {})
            return lambda value: columns.rows([_cells(value)])[0]
        case _:
            return str


def _timestamp(value: Any) -> str:
    """Formats microseconds since 1970, the form that the request asks for."""
    try:
        return (_EPOCH + timedelta(microseconds=int(value))).isoformat()
    except (ValueError, OverflowError):
        return str(value)
