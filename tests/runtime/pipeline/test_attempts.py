"""Attempts of one call: what failed before the last one is on record, without secrets."""

from __future__ import annotations

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.result import Result
from tests.runtime.pipeline.secret_app import ANY, SECRET, check_outcome, scene_with_secrets
from tests.spec.running_app import make_tool, run_async


@run_async
async def test_attempts_that_failed_before_the_last_one() -> None:
    failed = ExecutionFailed("dependency_unavailable", "no", code=SECRET, native_error_ref=SECRET, is_retryable=True)
    flaky = make_tool(schema=ANY, is_read_only=True, retry_policy={"max_attempts": 2, "backoff_ms": 1})
    async with scene_with_secrets(flaky, script={"shop.search": [failed, "done"]}) as on:
        result = await check_outcome(on, await on.call())
        assert isinstance(result, Result)
        assert len((await on.read_story(result)).notes["attempts"]) == 1
