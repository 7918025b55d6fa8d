"""The rows of a call: words of hooks, approvers and callers stand in them without secrets."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.hook import HookOutput
from ferrule.model.approval import APPROVE, Identity
from tests.runtime.pipeline.hooks.hooked import act, hook
from tests.runtime.pipeline.secret_app import ANY, SECRET, check_outcome, is_clean, is_told, scene_with_secrets
from tests.spec.running_app import make_tool, run_async

PERSON = Identity("bob", "token:bob", frozenset({APPROVE}))


@pytest.mark.parametrize(
    "said",
    [
        HookOutput(permission="deny", permission_reason=SECRET),
        HookOutput(permission="ask", permission_reason=SECRET),
        HookOutput(stop=SECRET, stop_code=SECRET),
        HookOutput(messages=(SECRET,), outcome={SECRET: SECRET}),
    ],
)
@run_async
async def test_what_hooks_say(said: HookOutput) -> None:
    for event in ("pre_tool_use", "permission_decision"):
        async with scene_with_secrets(act, hooks=[hook(said, event)]) as on:
            await check_outcome(on, await on.surface.call("act"))


@run_async
async def test_why_somebody_approves_or_rejects() -> None:
    """AT-84: neither known secrets nor the sensitive values of the very input."""
    card = "4111-2222-3333"
    contract = {"sensitive_fields": ["card"]}
    asking = 'mode = "trusted"\n[[rules]]\ndecision = "ask"\ntool = "*"\n'
    async with scene_with_secrets(make_tool("act", ANY, input_contract=contract), policy=asking) as on:
        inbox = on.app.inbox(PERSON)
        for answer in (inbox.approve, inbox.reject):
            pending = await on.park("act", {"card": card})
            told: Any = await answer(pending.invocation_id, reason=f"{card} and {SECRET}")
            assert card not in repr(told)
            assert not is_told(told)
        await on.app.disable("shop.act", by="bob", reason=SECRET)
        assert await is_clean(on, SECRET, card)


@run_async
async def test_ids_that_a_caller_brings() -> None:
    async with scene_with_secrets(make_tool(schema=ANY)) as on:
        result = await on.call(arguments={}, native_call_id=f"id {SECRET}", retry_of=SECRET, idempotency_key=SECRET)
        assert result.native_call_id == "id [REDACTED]"
        await check_outcome(on, result)
