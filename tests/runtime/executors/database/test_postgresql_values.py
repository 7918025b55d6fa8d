"""Types of a real PostgreSQL as JSON and back, without loss."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.executors.database.real_databases import Place, asking, go, postgres, tool
from tests.runtime.executors.database.real_databases import given as gives_back

POSTGRES: list[tuple[str, Any]] = [
    ("NULL::int", None),
    ("true", True),
    ("5::smallint", 5),
    ("2147483647::int", 2147483647),
    ("9007199254740992::bigint", 9007199254740992),
    ("9007199254740993::bigint", "9007199254740993"),
    ("(-9223372036854775808)::bigint", "-9223372036854775808"),
    ("1.10::numeric", "1.10"),
    ("123456789012345678901234567890.123456789::numeric", "123456789012345678901234567890.123456789"),
    ("'NaN'::numeric", "NaN"),
    ("'Infinity'::numeric", "Infinity"),
    ("0.1::float8", 0.1),
    ("'NaN'::float8", "NaN"),
    ("'-Infinity'::float4", "-Infinity"),
    ("'text ☃'::text", "text ☃"),
    ("'ab'::char(4)", "ab  "),
    ("'\\x00ff'::bytea", "AP8="),
    ("'2024-05-01 10:11:12.123456+02'::timestamptz", "2024-05-01T08:11:12.123456+00:00"),
    ("'2024-05-01 10:11:12'::timestamp", "2024-05-01T10:11:12"),
    ("'infinity'::timestamptz", "infinity"),
    ("'12024-05-01 10:11:12'::timestamp", "12024-05-01T10:11:12"),
    ("'0044-03-15 12:00:00 BC'::timestamp", "0044-03-15 12:00:00 BC"),
    ("'2024-02-29'::date", "2024-02-29"),
    ("'-infinity'::date", "-infinity"),
    ("'24:00:00'::time", "24:00:00"),
    ("'10:11:12+05:30'::timetz", "10:11:12+05:30"),
    ("'1 year 2 mons 3 days 04:05:06.789'::interval", "P1Y2M3DT4H5M6.789S"),
    ("'-1 days'::interval", "P-1D"),
    ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("ARRAY[1,NULL,3]", [1, None, 3]),
    ("ARRAY[[1,2],[3,4]]", [[1, 2], [3, 4]]),
    ("ARRAY[9007199254740993]::bigint[]", ["9007199254740993"]),
    ("ARRAY['\\x00'::bytea]", ["AA=="]),
    ("ARRAY[1.10]::numeric[]", ["1.10"]),
    ("ARRAY['2024-05-01 00:00:00+00']::timestamptz[]", ["2024-05-01T00:00:00+00:00"]),
    (
        """'{"a": [1, 2.5, null], "b": 12345678901234567890}'::jsonb""",
        {"a": [1, 2.5, None], "b": "12345678901234567890"},
    ),
    ("'null'::json", None),
    ("""ARRAY['{"a": 1}']::jsonb[]""", [{"a": 1}]),
    ("'[1,5)'::int4range", "[1,5)"),
    ("'empty'::int4range", "empty"),
    ("'[2024-01-01,)'::daterange", "[2024-01-01,)"),
    ("'[1.5,2.5]'::numrange", "[1.5,2.5]"),
    ("ARRAY['[1,5)']::int4range[]", ["[1,5)"]),
    ("'[a,c)'::letters", "[a,c)"),
    ("'10.1.2.3/24'::inet", "10.1.2.3/24"),
    ("'10.1.2.0/24'::cidr", "10.1.2.0/24"),
    ("'2001:db8::1'::inet", "2001:db8::1"),
    ("'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"),
    ("B'101'::bit(3)", "101"),
    ("'happy'::mood", "happy"),
    ("ARRAY['happy','sad']::mood[]", ["happy", "sad"]),
    ("ROW(1, 'x')::pair", {"a": 1, "b": "x"}),
    ("5::positive", 5),
    ("'<a>b</a>'::xml", "<a>b</a>"),
    ("1234.5::money", "$1,234.50"),
    ("'pg_class'::regclass", "pg_class"),
]

ROUND: list[tuple[str, Any]] = [
    ("int", 5),
    ("bigint", "9223372036854775807"),
    ("numeric", "123456789012345678901234567890.5"),
    ("float8", 0.1),
    ("float8", "NaN"),
    ("bool", False),
    ("text", "☃ '; --"),
    ("bytea", "AP8="),
    ("timestamptz", "2024-05-01T08:11:12.123456+00:00"),
    ("timestamp", "2024-05-01T10:11:12"),
    ("timestamptz", "infinity"),
    ("date", "2024-02-29"),
    ("time", "23:59:59.999999"),
    ("interval", "P1Y2M3DT4H5M6.789S"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("int[]", [1, None, 3]),
    ("text[]", ["a", "b,c", '"', "{}"]),
    ("bytea[]", ["AP8="]),
    ("numeric[]", ["1.10"]),
    ("jsonb", {"a": [1, {"b": None}], "☃": "x"}),
    ("jsonb", [1, 2]),
    ("jsonb", "a text"),
    ("inet", "10.1.2.3"),
    ("mood", "sad"),
    ("bit(3)", "101"),
    ("positive", 7),
    ("int4range", "[1,5)"),
    ("tstzrange", '["2024-05-01 00:00:00+00",)'),
]


async def prepare(place: Place) -> None:
    await place.run("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    await place.run("CREATE TYPE pair AS (a int, b text)")
    await place.run("CREATE TYPE letters AS RANGE (subtype = text)")
    await place.run("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")


def test_postgresql_types_become_json() -> None:
    async def story() -> None:
        async with postgres() as place:
            await prepare(place)
            columns = ", ".join(f"{sql} AS v{position}" for position, (sql, _) in enumerate(POSTGRES))
            async with asking(tool("types", f"SELECT {columns}"), members=place.members) as app:
                row = (await gives_back(app, "types"))["rows"][0]
                for (sql, told), found in zip(POSTGRES, row.values(), strict=True):
                    assert found == told, sql

    go(story)


def test_postgresql_values_come_back_as_they_went() -> None:
    async def story() -> None:
        async with postgres() as place:
            await prepare(place)
            names = [f"type-{position}" for position in range(len(ROUND))]
            tools = [
                tool(name, f"SELECT :v::{kind} AS v", takes={"v": {}})
                for name, (kind, _) in zip(names, ROUND, strict=True)
            ]
            async with asking(*tools, members=place.members) as app:
                for name, (kind, value) in zip(names, ROUND, strict=True):
                    assert (await gives_back(app, name, {"v": value}))["rows"] == [{"v": value}], kind

    go(story)


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("int", "42", 42),
        ("numeric", 0.1, "0.1"),
        ("numeric", 12345678901234567890, "12345678901234567890"),
        ("text", 5, "5"),
        ("text", True, "true"),
        ("text", {"a": [1]}, '{"a":[1]}'),
        ("bool", "yes", True),
        ("timestamptz", "2024-05-01T10:00:00Z", "2024-05-01T10:00:00+00:00"),
        ("timestamptz", "2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00+00:00"),
    ],
)
def test_an_input_becomes_what_its_parameter_wants(kind: str, given: Any, told: Any) -> None:
    async def story() -> None:
        async with postgres() as place:
            ask = tool("find", f"SELECT :v::{kind} AS v", takes={"v": {}})
            async with asking(ask, members=place.members) as app:
                assert (await gives_back(app, "find", {"v": given}))["rows"] == [{"v": told}]

    go(story)


def test_lists_find_rows() -> None:
    async def story() -> None:
        async with postgres() as place:
            ask = tool("find", "SELECT g AS id FROM generate_series(1, 9) g WHERE g = ANY(:ids)", takes={"ids": {}})
            async with asking(ask, members=place.members) as app:
                assert (await gives_back(app, "find", {"ids": [2, 4, 99]}))["rows"] == [{"id": 2}, {"id": 4}]
                assert (await gives_back(app, "find", {"ids": []}))["rows"] == []

    go(story)


def test_the_output_schema_may_want_numbers() -> None:
    async def story() -> None:
        async with postgres() as place:
            row = {"total": {"type": "number"}, "count": {"type": "integer"}, "code": {"type": "string"}}
            gives = {
                "type": "object",
                "properties": {"orders": {"type": "array", "items": {"type": "object", "properties": row}}},
            }
            ask = tool("find", "SELECT 12.50 AS total, 9007199254740993 AS count, 7 AS code", gives=gives)
            async with asking(ask, members=place.members) as app:
                found = await gives_back(app, "find")
                assert found == {"orders": [{"total": 12.5, "count": 9007199254740993, "code": "7"}]}

    go(story)
