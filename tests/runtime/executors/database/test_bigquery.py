"""BigQuery's REST interface: a fake written from its documentation. Not run against the service."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from ferrule.app.app import App
from ferrule.contracts.executor import Context
from tests.runtime.executors.database.real_databases import asked, asking, eventually, executor_of, go, refused, tool_of
from tests.runtime.executors.database.real_databases import given as gives_back
from tests.runtime.executors.database.real_databases import tool as any_tool
from tests.runtime.executors.database.web import serving

PAGE = 3


class BigQuery:
    """Jobs that give prepared rows in pages, or say no."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any], str]] = []
        self.fields: list[dict[str, Any]] = [{"name": "id", "type": "INTEGER"}]
        self.rows: list[list[Any]] = []
        self.affected: str | None = None
        self.is_slow = False
        self.error: tuple[int, dict[str, Any]] | None = None
        self.cancelled: list[str] = []
        self.scopes: list[str] = []

    async def __call__(
        self, method: str, path: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        if path == "/token":
            claims = body["assertion"].split(".")[1]
            self.scopes.append(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["scope"])
            return 200, {"access_token": f"token-{len(self.scopes)}", "expires_in": 3600, "token_type": "Bearer"}
        where = urlsplit(path)
        said = {name: values[0] for name, values in parse_qs(where.query).items()}
        self.asked.append((method, where.path, {**body, **said}, headers.get("authorization", "")))
        if self.error is not None:
            return self.error
        if where.path.endswith("/cancel"):
            self.cancelled.append(where.path.split("/")[-2])
            return 200, {"kind": "bigquery#jobCancelResponse"}
        if "/tables/" in where.path:
            return 200, {"schema": {"fields": self.fields}}
        job = {"jobReference": {"projectId": "proj", "jobId": "job_1", "location": "EU"}}
        if self.is_slow:
            return 200, {**job, "jobComplete": False}
        at = int(said.get("pageToken", 0))
        cells = [{"f": [{"v": value} for value in row]} for row in self.rows[at : at + PAGE]]
        answer = {**job, "jobComplete": True, "schema": {"fields": self.fields}, "rows": cells}
        if at + PAGE < len(self.rows):
            answer["pageToken"] = str(at + PAGE)
        if self.affected is not None:
            answer["numDmlAffectedRows"] = self.affected
        return 200, answer


def key() -> str:
    made = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.PKCS8
    return made.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


KEY = key()


def tool(name: str, statement: str | None, **said: Any) -> str:
    return any_tool(name, statement, engine="bigquery", **said)


@asynccontextmanager
async def bigquery(*definitions: str) -> AsyncIterator[tuple[App, BigQuery]]:
    fake = BigQuery()
    async with serving(fake) as port:
        members = {
            "project": "proj",
            "dataset": "shop",
            "type": "service_account",
            "project_id": "proj",
            "client_email": "app@proj.iam.gserviceaccount.com",
            "private_key": KEY,
            "token_uri": f"http://127.0.0.1:{port}/token",
        }
        environment = {"DB": json.dumps(members), "BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{port}"}
        async with asking(*definitions, members={}, environment=environment) as app:
            yield app, fake


def play(story: Callable[[App, BigQuery], Awaitable[None]], *definitions: str) -> None:
    async def main() -> None:
        async with bigquery(*definitions) as (app, fake):
            await story(app, fake)

    go(main)


def test_parameters_are_named_typed_and_never_in_the_text() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        given = {"a": "'; DROP TABLE t", "n": 5, "x": 5, "when": "2024-05-01T10:00:00Z", "ids": [1, 2], "doc": {"k": 1}}
        await gives_back(app, "find", given)
        method, path, body, authorization = fake.asked[0]
        assert (method, path) == ("POST", "/bigquery/v2/projects/proj/queries")
        assert body["query"] == "SELECT @a, @n, @x, @when, @ids, @doc, @gone"
        assert body["useLegacySql"] is False
        assert body["parameterMode"] == "NAMED"
        assert body["defaultDataset"] == {"projectId": "proj", "datasetId": "shop"}
        found = {each["name"]: each for each in body["queryParameters"]}
        assert found["a"] == {
            "name": "a",
            "parameterType": {"type": "STRING"},
            "parameterValue": {"value": "'; DROP TABLE t"},
        }
        kinds = {name: each["parameterType"]["type"] for name, each in found.items()}
        assert kinds == {
            "a": "STRING", "n": "INT64", "x": "FLOAT64", "when": "TIMESTAMP", "ids": "ARRAY", "doc": "JSON", "gone": "INT64",
        }  # fmt: skip
        assert found["ids"]["parameterType"]["arrayType"] == {"type": "INT64"}
        assert found["gone"]["parameterValue"] == {"value": None}
        assert authorization.startswith("Bearer token-")

    takes: dict[str, Any] = {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "ids": {"type": "array"},
        "doc": {"type": "object"},
        "gone": {"type": "integer"},
    }
    play(story, tool("find", "SELECT :a, :n, :x, :when, :ids, :doc, :gone", takes=takes))


def test_pages_are_read_to_the_end() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        fake.rows = [[str(number)] for number in range(8)]
        found = await gives_back(app, "find")
        assert found == {"rows": [{"id": number} for number in range(8)], "row_count": 8}
        pages = [body for method, _, body, _ in fake.asked if method == "GET"]
        assert [body["pageToken"] for body in pages] == ["3", "6"]
        assert all(body["location"] == "EU" for body in pages)

    play(story, tool("find", "SELECT id FROM t"))


def test_types_become_json() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        fake.fields = [
            {"name": "big", "type": "INTEGER"},
            {"name": "exact", "type": "NUMERIC"},
            {"name": "near", "type": "FLOAT"},
            {"name": "odd", "type": "FLOAT"},
            {"name": "yes", "type": "BOOLEAN"},
            {"name": "moment", "type": "TIMESTAMP"},
            {"name": "bytes", "type": "BYTES"},
            {"name": "list", "type": "INTEGER", "mode": "REPEATED"},
            {
                "name": "inner",
                "type": "RECORD",
                "fields": [{"name": "a", "type": "STRING"}, {"name": "n", "type": "INTEGER"}],
            },
            {"name": "doc", "type": "JSON"},
            {"name": "none", "type": "DATE"},
        ]
        inner = {"f": [{"v": "x"}, {"v": "7"}]}
        fake.rows = [
            ["9007199254740993", "1.50", "0.1", "NaN", "true", "1714557600000000", "AP8=", [{"v": "1"}, {"v": "2"}], inner,
             '{"a": 1}', None]
        ]  # fmt: skip
        assert (await gives_back(app, "find"))["rows"] == [
            {"big": "9007199254740993", "exact": "1.50", "near": 0.1, "odd": "NaN", "yes": True,
             "moment": "2024-05-01T10:00:00+00:00", "bytes": "AP8=", "list": [1, 2], "inner": {"a": "x", "n": 7},
             "doc": {"a": 1}, "none": None}
        ]  # fmt: skip

    play(story, tool("find", "SELECT * FROM t"))


def test_a_job_that_takes_too_long_is_cancelled() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        fake.is_slow = True
        assert (await refused(app, "find", timeout_seconds=0.5))[0] == "timeout"

        async def is_cancelled() -> bool:
            return fake.cancelled == ["job_1"]

        await eventually(is_cancelled)

    play(story, tool("find", "SELECT 1"))


def test_changes_tell_how_much_and_only_they_may_write() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        await gives_back(app, "find")
        assert fake.scopes == ["https://www.googleapis.com/auth/bigquery.readonly"]
        fake.fields, fake.affected = [], "3"
        assert (await gives_back(app, "change"))["affected"] == 3
        assert fake.scopes[1:] == ["https://www.googleapis.com/auth/bigquery"]

    play(story, tool("change", "DELETE FROM t WHERE true", kind="action"), tool("find", "SELECT 1"))


def test_a_retrieval_that_changes_is_refused_before_it_is_sent() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        assert (await refused(app, "sneak"))[0] == "setup_required"
        assert not fake.asked

    play(story, tool("sneak", "DELETE FROM t WHERE true"))


def test_failures_have_classes() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        for status, reason, expected in (
            (400, "invalidQuery", ("setup_required", "bad_statement", "bigquery:invalidQuery")),
            (403, "accessDenied", ("permission_denied", "upstream_denied", "bigquery:accessDenied")),
            (403, "rateLimitExceeded", ("rate_limited", "too_many_connections", "bigquery:rateLimitExceeded")),
            (401, "authError", ("credential_missing", "credential_refused", "http:401")),
            (503, "unknown", ("dependency_unavailable", "dependency_unavailable", "http:503")),
        ):
            fake.error = status, {"error": {"code": status, "errors": [{"reason": reason, "message": "what it says"}]}}
            assert await refused(app, "find") == expected
            result = await asked(app, "find")
            assert result.error is not None
            assert "what it says" not in result.error.message

    play(story, tool("find", "SELECT 1"))


def test_a_probe_is_a_dry_run() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        await asked(app, "find")
        fake.asked.clear()
        said = await executor_of(app).prepare(tool_of(app, "find")).probe(Context("", "", None, ""))
        assert said == "reached BigQuery for proj/shop"
        assert fake.asked[0][2]["dryRun"] is True

    play(story, tool("find", "SELECT 1"))


def test_structured_input_is_checked_against_the_table() -> None:
    async def story(app: App, fake: BigQuery) -> None:
        fake.rows = [["1"]]
        assert (await gives_back(app, "rows", {"table": "orders", "filters": {"id": 1}}))["rows"] == [{"id": 1}]
        assert fake.asked[-1][2]["query"] == "SELECT `id` FROM `shop`.`orders` WHERE `id` = @p1"
        assert (await refused(app, "rows", {"table": "orders", "columns": ["no"]}))[0] == "invalid_arguments"

    play(
        story, tool("rows", None, method="orm", takes={"table": {}, "filters": {}, "columns": {}}, x_tables=["orders"])
    )
