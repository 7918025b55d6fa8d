"""What a definition says about its database, and why some definitions cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.tool import Tool, raw
from ferrule.model.upstreams import DatabaseUpstreams
from ferrule.runtime.executors.database.settings import QueryPlan, plan_of
from tests.runtime.executors.database.orders import ORDERS
from tests.runtime.executors.database.real_databases import asked, asking, go, tool


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"statement": None}, "x-statement"),
        ({"statement": "SELECT :nobody"}, ":nobody"),
        ({"statement": "SELECT 1; SELECT 2"}, "more than one statement"),
        ({"statement": "SELECT $1"}, ":name"),
        ({"statement": "COMMIT"}, "COMMIT"),
        ({"statement": "CALL change_all()"}, "CALL"),
        ({"statement": "SELECT 1 AS a INTO b"}, "INTO"),
        ({"statement": "COPY t TO PROGRAM 'id'"}, "COPY"),
        ({"statement": "SELECT 1", "x_allow_sql": True}, "exclude"),
        ({"statement": None, "x_allow_sql": True}, "'sql'"),
        ({"statement": "SELECT 1", "x_rows": "nowhere", "gives": ORDERS}, "nowhere"),
    ],
)
def test_definitions_that_cannot_work_say_why(said: dict[str, Any], why: str) -> None:
    async def story() -> None:
        members = {"host": "127.0.0.1", "port": 1, "database": "d", "username": "u", "password": "p"}
        async with asking(tool("wrong", **said), members=members) as app:
            result = await asked(app, "wrong")
            assert result.error is not None
            assert result.error.error_class == "setup_required"
            assert why in result.error.message

    go(story)


def planned(kind: str = "retrieval", takes: dict[str, Any] | None = None, **said: Any) -> QueryPlan:
    """The plan of a tool that takes these, under the limits of a workspace; `x_rows` stands for `x-rows`."""
    said = {name.replace("_", "-") if name.startswith("x_") else name: value for name, value in said.items()}
    transport = {"engine": "postgresql", "query_method": "parameterised-sql", "x-statement": "SELECT 1", **said}
    made = Tool(
        tool_id="find", name="find", namespace="shop", description="", lifecycle="available", tool_kind="function",
        dialect="aml", input_schema=raw({"type": "object", "properties": takes or {}}),
        payload=raw({"type": kind, "transport": transport}),
    )  # fmt: skip
    return plan_of(made, DatabaseUpstreams(max_rows=500, max_bytes=9_000, timeout_seconds=20.0))


def test_a_definition_may_lower_the_time_and_set_its_own_number_of_rows() -> None:
    assert (planned().max_rows, planned().max_bytes, planned().seconds) == (500, 9_000, 20.0)
    assert planned(x_max_rows=7).max_rows == 7
    assert planned(timeout_ms=1_500).seconds == 1.5
    assert planned(timeout_ms=60_000).seconds == 20.0


def test_only_a_retrieval_reads_only() -> None:
    sql: dict[str, Any] = {"takes": {"sql": {"type": "string"}}, "x_statement": None, "x_allow_sql": True}
    reads, acts = planned(**sql), planned("action", **sql)
    assert reads.is_read_only and "insert" not in reads.allowed
    assert not acts.is_read_only and {"insert", "delete"} <= acts.allowed and "drop" not in acts.allowed
    listed = planned("action", **sql, x_allow_statements=["Insert"])
    assert listed.allowed == {"insert"}


@pytest.mark.parametrize(
    ("engine", "statement", "works"),
    [
        ("postgresql", "DELETE FROM t", True),
        ("postgresql", "CALL change_all()", False),
        ("mysql", "DELETE FROM t", True),
        ("mysql", "DROP TABLE t", False),
        ("mssql", "DELETE FROM t", False),
        ("bigquery", "DELETE FROM t", False),
    ],
)
def test_what_an_engine_does_not_refuse_itself_is_refused_here(engine: str, statement: str, works: bool) -> None:
    """A read-only transaction stops the rest at the server."""
    if works:
        assert planned(engine=engine, x_statement=statement).statement is not None
        return
    with pytest.raises(ExecutionFailed, match="a retrieval only reads") as failed:
        planned(engine=engine, x_statement=statement)
    assert failed.value.error_class == "setup_required"


def test_the_input_schema_says_what_parameters_are() -> None:
    takes = {
        "when": {"type": "string", "format": "date-time"},
        "data": {"type": "string", "contentEncoding": "base64"},
        "count": {"type": "integer"},
        "any": {"type": ["integer", "null"]},
    }
    assert planned(takes=takes).formats == {"when": "date-time", "data": "base64", "count": "integer"}


def test_the_cluster_behind_the_data_api_has_a_language() -> None:
    assert planned(engine="rds-data-api").dialect == "postgresql"
    assert planned(engine="rds-data-api", x_dialect="mysql").dialect == "mysql"
