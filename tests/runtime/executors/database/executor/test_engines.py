"""What holds for every database that is really there, whatever its engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from tests.runtime.executors.database.proxy import proxied
from tests.runtime.executors.database.real_databases import (
    Place,
    asked,
    asking,
    executor_of,
    given,
    go,
    mariadb,
    postgres,
    refused,
    tool,
    tool_of,
)

Open = Callable[[], AbstractAsyncContextManager[Place]]
every = pytest.mark.parametrize("opened", [postgres, mariadb])


def play(opened: Open, story: Callable[[Place], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened() as place:
            await place.run("CREATE TABLE t (id int)")
            await place.run("INSERT INTO t VALUES (1), (2)")
            await story(place)

    go(main)


@every
def test_a_probe_tells_what_is_wrong_without_running_anything(opened: Open) -> None:
    async def story(place: Place) -> None:
        good = tool("good", "DELETE FROM t", kind="action", engine=place.engine)
        bad = tool("bad", "SELECT nothing FROM nowhere", engine=place.engine)
        async with asking(good, bad, members=place.members) as app:
            await asked(app, "bad")
            executor, context = executor_of(app), Context("", "", None, "")
            said = await executor.prepare(tool_of(app, "good")).probe(context)
            assert said.startswith("connected to 127.0.0.1")
            assert place.members["password"] not in said
            with pytest.raises(ExecutionFailed) as failed:
                await executor.prepare(tool_of(app, "bad")).probe(context)
            assert failed.value.error_class == "setup_required"
        assert (await place.run("SELECT count(*) FROM t"))[0][0] == 2

    play(opened, story)


@every
def test_a_server_that_goes_away_and_comes_back(opened: Open) -> None:
    async def story(place: Place) -> None:
        async with proxied(int(place.members["port"])) as proxy:
            find = tool("find", "SELECT 1 AS one", engine=place.engine)
            async with asking(find, members={**place.members, "port": proxy.port}) as app:
                await asyncio.gather(*(given(app, "find") for _ in range(5)))
                await proxy.stop()
                assert (await refused(app, "find"))[0] == "dependency_unavailable"
                await proxy.start()
                assert (await given(app, "find"))["rows"] == [{"one": 1}]

    play(opened, story)
