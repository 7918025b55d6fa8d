"""Calls of cloud functions: an event is acknowledged at once, and whoever stops waiting does not stop the function."""

from __future__ import annotations

from typing import Any

from ferrule.model.result import Result
from tests.runtime.executors.lambda_.runtime import Lambda
from tests.runtime.executors.lambda_.tools import STRICT, aws_tool
from tests.runtime.executors.queue.tools import calling, eventually, run
from tests.spec.running_app import run_async


@run_async
async def test_an_event_is_acknowledged_before_the_function_is_through(aws: Lambda, tmp_path: Any) -> None:
    """AML-51"""
    gate = tmp_path / "gate"
    async with calling(
        aws_tool("waits", invocation_type="Event", output=STRICT, kind="action"),
        env=aws.environment,
        policy='mode = "trusted"',
    ) as app:
        result = await run(app, "waits", {"text": str(gate)})
        assert result.status == "succeeded", result.error
        accepted: Any = result.structured_content
        assert accepted["status"] == "accepted"
        assert accepted["request_id"].startswith("request-")
        assert aws.events[0].is_alive()
        gate.touch()
        await eventually(lambda: not aws.events[0].is_alive())


@run_async
async def test_a_call_that_is_canceled_waits_no_longer_and_says_that_the_function_may_go_on(aws: Lambda) -> None:
    async with calling(aws_tool("slow", kind="action"), env=aws.environment, policy='mode = "trusted"') as app:
        surface = app.surface()
        begun = await surface.begin("slow", {"text": "x"})
        await eventually(aws.begun.is_set)
        told = await surface.cancel(begun.invocation_ids[0], "enough", within=5)
        assert told is not None
        assert told.outcome == "canceled"
        assert not told.is_supported  # the function itself was not stopped
        result = await surface.result(begun.invocation_ids[0])
        assert isinstance(result, Result)
        assert result.error is not None
        assert not result.error.retry.retry_safe
        assert aws.running[-1].poll() is None


@run_async
async def test_what_a_function_gives_after_its_time_is_on_record(aws: Lambda, tmp_path: Any) -> None:
    gate = tmp_path / "gate"
    async with calling(aws_tool("waits"), env=aws.environment) as app:
        result = await run(app, "waits", {"text": str(gate)}, timeout_seconds=0.5)
        assert result.error is not None
        assert result.error.error_class == "timeout"
        assert "may still run" in result.error.message
        gate.touch()

        async def is_told() -> bool:
            return any(row.outcome == "late_result" for row in await app.store.news_of(result.invocation_id))

        await eventually(is_told)
