"""The RDS Data API: a fake written from its documentation, with a real PostgreSQL behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import asyncpg

from ferrule.app.app import App
from ferrule.runtime.executors.database.statements import read_statement
from tests.runtime.executors.database.real_databases import Place, asked, asking, eventually, go, postgres, refused
from tests.runtime.executors.database.real_databases import given as gives_back
from tests.runtime.executors.database.real_databases import tool as any_tool
from tests.runtime.executors.database.web import serving

ARN = "arn:aws:rds:eu-west-1:123456789012:cluster:my-cluster"
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db"
ROLE = {"scheme": "iam-role", "cluster_arn": ARN, "database": "mydb", "secret_arn": SECRET}
MOST = 1024 * 1024


class DataApi:
    """Transactions by id, parameters by name, fields as unions; answers of at most 1 MiB."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.open: dict[str, asyncpg.Connection] = {}
        self.denies = False

    async def __call__(
        self, method: str, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        self.asked.append((path, body))
        assert method == "POST"
        assert body["resourceArn"] == ARN
        assert body["secretArn"] == SECRET
        if self.denies or "AWS4-HMAC-SHA256" not in headers.get("authorization", ""):
            return 403, {"__type": "AccessDeniedException", "message": "no"}
        if path == "/BeginTransaction":
            connection = await self._connect()
            await connection.execute("BEGIN")
            number = f"tx{len(self.asked)}"
            self.open[number] = connection
            return 200, {"transactionId": number}
        if path in ("/CommitTransaction", "/RollbackTransaction"):
            connection = self.open.pop(body["transactionId"])
            if connection.is_closed():
                return 404, {"__type": "NotFoundException", "message": "gone"}
            await connection.execute("COMMIT" if path.startswith("/Commit") else "ROLLBACK")
            await connection.close()
            return 200, {"transactionStatus": "done"}
        return await self._execute(body)

    async def _connect(self) -> asyncpg.Connection:
        members = self._place.members
        return await asyncpg.connect(
            host=members["host"],
            port=members["port"],
            user=members["username"],
            database=members["database"],
            server_settings={"search_path": members["schema"], "timezone": "UTC"},
        )

    async def _execute(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        number = body.get("transactionId")
        connection = self.open[number] if number else await self._connect()
        try:
            read = read_statement(body["sql"], "postgresql")
            names = list(dict.fromkeys(read.names))
            values = {each["name"]: next(iter(each["value"].items())) for each in body.get("parameters", [])}
            kinds = {"longValue": "bigint", "doubleValue": "float8", "booleanValue": "boolean"}
            marks = [f"(${at + 1}::{kinds.get(values[name][0], 'text')})" for at, name in enumerate(names)]
            text = read.text(lambda _, name: marks[names.index(name)])
            given = [None if values[name][0] == "isNull" else values[name][1] for name in names]
            statement = await connection.prepare(text)
            rows = await statement.fetch(*given)
            status, attributes = statement.get_statusmsg(), statement.get_attributes()
        except asyncpg.PostgresError as error:
            return 400, {"__type": "BadRequestException", "message": f"ERROR: {error}; SQLState: {error.sqlstate}"}
        finally:
            if not number:
                await connection.close()
        changed = status.rpartition(" ")[2]
        answer: dict[str, Any] = {
            "columnMetadata": [{"label": each.name, "typeName": each.type.name} for each in attributes],
            "records": [[_field(value) for value in row.values()] for row in rows],
            "numberOfRecordsUpdated": int(changed) if changed.isdecimal() and not status.startswith("SELECT") else 0,
        }
        if len(json.dumps(answer)) > MOST:
            message = "Database returned more than the allowed response size limit"
            return 400, {"__type": "BadRequestException", "message": message}
        return 200, answer


def _field(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {"isNull": True}
        case bool():
            return {"booleanValue": value}
        case int():
            return {"longValue": value}
        case float():
            return {"doubleValue": value}
        case Decimal() | str():
            return {"stringValue": str(value)}
        case list():
            return {"arrayValue": {"longValues": value}}
        case _:
            return {"stringValue": str(value).removesuffix("+00:00")}


def tool(name: str, statement: str | None, **said: Any) -> str:
    said.setdefault("credentials", ROLE)
    return any_tool(name, statement, engine="rds-data-api", **said)


Story = Callable[[App, DataApi, Place], Awaitable[None]]


@asynccontextmanager
async def api(*definitions: str) -> AsyncIterator[tuple[App, DataApi, Place]]:
    async with postgres() as place:
        await place.run("CREATE TABLE t (id int PRIMARY KEY, name text)")
        await place.run("INSERT INTO t VALUES (1, 'first')")
        fake = DataApi(place)
        async with serving(fake) as port:
            environment = {
                "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                "AWS_SECRET_ACCESS_KEY": "secret-canary-aws",
                "AWS_REGION": "eu-west-1",
                "AWS_ENDPOINT_URL_RDS_DATA": f"http://127.0.0.1:{port}",
            }
            async with asking(*definitions, members={}, environment=environment) as app:
                yield app, fake, place


def play(story: Story, *definitions: str) -> None:
    async def main() -> None:
        async with api(*definitions) as (app, fake, place):
            await story(app, fake, place)
            assert not fake.open

    go(main)


def test_values_are_bound_by_name_and_rows_come_back() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        found = await gives_back(app, "find", {"id": 1, "name": "'; DROP TABLE t; --"})
        assert found["rows"] == [
            {"id": 1, "said": "'; DROP TABLE t; --", "big": "9007199254740993", "exact": "1.50", "list": [1, 2],
             "doc": {"a": 1}, "moment": "2024-05-01T10:00:00+00:00", "nothing": None, "yes": True}
        ]  # fmt: skip
        sent = next(body for path, body in fake.asked if path == "/Execute" and ":id" in body["sql"])
        assert {"name": "id", "value": {"longValue": 1}} in sent["parameters"]
        assert "DROP" not in sent["sql"]

    ask = (
        "SELECT id, :name AS said, 9007199254740993 AS big, 1.50 AS exact, ARRAY[1,2] AS list, '{\"a\":1}'::jsonb AS doc,"
        " '2024-05-01 10:00:00+00'::timestamptz AS moment, NULL::int AS nothing, true AS yes FROM t WHERE id = :id"
    )
    play(story, tool("find", ask, takes={"id": {}, "name": {}}))


def test_a_retrieval_changes_nothing_and_an_action_does() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        assert await refused(app, "sneak") == ("permission_denied", "read_only", "sqlstate:25006")
        assert (await gives_back(app, "add", {"id": 2}))["affected"] == 1
        assert await refused(app, "add", {"id": 2}) == ("invalid_arguments", "constraint_violated", "sqlstate:23505")
        assert [row[0] for row in await place.run("SELECT id FROM t ORDER BY id")] == [1, 2]

        async def is_over() -> bool:
            return not fake.open

        await eventually(is_over)

    sneak = "INSERT INTO t VALUES (9, 'x') RETURNING id"
    play(story, tool("sneak", sneak), tool("add", "INSERT INTO t VALUES (:id, 'x')", kind="action", takes={"id": {}}))


def test_too_much_for_one_answer_is_told() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        assert (await refused(app, "big"))[0] == "result_too_large"

        async def is_over() -> bool:
            return not fake.open

        await eventually(is_over)

    play(story, tool("big", "SELECT repeat('x', 2000000) AS long"))


def test_what_is_canceled_is_rolled_back() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        surface = app.surface()
        run = await surface.begin("slow", {})

        async def is_running() -> bool:
            return any("pg_sleep" in body.get("sql", "") for _, body in fake.asked)

        await eventually(is_running)
        await surface.cancel(run.invocation_ids[0], "enough", within=5)

        async def is_rolled_back() -> bool:
            return any(path == "/RollbackTransaction" for path, _ in fake.asked)

        await eventually(is_rolled_back)
        fake.open.clear()

    play(story, tool("slow", "SELECT pg_sleep(1)"))


def test_what_aws_denies_is_denied() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        fake.denies = True
        result = await asked(app, "find")
        assert result.error is not None
        assert result.error.error_class == "permission_denied"
        assert "secret-canary-aws" not in str(result)

    play(story, tool("find", "SELECT 1 AS one"))


def test_a_secret_has_to_be_named() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        assert (await refused(app, "find"))[0] == "setup_required"

    play(story, tool("find", "SELECT 1", credentials={"scheme": "iam-role", "cluster_arn": ARN, "database": "mydb"}))


def test_structured_input_needs_listed_tables() -> None:
    async def story(app: App, fake: DataApi, place: Place) -> None:
        assert (await gives_back(app, "rows", {"table": "t", "filters": {"id": 1}}))["rows"] == [
            {"id": 1, "name": "first"}
        ]
        assert (await refused(app, "open", {"table": "t"}))[0] == "setup_required"

    takes: dict[str, Any] = {"table": {}, "filters": {}}
    rows = tool("rows", None, method="orm", takes=takes, x_tables=["t"])
    play(story, rows, tool("open", None, method="orm", takes=takes))
