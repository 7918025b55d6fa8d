"""The decision about a call: an approval holds for exactly what was asked about."""

from __future__ import annotations

from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.runtime.approval.key import ApprovalKey
from tests.runtime.surface.surfaces import make_view
from tests.spec.running_app import make_tool, run_async, running_app

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))


@run_async
async def test_an_approval_does_not_hold_for_another_definition() -> None:
    """AT-80: the tool changed meanwhile, so somebody is asked again."""
    store, key = MemoryStore(), ApprovalKey.generate()
    async with running_app(policy="", store=store, key=key) as on:
        waiting = await on.park()
        on.app.adopt(make_view(make_tool(description="Does something else now.")))
        await on.app.inbox(BOB).approve(waiting.invocation_id)
        assert not on.has_run
        assert (await on.read_record(waiting))["status"] == "awaiting_approval"
        await on.app.inbox(BOB).approve(waiting.invocation_id)
        assert len(on.executor.ran) == 1
