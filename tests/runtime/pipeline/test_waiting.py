"""A tool that waits for somebody in the middle of its run: the question it leaves, and the news of it."""

from __future__ import annotations

from ferrule.contracts.executor import Waiting
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.result import Pending, Result
from tests.runtime.pipeline.slow_tools import app_of_slow_tools, list_progress
from tests.spec.running_app import run_async, running_app

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))


@run_async
async def test_a_tool_may_wait_itself() -> None:
    """AT-93: needs_input, then running again with the answer; nothing is sent twice."""
    question = Waiting(message="Which Bern?", state=b"halfway")
    async with running_app(default=question) as on:
        waiting = await on.park()
        assert waiting.state == (await on.read_record(waiting))["status"] == "needs_input"
        assert "Which Bern?" in waiting.message
        assert len(on.executor.ran) == 1


@run_async
async def test_numbers_go_on_after_an_answer() -> None:
    """AT-198: no number is used twice, whoever goes on with the call."""
    async with app_of_slow_tools() as (app, surface):
        pending = await surface.call("ask")
        assert isinstance(pending, Pending)
        before = await list_progress(app, pending.invocation_id)
        await app.inbox(BOB).answer(pending.invocation_id, "the second")
        outcome = await surface.result(pending.invocation_id)
        assert isinstance(outcome, Result) and outcome.value == "took the second"
        after = await list_progress(app, pending.invocation_id)
        assert before and after == list(range(1, len(after) + 1)) and len(after) > len(before)
