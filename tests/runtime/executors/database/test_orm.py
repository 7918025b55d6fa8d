"""Structured input: names from the live schema, values bound. In both real databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ferrule.app.app import App
from tests.runtime.executors.database.real_databases import Place, asked, asking, go, mariadb, postgres, refused, tool
from tests.runtime.executors.database.real_databases import given as gives_back

BOTH = pytest.mark.parametrize("make", [postgres, mariadb], ids=["postgresql", "mariadb"])
ANY: dict[str, Any] = {
    name: {} for name in ("table", "operation", "columns", "filters", "order", "limit", "offset", "values")
}


def play(make: Any, story: Callable[[App, Place], Awaitable[None]], **said: Any) -> None:
    async def main() -> None:
        async with make() as place:
            await place.run("CREATE TABLE orders (id int PRIMARY KEY, customer varchar(20), total decimal(10,2))")
            await place.run("INSERT INTO orders VALUES (1, 'a', 10.50), (2, 'b', 20), (3, 'a', NULL)")
            await place.run("CREATE TABLE hidden (secret text)")
            said.setdefault("kind", "retrieval")
            said.setdefault("takes", ANY)
            one = tool("orders", None, method="orm", engine=place.engine, **said)
            async with asking(one, members=place.members) as app:
                await story(app, place)

    go(main)


@BOTH
@pytest.mark.parametrize(
    ("request_", "ids"),
    [
        ({}, [1, 2, 3]),
        ({"filters": {"customer": "a"}}, [1, 3]),
        ({"filters": [{"column": "customer", "value": "a"}, {"column": "total", "op": "is_null"}]}, [3]),
        ({"filters": [{"column": "total", "op": "not_null"}]}, [1, 2]),
        ({"filters": {"total": None}}, [3]),
        ({"filters": [{"column": "id", "op": "in", "value": [1, 3, 9]}]}, [1, 3]),
        ({"filters": [{"column": "id", "op": "in", "value": []}]}, []),
        ({"filters": [{"column": "id", "op": ">=", "value": 2}]}, [2, 3]),
        ({"filters": [{"column": "id", "op": "!=", "value": 2}]}, [1, 3]),
        ({"filters": [{"column": "customer", "op": "like", "value": "%b%"}]}, [2]),
        ({"order": ["-id"]}, [3, 2, 1]),
        ({"order": [{"column": "customer", "direction": "desc"}, "id"], "limit": 2}, [2, 1]),
        ({"order": ["id"], "limit": 1, "offset": 1}, [2]),
        ({"order": ["id"], "offset": 2}, [3]),
        ({"limit": 0}, []),
    ],
)
def test_rows_are_chosen(make: Any, request_: dict[str, Any], ids: list[int]) -> None:
    async def story(app: App, place: Place) -> None:
        found = await gives_back(app, "orders", {"table": "orders", "columns": ["id"], **request_})
        rows = [row["id"] for row in found["rows"]]
        assert (rows if "order" in request_ else sorted(rows)) == ids

    play(make, story)


@BOTH
def test_all_columns_come_when_none_is_named(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        found = await gives_back(app, "orders", {"table": "orders", "filters": {"id": 1}})
        assert found["rows"] == [{"id": 1, "customer": "a", "total": "10.50"}]

    play(make, story)


@BOTH
@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"table": "nowhere"},
        {"table": "orders", "columns": ["nothing"]},
        {"table": "orders", "columns": ["id", "*"]},
        {"table": "orders", "filters": {"nothing": 1}},
        {"table": "orders", "filters": [{"column": "id", "op": "~"}]},
        {"table": "orders", "filters": [{"column": "id", "op": "in", "value": "1"}]},
        {"table": "orders", "order": ["nothing"]},
        {"table": "orders", "limit": -1},
        {"table": "orders", "limit": "1; DROP TABLE orders"},
        {"table": "ORDERS; --"},
    ],
)
def test_what_the_schema_does_not_have_is_refused(make: Any, request_: dict[str, Any]) -> None:
    async def story(app: App, place: Place) -> None:
        assert (await refused(app, "orders", request_))[0] == "invalid_arguments"

    play(make, story)


@BOTH
def test_a_retrieval_only_selects(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        kind, code, _ = await refused(app, "orders", {"table": "orders", "operation": "delete", "filters": {"id": 1}})
        assert (kind, code) == ("permission_denied", "read_only")

    play(make, story)


@BOTH
def test_an_action_changes_what_it_names(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        ask = {"table": "orders"}
        new = {**ask, "operation": "insert", "values": {"id": 9, "customer": "it's", "total": "7.25"}}
        assert (await gives_back(app, "orders", new))["affected"] == 1
        more = {**ask, "operation": "update", "values": {"customer": "z"}, "filters": {"id": 9}}
        assert (await gives_back(app, "orders", more))["affected"] == 1
        assert (await gives_back(app, "orders", {**ask, "filters": {"id": 9}}))["rows"] == [
            {"id": 9, "customer": "z", "total": "7.25"}
        ]
        for operation in ("update", "delete"):
            everything = {**ask, "operation": operation, "values": {"customer": "x"}}
            assert "every row" in str((await asked(app, "orders", everything)).error)
        assert (await gives_back(app, "orders", {**ask, "operation": "delete", "filters": {"id": 9}}))["affected"] == 1

    play(make, story, kind="action")


@BOTH
def test_only_listed_tables_can_be_named(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        assert (await asked(app, "orders", {"table": "orders"})).status == "succeeded"
        result = await asked(app, "orders", {"table": "hidden"})
        assert result.error is not None
        assert "'orders'" in result.error.message

    play(make, story, x_tables=["orders"])


@BOTH
def test_names_with_quotes_in_them_are_written_as_they_are(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        name = 'odd " ` name'
        quoted = '"odd "" ` name"' if place.engine == "postgresql" else '`odd " `` name`'
        await place.run(f"CREATE TABLE {quoted} ({quoted} int)")
        await place.run(f"INSERT INTO {quoted} VALUES (5)")
        found = await gives_back(app, "orders", {"table": name, "filters": {name: 5}, "order": [name]})
        assert found["rows"] == [{name: 5}]

    play(make, story)


@BOTH
def test_a_misspelt_filter_does_not_choose_every_row(make: Any) -> None:
    async def story(app: App, place: Place) -> None:
        error = (await asked(app, "orders", {"table": "orders", "where": {"customer": "a"}})).error
        assert error is not None
        assert error.error_class == "invalid_arguments"
        assert "there is no key 'where'; it may have table, operation, columns, filters" in error.message

    play(make, story, takes={**ANY, "where": {}})
