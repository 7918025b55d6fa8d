"""Whatever a value says, it arrives as a value and changes nothing (AML-56). Against real databases."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.executors.database.real_databases import Place, asking, go, mariadb, postgres, refused, tool
from tests.runtime.executors.database.real_databases import given as gives_back

QUOTES = ("'", '"', "`", "''", '""', "\\'", '\\"', "%27", "’", "ʼ", "\uff07", "$$", "$a$", "E'", "N'", "q'[")
ENDS = (
    "; DROP TABLE t; --",
    "; DELETE FROM t",
    " OR 1=1 --",
    " OR 'a'='a",
    " UNION SELECT secret FROM hidden --",
    "); INSERT INTO t VALUES (666, 'x'); --",
    " /*! UNION SELECT 1 */",
    "; COMMIT; DELETE FROM t; BEGIN; --",
)
CORPUS = [quote + end for quote in QUOTES for end in ENDS] + [
    "1; SELECT pg_sleep(10)",
    "1 AND SLEEP(10)",
    "0x27204f5220313d31",
    "admin'--",
    "admin' #",
    "' WAITFOR DELAY '0:0:10'--",
    "'; EXEC xp_cmdshell('id');--",
    "1' ORDER BY 100--+",
    "') OR ('1'='1",
    "\\'; DROP TABLE t; --",
    "\\\\'; DROP TABLE t; --",
    "'||(SELECT secret FROM hidden)||'",
    "' AND extractvalue(1, concat(0x7e, (SELECT secret FROM hidden)))--",
    "'; COPY t TO PROGRAM 'id'; --",
    "' INTO OUTFILE '/tmp/x' --",
    ":name",
    ":other :name ::text",
    "?",
    "$1",
    "%s %(name)s %",
    "{0} {name} ${name}",
    "@name @@version",
    "${jndi:ldap://x}",
    "-- \n",
    "/*",
    "*/",
    "\ufeff'",
    "\u202e' OR 1=1",
    "\xbf\x27 OR 1=1 --",
    "a\nb\r\nc\td",
    "",
    " ",
    "NULL",
    "null",
    "true",
    "☃🎉\U0010ffff",
    "x" * 100_000,
    "'" * 1_000,
    "\\" * 1_001,
]


def test_the_corpus_is_long_enough() -> None:
    assert len(set(CORPUS)) >= 150


async def prepare(place: Place) -> list[str]:
    await place.run("CREATE TABLE t (id int PRIMARY KEY, name text)")
    await place.run("INSERT INTO t VALUES (1, 'first')")
    await place.run("CREATE TABLE hidden (secret text)")
    await place.run("INSERT INTO hidden VALUES ('hush')")
    engine = place.engine
    back = "SELECT :value::text AS v" if engine == "postgresql" else "SELECT CONVERT(:value USING utf8mb4) AS v"
    text = {"value": {"type": "string", "description": "x"}}
    structured = {
        "table": {"type": "string", "description": "x"},
        "columns": {"type": "array", "description": "x"},
        "filters": {"type": ["array", "object"], "description": "x"},
        "order": {"type": "array", "description": "x"},
    }
    return [
        tool("back", back, engine=engine, takes=text),
        tool("find", "SELECT id FROM t WHERE name = :value", engine=engine, takes=text),
        tool("like", "SELECT id FROM t WHERE name LIKE :value", engine=engine, takes=text),
        tool(
            "free",
            None,
            engine=engine,
            x_allow_sql=True,
            takes={"sql": {"type": "string", "description": "x"}, "params": {"type": "object", "description": "x"}},
        ),
        tool("rows", None, engine=engine, method="orm", takes=structured),
    ]


async def unharmed(place: Place) -> None:
    found = [tuple(row) for row in await place.run("SELECT id, name FROM t")]
    assert found == [(1, "first")]


@pytest.mark.parametrize("make", [postgres, mariadb], ids=["postgresql", "mariadb"])
def test_payloads_arrive_as_values_and_change_nothing(make: Any) -> None:
    async def story() -> None:
        async with make() as place:
            tools = await prepare(place)
            async with asking(*tools, members=place.members) as app:
                for position, value in enumerate(CORPUS):
                    found = await gives_back(app, "back", {"value": value})
                    assert found is None or found == {"rows": [{"v": value}], "row_count": 1}
                    assert (found is None) == (len(value) > 40_000)  # that one is stored
                    assert (await gives_back(app, "find", {"value": value}))["rows"] == []
                    if position % 2:
                        sql = {"sql": "SELECT id FROM t WHERE name = :value", "params": {"value": value}}
                        assert (await gives_back(app, "free", sql))["rows"] == []
                    else:
                        filters = [{"column": "name", "value": value}]
                        assert (await gives_back(app, "rows", {"table": "t", "filters": filters}))["rows"] == []
                await unharmed(place)

    go(story)


@pytest.mark.parametrize("make", [postgres, mariadb], ids=["postgresql", "mariadb"])
def test_payloads_as_names_are_refused(make: Any) -> None:
    async def story() -> None:
        async with make() as place:
            tools = await prepare(place)
            async with asking(*tools, members=place.members) as app:
                for position, value in enumerate(CORPUS):
                    requests: list[dict[str, Any]] = [
                        {"table": value},
                        {"table": "t", "columns": [value]},
                        {"table": "t", "filters": {value: 1}},
                        {"table": "t", "order": [value]},
                        {"table": "t", "order": [{"column": "id", "direction": value}]},
                        {"table": "t", "filters": [{"column": "id", "op": value, "value": 1}]},
                    ]
                    kind, _, _ = await refused(app, "rows", requests[position % len(requests)])
                    assert kind == "invalid_arguments"
                await unharmed(place)

    go(story)


@pytest.mark.parametrize("make", [postgres, mariadb], ids=["postgresql", "mariadb"])
def test_any_text_comes_back_as_it_went(make: Any) -> None:
    """One loop and one app for all examples: hypothesis asks, the loop answers."""
    loop = asyncio.new_event_loop()

    async def opened() -> Any:
        place_manager = make()
        place = await place_manager.__aenter__()
        app_manager = asking(*(await prepare(place)), members=place.members)
        return place_manager, place, app_manager, await app_manager.__aenter__()

    place_manager, place, app_manager, app = loop.run_until_complete(opened())
    letters = st.characters(codec="utf-8", exclude_characters="\0")

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(letters, max_size=50))
    def comes_back(value: str) -> None:
        found = loop.run_until_complete(gives_back(app, "back", {"value": value}))
        assert found["rows"] == [{"v": value}]

    try:
        comes_back()
        loop.run_until_complete(unharmed(place))
    finally:
        loop.run_until_complete(app_manager.__aexit__(None, None, None))
        loop.run_until_complete(place_manager.__aexit__(None, None, None))
        loop.close()
