"""The end of a call: nobody takes it for a success that is not on record."""

from __future__ import annotations

from typing import Any

from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from tests.spec.running_app import TRUSTED, run_async, running_app

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))


@run_async
async def test_a_success_that_cannot_be_recorded_is_not_told_as_one() -> None:
    """AT-105: it ran; the end could not be written."""
    store = MemoryStore()

    def filling(arguments: Any) -> str:
        store.refusal = "the disk is full"
        return "done"

    async with running_app(store=store, default=filling, policy=TRUSTED) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_code == "outcome_not_recorded"
        assert result.error.retry.retry_safe is False
        await on.app.calls.recover()
        assert not await on.app.inbox(BOB).pending()  # it cannot be written yet
        store.refusal = ""
        await on.app.calls.recover()
        waiting = await on.app.inbox(BOB).pending()
        assert [(one.request.invocation_id, one.request.purpose) for one in waiting] == [
            (result.invocation_id, "outcome")
        ]
        assert "the ledger could not be written when it ended" in waiting[0].request.message
        await on.app.calls.recover()
        assert not on.app.services.live.unrecorded
