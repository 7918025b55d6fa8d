"""What a function may say about running beside others, and about being tried again."""

from __future__ import annotations

import asyncio

import ferrule
from ferrule.contracts.executor import Context
from ferrule.model.result import Result
from ferrule.testing import memory_app

ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'


def test_at_164_a_function_names_its_locks() -> None:
    """AT-164: calls of one order never overlap; calls of two may."""
    running: set[str] = set()
    most = {"same": 0, "all": 0}

    @ferrule.tool(concurrency_safe=True, destructive=False, locks=("order:{order}",))
    async def pack(order: str) -> str:
        """Pack an order."""
        most["same"] = max(most["same"], order in running)
        running.add(order)
        most["all"] = max(most["all"], len(running))
        await asyncio.sleep(0.005)
        running.discard(order)
        return order

    async def story() -> None:
        async with memory_app(tools=[pack], policy=ALLOW) as app:
            batch = await app.surface().call_many([("pack", {"order": order}) for order in ("a", "b", "a", "b")])
            assert [result.value for result in batch if isinstance(result, Result)] == ["a", "b", "a", "b"]
        assert most == {"same": 0, "all": 2}

    asyncio.run(story())


def test_at_243_a_function_says_how_often_it_is_tried() -> None:
    """AT-243: each attempt is on record; what may have acted is tried again only because its author wrote so."""
    attempts: list[int] = []

    @ferrule.tool(destructive=False, max_attempts=3)
    async def reach(context: Context) -> str:
        """Reach a system that is not there at first."""
        attempts.append(context.attempt)
        if len(attempts) < 3:
            raise ferrule.ToolFailed("not there yet", error_class="dependency_unavailable")
        return "there"

    async def story() -> None:
        async with memory_app(tools=[reach], policy=ALLOW) as app:
            result = await app.surface().call("reach")
            assert (result.is_error, attempts) == (False, [1, 2, 3])
            [row] = [row for row in await app.store.rows_of(result.invocation_id) if row.kind == "ended"]
            assert [noted[3] for noted in row.segment().notes["attempts"]] == ["dependency_unavailable"] * 2

    asyncio.run(story())
