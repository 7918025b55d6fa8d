"""Runs tools whose transport is a database. The statement comes from the definition or is built here; values are always bound.

A call fetches the credentials, takes the pool of exactly these members, then runs the query under the call's deadline. Few
rows are returned at once, many are streamed to the payload store; past the limits the call fails. Engines are below.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib import import_module
from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Support
from ferrule.infra.credentials.shapes import ROLES, required_members
from ferrule.infra.network.guard import Forbidden
from ferrule.infra.tasks import TimeLimits
from ferrule.model.credentials import Credentials
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import (
    BadMembers,
    ConnectionSpec,
    Database,
    Query,
    QueryReport,
    target_of,
)
from ferrule.runtime.executors.database.failures import DatabaseFailed, failure_of_call
from ferrule.runtime.executors.database.orm import orm_statement
from ferrule.runtime.executors.database.results import FAILURES, ResultShape, RowCollector, shape_of
from ferrule.runtime.executors.database.settings import EngineName, QueryPlan, plan_of
from ferrule.runtime.executors.database.statements import CONTROLLING, BadStatement, Statement, read_statement
from ferrule.runtime.executors.definition import read_tool_credentials
from ferrule.runtime.executors.identity import demand_trusted
from ferrule.runtime.executors.transport_services import TransportServices

_MOST_DATABASES = 64
_RDS = (".rds.amazonaws.com", ".rds.amazonaws.com.cn")
_ENGINES: dict[EngineName, str] = {
    "postgresql": "ferrule.runtime.executors.database.postgresql:PostgresDatabase",
    "mysql": "ferrule.runtime.executors.database.mysql:MysqlDatabase",
    "mssql": "ferrule.runtime.executors.database.mssql:MssqlDatabase",
    "bigquery": "ferrule.runtime.executors.database.bigquery:BigqueryDatabase",
    "snowflake": "ferrule.runtime.executors.database.snowflake:SnowflakeDatabase",
    "rds-data-api": "ferrule.runtime.executors.database.rds_data:RdsDataDatabase",
}


class DatabaseExecutor:
    """Executor of the databases that definitions name, with up to as many connections each as `[database]` allows."""

    support = Support(cancel=True, retries=True, credential_delegation=True)

    def __init__(self, services: TransportServices) -> None:
        self.services = services
        self._limits = services.upstreams.database
        self._databases: OrderedDict[bytes, Database] = OrderedDict()
        self._latest: dict[str, bytes] = {}
        self.time_limits = TimeLimits()
        self.generation = 0
        """Grows whenever a database is retired, so that runners stop using it."""
        self._aws = services.clouds.aws

    def can_run(self, tool: Tool) -> bool:
        """Returns True: every tool with a database as its transport can be run."""
        return True

    def prepare(self, tool: Tool) -> DatabaseRun:
        """Returns the tool's runner. Raises ExecutionFailed (`setup_required`)."""
        plan, credentials = plan_of(tool, self._limits), read_tool_credentials(tool)
        if credentials.scheme == "iam-role" and plan.transport.engine not in ROLES:
            raise ExecutionFailed(
                "setup_required",
                f"the database tool {tool.tool_id!r} cannot run: {plan.transport.engine} does not know the identity of this"
                " process; use credentials of scheme service-account",
                code="scheme_unfit",
            )
        return DatabaseRun(self, plan, shape_of(tool, plan), credentials)

    def database(
        self, plan: QueryPlan, credentials: Credentials, members: JsonObject, *, is_confined: bool
    ) -> Database:
        """Returns the database for connection members, without connecting. Raises ExecutionFailed."""
        engine = plan.transport.engine
        is_keyless = credentials.scheme == "iam-role"
        # With `is_confined`: the addresses of the one pool were judged by a looser rule.
        key = sha256(msgspec.json.encode((engine, is_confined, is_keyless, members), order="deterministic")).digest()
        found = self._databases.get(key)
        if found is not None:
            self._databases.move_to_end(key)
            return found
        spec = ConnectionSpec(
            members=members,
            services=self.services,
            is_confined=is_confined,
            password=lambda: self._password(members, is_keyless=is_keyless),
            label=credentials.label,
            secret_id=credentials.ref.secret_id if credentials.ref is not None else "",
            is_keyless=is_keyless,
        )
        module, _, name = _ENGINES[engine].partition(":")
        make: Callable[..., Database] = getattr(import_module(module), name)
        try:
            if is_keyless and "host" in members:  # the token carries our session's, and a definition names the host
                demand_trusted(self.services.guard, target_of(members), "a login token for RDS", _RDS)
            made = make(spec, size=self._limits.pool_size, seconds=self._limits.timeout_seconds)
        except BadMembers as problem:
            raise ExecutionFailed(
                "credential_missing",
                f"the credentials {credentials.label!r} cannot be used: {problem}",
                code="credential_shape",
            ) from None
        # With `is_confined`, so that the two pools of one secret do not retire each other.
        self._keep(f"{engine} {credentials.label} {is_confined}", key, made)
        return made

    def _keep(self, label: str, key: bytes, made: Database) -> None:
        """Keeps a new database and retires the one that older members of the same credentials opened: a changed password."""
        self._databases[key] = made
        before = self._latest.get(label)
        self._latest[label] = key
        if before is not None and before != key:
            self._retire(before)
        while len(self._databases) > _MOST_DATABASES:
            self._retire(next(iter(self._databases)))

    def _retire(self, key: bytes) -> None:
        gone = self._databases.pop(key, None)
        if gone is not None:
            self.generation += 1
            gone.retire()

    async def _password(self, members: Mapping[str, Any], *, is_keyless: bool) -> str:
        if not is_keyless:
            return str(members.get("password", ""))
        keys = await self._aws.keys()
        region = str(members.get("region") or keys.region or "")
        if not region:
            raise ExecutionFailed("setup_required", "a login token for RDS needs 'region' in the credentials")
        host, port, user = str(members["host"]), int(members["port"]), str(members["username"])
        return self._aws.rds_auth_token(keys, host, port, user, region)

    async def aclose(self) -> None:
        """Closes every connection."""
        databases, self._databases = list(self._databases.values()), OrderedDict()
        for database in databases:
            await database.aclose()


_ON_THE_LOOP = frozenset({"postgresql", "mysql"})
"""Engines whose drivers stop at once when cancelled; the others have threads or requests to wait for."""


class DatabaseRun:
    """Runner of one database tool."""

    support = DatabaseExecutor.support

    def __init__(
        self, executor: DatabaseExecutor, plan: QueryPlan, shape: ResultShape, credentials: Credentials
    ) -> None:
        self._executor = executor
        self._plan = plan
        self._shape = shape
        self._credentials = credentials
        self._digest = plan.statement.digest if plan.statement is not None else ""
        self._required = required_members("database", plan.transport.engine, credentials.scheme)
        self._known: tuple[int, bool, JsonObject, Database] | None = None
        self.upstream = f"database:{credentials.label}"
        self.runs_in_place = plan.transport.engine in _ON_THE_LOOP

    async def __call__(self, arguments: JsonObject, context: Context) -> Output:
        """Runs the query and returns its rows. Raises ExecutionFailed."""
        plan = self._plan
        loop = asyncio.get_running_loop()
        end = loop.time() + plan.seconds
        if context.deadline is not None:
            end = min(end, context.deadline)
        answer = QueryReport()
        statement, host = plan.statement, ""
        try:
            with self._executor.time_limits.until(end):
                database = await self._database(context)
                host = database.host
                values: Mapping[str, Any] = arguments
                if statement is None:
                    statement, values = await self._statement(arguments, database)
                query = Query(
                    statement=statement,
                    values=values,
                    is_read_only=plan.is_read_only,
                    wants=self._shape.wants,
                    # These are of the definition's members; in SQL of the input, the names are the model's.
                    formats=plan.formats if plan.statement is not None else {},
                    dialect=plan.dialect,
                    seconds=max(0.001, end - loop.time()),
                )
                gathering = RowCollector(plan, self._shape, database.rows(query, answer), answer)
                return await gathering.output(lambda error: self._failure(error, context), end)
        except FAILURES as error:
            raise self._failure(error, context) from None
        finally:
            # Also for a call that failed: what it sent is part of its record.
            digest = self._digest or (statement.digest if statement is not None else "")
            context.add_native_ref(
                source="database",
                engine=plan.transport.engine,
                host=host,
                statement_digest=digest,
                **answer.ref,
            )

    async def probe(self, context: Context) -> str:
        """Connects, and has the server parse the statement. Raises ExecutionFailed."""
        plan = self._plan
        database = await self._database(context)
        try:
            async with asyncio.timeout(plan.seconds):
                return await database.check(plan.statement)
        except FAILURES as error:
            raise self._failure(error, context) from None

    async def _database(self, context: Context) -> Database:
        """Returns the database for the current credentials; the same one as long as they do not change."""
        executor, known = self._executor, self._known
        members = await executor.services.vault.members(self._credentials, context, self._required)
        if known is not None and known[:3] == (executor.generation, context.is_confined, members):
            return known[3]
        found = executor.database(self._plan, self._credentials, members, is_confined=context.is_confined)
        self._known = executor.generation, context.is_confined, members, found
        return found

    async def _statement(self, arguments: JsonObject, database: Database) -> tuple[Statement, Mapping[str, object]]:
        if self._plan.transport.query_method == "orm":
            return await orm_statement(arguments, self._plan, database)
        return self._read_input_statement(arguments)

    def _read_input_statement(self, arguments: JsonObject) -> tuple[Statement, Mapping[str, object]]:
        """Reads the statement and its values from the input. Raises ExecutionFailed (`invalid_arguments`,
        `permission_denied`)."""
        plan, values = self._plan, arguments.get("params") or {}
        if not isinstance(arguments.get("sql"), str) or not isinstance(values, dict):
            raise _bad_statement("'sql' must be a text, and 'params' an object with its values by name")
        try:
            statement = read_statement(arguments["sql"], plan.dialect)
        except BadStatement as problem:
            raise _bad_statement(f"'sql' cannot be used: {problem}") from None
        absent = [name for name in statement.names if name not in values]
        if absent:
            raise _bad_statement(f"'sql' names ':{absent[0]}', which 'params' does not have")
        # No definition can allow verbs about the session: other calls use it too.
        refused = [verb for verb in statement.verbs if verb not in plan.allowed or verb in CONTROLLING]
        if refused:
            raise ExecutionFailed(
                "permission_denied",
                f"the database tool {plan.tool_id!r} does not run {refused[0].upper()}; it runs"
                f" {', '.join(sorted(plan.allowed)).upper()}",
                code="statement_not_allowed",
            )
        return statement, values

    def _failure(self, error: Exception, context: Context) -> ExecutionFailed:
        plan = self._plan
        if isinstance(error, DatabaseFailed):
            if error.report.kind.code == "credential_refused":
                self._executor.services.vault.forget_refused(self._credentials, context)
            return failure_of_call(error, plan.tool_id, is_fixed=plan.statement is not None)
        if isinstance(error, Forbidden):
            return ExecutionFailed("policy_blocked", str(error), code="address_forbidden")
        if isinstance(error, TimeoutError):
            return ExecutionFailed(
                "timeout", f"the database tool {plan.tool_id!r} did not finish in time; its query was stopped"
            )
        return ExecutionFailed(
            "dependency_unavailable",
            f"the database of {plan.tool_id!r} cannot be reached; see whether it runs and whether its host is right",
            code="unreachable",
            native_error_ref=f"connection:{type(error).__name__}",
        )


def _bad_statement(message: str) -> ExecutionFailed:
    return ExecutionFailed("invalid_arguments", message, code="bad_statement")
