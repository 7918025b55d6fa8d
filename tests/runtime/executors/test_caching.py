"""Results of retrievals are kept where the settings say so (AML-18), those of actions never (AML-19)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Context, ExecutionFailed, Executor, Output, Run, Support
from ferrule.model.result import Result
from ferrule.model.tool import Tool
from ferrule.model.upstreams import CacheUpstreams
from ferrule.runtime.executors.caching import pack_output
from ferrule.runtime.functions import tool
from ferrule.settings import Settings
from ferrule.testing import FakeClock, memory_app
from tests.contracts.transports.fake_upstream import aml
from tests.driven import driven

TRUSTED = 'mode = "trusted"'


class Behind:
    """An executor that counts, and can be held."""

    support = Support(cancel=True, progress=True)

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self.fails = 0
        self.says = "x"

    def can_run(self, tool: Tool) -> bool:
        return tool.dialect == "aml"

    def prepare(self, tool: Tool) -> Run:
        return self._run

    async def _run(self, arguments: dict[str, Any], context: Context) -> Output:
        self.calls.append(dict(arguments))
        self.begun.set()
        context.progress("asked")
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        if self.fails:
            self.fails -= 1
            raise ExecutionFailed("execution_failed", "no")
        return Output({"number": len(self.calls), "text": self.says}, native_refs=({"source": "native", "id": 1},))

    async def aclose(self) -> None:
        """Nothing is open."""


def _definition(kind: str, tool_id: str = "look-up") -> dict[str, str]:
    transport = "  type: rest-api\n  base_url: http://127.0.0.1:1\n  endpoint: GET /x\n  credentials: {scheme: none}"
    return {f"tools/{tool_id}.tool.md": aml(tool_id, transport, kind=kind)}


def _app(behind: Executor, kind: str = "retrieval", *, cache: CacheUpstreams | None = None, **options: Any) -> Any:
    settings = Settings(cache=cache or CacheUpstreams(ttl_seconds=60))
    return memory_app(definitions=_definition(kind), executors=[behind], policy=TRUSTED, settings=settings, **options)


async def _number(app: App, text: str = "a", **who: Any) -> Any:
    result = await app.surface(**who).call("look-up", {"text": text})
    assert isinstance(result, Result), result
    assert result.structured_content is not None, result.error
    return result.structured_content["number"]


@driven
async def test_an_equal_call_within_its_time_asks_the_system_behind_once() -> None:
    behind, clock = Behind(), FakeClock()
    async with _app(behind, clock=clock) as app:
        assert [await _number(app), await _number(app)] == [1, 1]
        clock.advance(61)
        assert await _number(app) == 2
        assert await _number(app, "b") == 3


@driven
async def test_nothing_is_kept_unless_a_time_is_said() -> None:
    behind = Behind()
    async with _app(behind, cache=CacheUpstreams()) as app:
        assert [await _number(app), await _number(app)] == [1, 2]


@pytest.mark.parametrize("kind", ["action", "function"])
@driven
async def test_an_action_is_never_answered_from_the_cache_even_if_the_settings_name_it(kind: str) -> None:
    behind = Behind()
    async with _app(behind, kind, cache=CacheUpstreams(ttl_seconds=60, tools={"look-up": 60.0})) as app:
        assert [await _number(app), await _number(app)] == [1, 2]


@driven
async def test_nobody_gets_what_was_kept_for_somebody_else() -> None:
    behind = Behind()
    async with _app(behind) as app:
        assert await _number(app, principal="ann") == 1
        assert await _number(app, principal="ben") == 2
        assert await _number(app, principal="ann", tenant="other") == 3
        assert await _number(app, principal="ann") == 1


@driven
async def test_a_hit_is_a_governed_call_and_says_that_it_was_one() -> None:
    behind = Behind()
    async with _app(behind) as app:
        await _number(app)
        result = await app.surface().call("look-up", {"text": "a"})
        assert isinstance(result, Result)
        rows = await app.store.rows_of(result.invocation_id)
        segment = rows[-1].segment()
        assert segment.notes["cache"]["age_seconds"] >= 0
        assert segment.decisions and segment.decisions[0].ruling.behavior == "allow"
        assert "native_refs" not in segment.notes


@driven
async def test_a_caller_who_may_not_call_gets_nothing_out_of_the_cache() -> None:
    behind = Behind()
    deny = 'mode = "trusted"\n[[rules]]\nid = "no"\ndecision = "deny"\ntool = "look-up"\nprincipal = "eve"\n'
    settings = Settings(cache=CacheUpstreams(ttl_seconds=60))
    made = memory_app(definitions=_definition("retrieval"), executors=[behind], policy=deny, settings=settings)
    async with made as app:
        assert await _number(app, principal="ann") == 1
        result = await app.surface(principal="eve").call("look-up", {"text": "a"})
        assert isinstance(result, Result) and result.status in ("denied", "blocked")
        assert len(behind.calls) == 1


@driven
async def test_failures_are_not_kept() -> None:
    behind = Behind()
    behind.fails = 1
    async with _app(behind) as app:
        result = await app.surface().call("look-up", {"text": "a"})
        assert isinstance(result, Result) and result.status == "failed"
        assert await _number(app) == 2


@driven
async def test_equal_calls_at_the_same_moment_make_one_call_behind() -> None:
    behind = Behind()
    behind.gate.clear()
    async with _app(behind) as app:
        calls = [asyncio.ensure_future(_number(app)) for _ in range(20)]
        await behind.begun.wait()
        behind.gate.set()
        assert set(await asyncio.gather(*calls)) == {1}
        assert len(behind.calls) == 1


@driven
async def test_whoever_goes_away_takes_nothing_from_the_others() -> None:
    behind = Behind()
    behind.gate.clear()
    async with _app(behind) as app:
        first = asyncio.ensure_future(_number(app))
        await behind.begun.wait()
        second = asyncio.ensure_future(_number(app))
        await _joined(app, 2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert not behind.stopped.is_set()
        behind.gate.set()
        assert await second == 1
        assert await _number(app) == 1


@driven
async def test_the_last_to_go_away_stops_the_call_behind() -> None:
    behind = Behind()
    behind.gate.clear()
    async with _app(behind) as app:
        calls = [asyncio.ensure_future(_number(app)) for _ in range(2)]
        await behind.begun.wait()
        await _joined(app, 2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await behind.stopped.wait()
        behind.gate.set()
        assert await _number(app) == 2


async def _joined(app: App, count: int) -> None:
    """Wait until so many calls share one."""
    cache = app._parts.cache
    assert cache is not None
    while not any(len(flight.relay.waiting) == count for flight in cache.shared_calls.values()):
        await asyncio.sleep(0)


@driven
async def test_a_failure_is_everybodys_who_shared_the_call() -> None:
    behind = Behind()
    behind.gate.clear()
    behind.fails = 1
    async with _app(behind) as app:
        calls = [asyncio.ensure_future(app.surface().call("look-up", {"text": "a"})) for _ in range(3)]
        await behind.begun.wait()
        await _joined(app, 3)
        behind.gate.set()
        ended = await asyncio.gather(*calls)
        assert [result.status for result in ended if isinstance(result, Result)] == ["failed"] * 3
        assert len(behind.calls) == 1


@driven
async def test_the_cache_is_bounded_in_number_and_in_size() -> None:
    behind = Behind()
    async with _app(behind, cache=CacheUpstreams(ttl_seconds=60, max_entries=2, max_entry_bytes=100)) as app:
        assert [await _number(app, text) for text in "abcba"] == [1, 2, 3, 2, 4]
        behind.says = "y" * 200
        assert [await _number(app, "large"), await _number(app, "large")] == [5, 6]


@driven
async def test_a_function_that_only_reads_is_kept_when_it_is_named() -> None:
    asked: list[int] = []

    @tool(read_only=True, namespace="shop")
    async def price(item: int) -> dict[str, int]:
        """The price of an item."""
        asked.append(item)
        return {"price": len(asked)}

    @tool(namespace="shop")
    async def order(item: int) -> dict[str, int]:
        """Order an item."""
        asked.append(item)
        return {"ordered": len(asked)}

    settings = Settings(cache=CacheUpstreams(tools={"shop.price": 60.0, "shop.order": 60.0}))
    async with memory_app(tools=[price, order], policy=TRUSTED, settings=settings) as app:
        for name in ("price", "price", "order", "order"):
            await app.surface().call(f"shop.{name}", {"item": 1})
        assert len(asked) == 3


@driven
async def test_what_was_kept_cannot_be_changed_by_whoever_got_it() -> None:
    behind = Behind()
    async with _app(behind) as app:
        first = await app.surface().call("look-up", {"text": "a"})
        assert isinstance(first, Result) and isinstance(first.structured_content, dict)
        first.structured_content["text"] = "changed"
        second = await app.surface().call("look-up", {"text": "a"})
        assert isinstance(second, Result) and isinstance(second.structured_content, dict)
        assert second.structured_content["text"] == "x"


@pytest.mark.parametrize(
    "output",
    [
        Output(stream=[b"x"]),
        Output({}, artifact_refs=({"id": "a"},)),
        Output({}, is_private=True),
        Output({}, is_acknowledgement=True),
        Output({}, context_modifiers=({"set": {"a": 1}},)),
        Output({}, content=({"type": "persisted_output_ref", "uri": "x"},)),
        Output(2**80),
        msgspec.structs.replace(Output(), value=object()),
    ],
)
def test_what_belongs_to_one_call_is_not_kept(output: Output) -> None:
    assert pack_output(output) is None
