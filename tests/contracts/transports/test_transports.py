"""What every transport does alike, through the whole pipeline, against a real system behind it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.model.failure import ERROR_CLASSES
from ferrule.model.persistence import ResultSettings
from ferrule.model.result import Pending, Result
from ferrule.runtime.executors.builtin import TRANSPORTS
from ferrule.testing import memory_app
from tests.contracts.transports.fake_upstream import BEHAVIOURS, CANARY, Behaviour, FakeUpstream, MakeUpstream
from tests.contracts.transports.fake_upstreams import FAKE_UPSTREAMS

BOUND = 60.0
PEOPLE = {"human"}
"""Answered by people, not by a system: its promises are in tests/runtime/executors/human."""

Play = Callable[[FakeUpstream, App], Awaitable[None]]


@pytest.fixture(params=FAKE_UPSTREAMS, ids=str)
def make(request: pytest.FixtureRequest) -> MakeUpstream:
    module, _, name = FAKE_UPSTREAMS[request.param].partition(":")
    made: MakeUpstream = getattr(importlib.import_module(module), name)
    return made


def test_every_transport_has_a_fake_upstream() -> None:
    assert {name.partition(",")[0] for name in FAKE_UPSTREAMS} | PEOPLE == set(TRANSPORTS)


def play(make: MakeUpstream, behaviour: Behaviour, story: Play) -> None:
    """Tell a story with one tool. Bounded; a transport that cannot have the behaviour is skipped with its reason."""

    async def main() -> None:
        async with asyncio.timeout(BOUND), make() as upstream:
            if behaviour in upstream.without:
                pytest.skip(f"this transport has no such tool: {upstream.without[behaviour]}")
            async with running(upstream) as app:
                await story(upstream, app)

    asyncio.run(main())


@asynccontextmanager
async def running(upstream: FakeUpstream) -> AsyncIterator[App]:
    files = {f"tools/{name}.tool.md": text for name, text in upstream.definitions.items()}
    results = ResultSettings(max_inline_chars=20_000)
    async with memory_app(
        definitions=files,
        tools=upstream.tools.values(),
        settings=upstream.settings,
        environment=upstream.environment,
        results=results,
        tends=True,
    ) as app:
        yield app


async def ended(app: App, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Result:
    found = await app.surface().call(name, arguments or {}, wait=30, **options)
    assert isinstance(found, Result), found
    return found


def everything(result: Result) -> str:
    return msgspec.json.encode(result).decode()


def test_a_fake_upstream_says_what_it_cannot_have(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        there = {*upstream.definitions, *upstream.tools}
        assert there | set(upstream.without) == set(BEHAVIOURS)
        assert not there & set(upstream.without)

    play(make, "echo", story)


def test_what_the_system_gave_is_the_result(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        for text in ("plain", "ünïcode ☃ 'quoted' \"twice\"; --", "{curly} [square] <angle> & 100%"):
            result = await ended(app, "echo", {"text": text})
            assert result.status == "succeeded", result.error
            assert _member(result, "text") == text

    play(make, "echo", story)


def test_native_ids_are_on_record(make: MakeUpstream) -> None:
    """AT-258: each call keeps what it is called where it really ran."""

    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "echo", {"text": "x"})
        rows = await app.store.rows_of(result.invocation_id)
        refs = [ref for row in rows for ref in row.segment().notes.get("native_refs", ())]
        assert refs
        assert all(ref.get("source") for ref in refs)
        assert CANARY not in str(refs)

    play(make, "echo", story)


def test_many_calls_at_once_do_not_mix_their_answers(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface = app.surface()
        texts = [f"number {number}" for number in range(20)]
        results = await asyncio.gather(*(surface.call("echo", {"text": text}, wait=30) for text in texts))
        assert [_member(result, "text") for result in results] == texts

    play(make, "echo", story)


def test_a_call_that_takes_too_long_ends_in_time(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        result = await ended(app, "slow", timeout_seconds=1.0)
        assert result.error is not None
        assert result.error.error_class == "timeout"
        assert loop.time() - started < 15
        assert not upstream.can_stop or await upstream.stopped()

    play(make, "slow", story)


def test_a_call_that_is_canceled_while_it_runs_stops(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface = app.surface()
        run = await surface.begin("slow", {})
        await upstream.begun()
        told = await surface.cancel(run.invocation_ids[0], "enough", within=5)
        assert told is not None
        if upstream.can_stop:
            assert told.outcome == "canceled", told
            assert await upstream.stopped()
        else:
            assert told.outcome in ("canceled", "requested", "cancel_failed")

    play(make, "slow", story)


def test_a_call_that_is_canceled_before_it_runs_reaches_nobody(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface, before = app.surface(), upstream.touched()
        waiting = asyncio.ensure_future(surface.call("slow", {}))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert upstream.touched() == before

    play(make, "slow", story)


def test_a_cancel_that_comes_too_late_changes_nothing(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface = app.surface()
        result = await surface.call("echo", {"text": "done"}, wait=30)
        told = await surface.cancel(result.invocation_id, "too late")
        assert told is not None
        assert told.outcome == "cancel_failed"
        again = await surface.result(result.invocation_id)
        assert isinstance(again, Result)
        assert again.status == "succeeded"

    play(make, "echo", story)


def test_what_time_cures_is_tried_again(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "flaky", {"text": "at last"})
        assert result.status == "succeeded", result.error
        assert _member(result, "text") == "at last"
        rows = await app.store.rows_of(result.invocation_id)
        assert any(row.segment().notes.get("attempts") for row in rows)

    play(make, "flaky", story)


def test_progress_is_told_while_it_runs(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface = app.surface()
        run = await surface.begin("steps", {"text": "x"})
        told = [said async for said in surface.follow(run.invocation_ids[0])]
        assert any(said.message or said.percent is not None for said in told)

    play(make, "steps", story)


def test_a_big_result_is_kept_whole(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        surface = app.surface()
        result = await surface.call("big", {}, wait=30)
        assert isinstance(result, Result)
        assert result.status == "succeeded", result.error
        assert len(everything(result)) < 400_000
        assert result.native_output_ref
        whole = await surface.payload(result.native_output_ref)
        assert len(whole) > 1_000_000
        assert b"the end of it" in whole

    play(make, "big", story)


def test_an_empty_result_is_a_success(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "empty")
        assert result.status == "succeeded", result.error

    play(make, "empty", story)


def test_a_failure_has_a_class_and_tells_no_secret(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "fails", {"text": "x"})
        assert result.error is not None
        assert result.error.error_class in ERROR_CLASSES
        assert result.error.error_class not in ("dependency_unavailable", "timeout", "rate_limited")
        assert result.error.native_error_ref
        assert CANARY not in result.error.message
        assert "Traceback" not in everything(result)

    play(make, "fails", story)


def test_credentials_that_are_not_accepted(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "refused", {"text": "x"})
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
        assert CANARY not in everything(result)

    play(make, "refused", story)


def test_credentials_that_are_missing_are_refused_before_anything_is_sent(make: MakeUpstream) -> None:
    """AML-72: failure to resolve a secret is a hard error before any call."""

    async def story(upstream: FakeUpstream, app: App) -> None:
        before = upstream.touched()
        result = await ended(app, "unset", {"text": "x"})
        assert result.error is not None
        assert result.error.error_class == "credential_missing"
        assert upstream.touched() == before

    play(make, "unset", story)


def test_nobody_there(make: MakeUpstream) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        result = await ended(app, "gone", {"text": "x"})
        assert result.error is not None
        assert result.error.error_class == "dependency_unavailable"

    play(make, "gone", story)


@pytest.mark.parametrize("behaviour", ["echo", "gone", "unset", "refused"])
def test_a_probe_tells_what_works_without_calling_the_tool(make: MakeUpstream, behaviour: Behaviour) -> None:
    async def story(upstream: FakeUpstream, app: App) -> None:
        entry = app.surface().surface.entries[behaviour]
        executor = app.find_executor(entry.tool)
        assert executor is not None
        run: Any = executor.prepare(entry.tool)
        before = upstream.touched()
        context = Context("doctor", "owner", None, "")
        if behaviour == "echo":
            assert await run.probe(context)
        elif behaviour != "refused":
            with pytest.raises(ExecutionFailed) as caught:
                await run.probe(context)
            assert caught.value.error_class in ("dependency_unavailable", "credential_missing")
        else:
            try:  # what only the tool's own request would show may be found fine
                await run.probe(context)
            except ExecutionFailed as failed:
                assert failed.error_class == "credential_missing"
                assert CANARY not in failed.message
        assert upstream.touched() == before

    play(make, behaviour, story)


def test_closing_the_app_ends_what_runs(make: MakeUpstream) -> None:
    async def main() -> None:
        async with asyncio.timeout(BOUND), make() as upstream:
            if "slow" in upstream.without:
                pytest.skip(f"this transport has no such tool: {upstream.without['slow']}")
            async with running(upstream) as app:
                await app.surface().begin("slow", {})
                await upstream.begun()
            assert not upstream.can_stop or await upstream.stopped()

    asyncio.run(main())


def _member(result: Result | Pending, name: str) -> Any:
    assert isinstance(result, Result), result
    found = result.structured_content
    assert isinstance(found, dict), result
    return found.get(name)
