"""A row of which nobody knows whether it was written: nothing runs on its account, and what is told is what is so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.contracts.store import ALWAYS, CommitCondition, Committed
from ferrule.errors import OutcomeUnrecorded
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.journal import Entry
from ferrule.model.result import Pending, Result
from ferrule.testing import ScriptedApprover, ScriptedExecutor, memory_app
from tests.spec.running_app import BERN, TRUSTED, make_tool


class DoubtfulStore(MemoryStore):
    """Loses its voice at one commit: the row is written, or not, and whoever waits for it is told that nobody knows."""

    def __init__(self, at: int, *, writes: bool) -> None:
        super().__init__()
        self._left, self._writes = at, writes
        self.is_armed = False

    async def commit(self, entry: Entry, condition: CommitCondition = ALWAYS) -> Committed:
        self._left -= self.is_armed
        if self._left or not self.is_armed:
            return await super().commit(entry, condition)
        self.is_armed = False
        if self._writes:
            await super().commit(entry, condition)
        raise OutcomeUnrecorded("the disk failed while a row was written")


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize(("at", "codes"), [(1, {"ledger_unavailable"}), (2, {"outcome_not_recorded"})])
def test_an_action_in_doubt_is_no_success(at: int, codes: set[str], writes: bool, key: str | None) -> None:
    """In doubt before it ran, it does not run and ends so; in doubt after, nobody is told that it succeeded."""

    async def story() -> None:
        store, executor = DoubtfulStore(at, writes=writes), ScriptedExecutor(default=1)
        async with memory_app(tools=[make_tool()], executors=[executor], policy=TRUSTED, store=store) as app:
            store.is_armed = True
            result = await app.surface().call("search", BERN, idempotency_key=key)
            assert isinstance(result, Result) and result.error is not None
            assert result.error.error_code in codes
            assert len(executor.ran) == at - 1
            assert at == 1 or not result.error.retry.retry_safe
            rows = await store.rows_of(result.invocation_id)
            if at == 1:
                assert rows[-1].outcome == "failed" and not await store.open_calls()

    asyncio.run(story())


@pytest.mark.parametrize("writes", [True, False])
def test_a_question_in_doubt_is_told_as_it_is(writes: bool) -> None:
    """Where the row is there the call waits, and can be answered; where it is not the call has failed."""

    async def story() -> None:
        store, executor = DoubtfulStore(1, writes=writes), ScriptedExecutor(default=1)
        tool = make_tool(approval_required=True)
        async with memory_app(tools=[tool], executors=[executor], store=store) as app:
            store.is_armed = True
            outcome: Any = await app.surface().call("search", BERN)
            assert isinstance(outcome, Pending if writes else Result)
            assert len(await store.open_calls("awaiting_approval")) == writes
            answered = await ScriptedApprover(app).work()
            assert len(answered) == len(executor.ran) == writes

    asyncio.run(story())
