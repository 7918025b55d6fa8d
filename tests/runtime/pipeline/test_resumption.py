"""Calls that come back from waiting: rebuilt from their rows, looked at again, and run once."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.errors import InboxError
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Result
from tests.runtime.surface.surfaces import make_view
from tests.spec.running_app import FunctionHook, make_tool, run_async, running_app

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))
RESUMED = ["resolve_tool", "parse_schema", "permission", "schedule", "execute"]


@run_async
async def test_an_answered_call_is_looked_at_again() -> None:
    """AT-80, AT-141: tool, schema, permission, slot; hooks do not run twice."""
    hook = FunctionHook(lambda told: None)
    async with running_app(policy="", hooks=(hook,)) as on:
        waiting = await on.park()
        before = await on.read_phases(waiting)
        assert before == list(PHASES[:7])
        result = await on.answer()
        after = (await on.read_phases(result))[len(before) :]
        assert after == [*RESUMED, "map_result", "post_hooks", "persist_result", "emit_terminal"]
        assert len(hook.seen) == 1


@run_async
async def test_a_call_whose_tool_is_gone_ends() -> None:
    """AT-105: it does not wait for ever, and does not run."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        on.app.adopt(make_view(make_tool("other")))
        await on.app.inbox(BOB).approve(waiting.invocation_id)
        assert not on.has_run
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result)
        assert result.error is not None
        assert result.error.error_class == "unknown_tool"
        assert not await on.app.store.open_calls()


@run_async
async def test_switching_a_tool_off_ends_what_waits_for_it() -> None:
    """AT-105: with the class policy_blocked, and nothing runs."""
    async with running_app(policy="") as on:
        waiting = await on.park()
        assert await on.app.disable("shop.search", by="olga") == 1
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result)
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "tool_disabled")
        assert (await on.read_record(waiting))["status"] == "blocked"
        with pytest.raises(InboxError):
            await on.app.inbox(BOB).approve(waiting.invocation_id)


@run_async
async def test_whoever_takes_up_an_answered_call_it_runs_once() -> None:
    """AT-178"""
    async with running_app(policy="") as on:
        waiting = await on.park()
        await on.app.inbox(BOB).approve(waiting.invocation_id, resume=False)
        await asyncio.gather(*(on.app.calls.resume(waiting.invocation_id) for _ in range(5)))
        assert isinstance(await on.app.result(waiting.invocation_id), Result)
        assert len(on.executor.ran) == 1
