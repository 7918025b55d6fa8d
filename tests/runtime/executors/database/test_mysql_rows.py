"""Rows of a real MariaDB in their binary form: every type as JSON, and values as the driver binds them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from ferrule.runtime.executors.database.engine import Query
from ferrule.runtime.executors.database.mysql_rows import Unbindable, values_of
from ferrule.runtime.executors.database.statements import read_statement
from tests.runtime.executors.database.real_databases import asking, go, mariadb, tool
from tests.runtime.executors.database.real_databases import given as gives_back

MARIADB: list[tuple[str, str, Any]] = [
    ("tinyint", "-5", -5),
    ("tinyint unsigned", "255", 255),
    ("smallint", "-32768", -32768),
    ("mediumint", "-8388608", -8388608),
    ("int unsigned", "4294967295", 4294967295),
    ("bigint", "-9223372036854775808", "-9223372036854775808"),
    ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
    ("decimal(30,10)", "12345678901234567890.5", "12345678901234567890.5000000000"),
    ("float", "0.5", 0.5),
    ("double", "0.1", 0.1),
    ("bit(1)", "b'1'", 1),
    ("bit(64)", "b'1111111111111111111111111111111111111111111111111111111111111111'", "18446744073709551615"),
    ("year", "2024", 2024),
    ("date", "'2024-02-29'", "2024-02-29"),
    ("date", "'0000-00-00'", "0000-00-00"),
    ("date", "'2024-00-00'", "2024-00-00"),
    ("datetime(6)", "'2024-05-01 10:11:12.000001'", "2024-05-01T10:11:12.000001"),
    ("datetime", "'0000-00-00 00:00:00'", "0000-00-00T00:00:00"),
    ("timestamp null", "'2024-05-01 10:11:12'", "2024-05-01T10:11:12+00:00"),
    ("time(3)", "'-838:59:59.000'", "-838:59:59"),
    ("time", "'12:00:00'", "12:00:00"),
    ("char(3)", "'ab'", "ab"),
    ("varchar(20)", "'☃ ''x'''", "☃ 'x'"),
    ("text", "''", ""),
    ("varbinary(5)", "x'00ff'", "AP8="),
    ("blob", "x''", ""),
    ("enum('a','b')", "'b'", "b"),
    ("set('a','b','c')", "'a,c'", ["a", "c"]),
    ("json", """'{"a": 1}'""", '{"a": 1}'),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("inet6", "'2001:db8::1'", "2001:db8::1"),
    ("boolean", "true", 1),
]


def test_mariadb_types_become_json() -> None:
    async def story() -> None:
        async with mariadb() as place:
            await place.run("SET sql_mode = '', time_zone = '+00:00'")
            for position, (kind, literal, _) in enumerate(MARIADB):
                await place.run(f"CREATE TABLE t{position} (v {kind})")
                await place.run(f"INSERT INTO t{position} VALUES ({literal}), (NULL)")
            tools = [
                tool(f"type-{position}", f"SELECT v FROM t{position}", engine="mysql")
                for position in range(len(MARIADB))
            ]
            async with asking(*tools, members=place.members) as app:
                for position, (kind, _, told) in enumerate(MARIADB):
                    found = await gives_back(app, f"type-{position}")
                    assert found["rows"] == [{"v": told}, {"v": None}], kind

    go(story)


def test_mariadb_values_come_back_as_they_went() -> None:
    async def story() -> None:
        async with mariadb() as place:
            await place.run(
                "CREATE TABLE t (id int, n bigint unsigned, d decimal(30,5), s text, b blob, m datetime(6), j json, f double)"
            )
            takes: dict[str, Any] = {name: {} for name in ("id", "n", "d", "s", "j", "f")}
            takes["b"] = {"type": "string", "contentEncoding": "base64", "description": "x"}
            takes["m"] = {"type": "string", "format": "date-time", "description": "x"}
            names = list(takes)
            add = f"INSERT INTO t ({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})"
            row = {"j": {"type": ["object", "null"]}}
            gives = {
                "type": "object",
                "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": row}}},
            }
            async with asking(
                tool("add", add, engine="mysql", kind="action", takes=takes),
                tool("find", "SELECT * FROM t WHERE id = :id", engine="mysql", takes={"id": {}}, gives=gives),
                members=place.members,
            ) as app:
                value = {"id": 1, "n": "18446744073709551615", "d": "1.50000", "s": "☃ \\ ' \"", "b": "AP8=", "f": 0.1}
                value |= {"j": {"a": [1, None]}, "m": "2024-05-01T10:00:00.5+02:00"}
                await gives_back(app, "add", value)
                found = (await gives_back(app, "find", {"id": 1}))["rows"]
                assert found == [{**value, "m": "2024-05-01T08:00:00.500000"}]
                await gives_back(app, "add", {"id": 2})
                assert set((await gives_back(app, "find", {"id": 2}))["rows"][0].values()) == {2, None}

    go(story)


def bound(value: Any, form: str = "") -> Any:
    """One value as the driver binds it."""
    query = Query(
        statement=read_statement("SELECT :v", "mysql"), values={"v": value}, is_read_only=True, formats={"v": form}
    )
    return values_of(query)[0]


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        ("AP8=", "base64", b"\x00\xff"),
        ("AP8=", "", "AP8="),
        ("2024-05-01T10:00:00.5+02:00", "date-time", datetime(2024, 5, 1, 8, 0, 0, 500_000)),
        ("2024-05-01T10:00:00", "date-time", "2024-05-01T10:00:00"),
        (2**64 - 1, "", 2**64 - 1),
        (2**64, "", str(2**64)),
        (-(2**63) - 1, "", str(-(2**63) - 1)),
        (True, "", True),
        ([1, {"a": None}], "", '[1,{"a":null}]'),
        (None, "base64", None),
    ],
)
def test_a_value_is_bound_without_loss(value: Any, form: str, expected: Any) -> None:
    """A moment with an offset is the same moment in UTC; a number beyond the driver's is a text."""
    assert bound(value, form) == expected


@pytest.mark.parametrize(
    ("value", "form"), [("no base64!", "base64"), ("half \ud800", ""), ("2024-13-01T10:00Z", "date-time")]
)
def test_what_cannot_be_bound_is_named_and_not_repeated(value: str, form: str) -> None:
    with pytest.raises(Unbindable) as failed:
        bound(value, form)
    assert (failed.value.name, str(failed.value)) == ("v", "v")
