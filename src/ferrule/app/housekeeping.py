"""Background sweep, one task per process: expires approvals, resumes answered calls, recovers lost ones, sends reminders."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from ferrule.app.recorded_calls import Calls
from ferrule.app.replies import Receivers
from ferrule.contracts.store import Store
from ferrule.errors import FerruleError
from ferrule.model.journal import OpenCall
from ferrule.runtime.approval.notices import Reminders
from ferrule.runtime.pipeline.services import Services

_SECONDS = 1.0
_LOOKS = 10
_SWEEP_EVERY = 60_000_000_000
_log = logging.getLogger("ferrule.tending")


class Housekeeping:
    """Ends expired calls, resumes answered ones, recovers lost ones, listens for replies, and reminds people."""

    def __init__(
        self, store: Store, calls: Calls, services: Services, receivers: Receivers, reminders: Reminders
    ) -> None:
        self._store = store
        self._calls = calls
        self._services = services
        self._receivers = receivers
        self._reminders = reminders
        self._next_sweep = 0
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Recovers lost calls, then starts the task."""
        await self._calls.recover()
        self._task = asyncio.create_task(self._repeat(self._run_once), name="ferrule tends its ledger")

    def listen(self) -> None:
        """Listens for replies only: for a command that stays a moment for its own call."""
        if self._task is None:
            self._task = asyncio.create_task(self._repeat(self._listen), name="ferrule listens for replies")

    async def aclose(self) -> None:
        """Stops the task and the receivers."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._receivers.aclose()

    async def _repeat(self, once: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await once()
            except FerruleError as error:
                _log.warning("the ledger could not be tended: %s", error)
            except Exception:  # our bug with one call must not end the housekeeping of all others
                _log.exception("the ledger could not be tended")
            # A change by another process shows in the generation, so answers resume within a tenth of a second.
            generation = self._store.generation()
            for _ in range(_LOOKS):
                await asyncio.sleep(_SECONDS / _LOOKS)
                if self._store.generation() != generation:
                    break

    async def _run_once(self) -> None:
        await self._calls.sweep()
        await self._calls.resume_answered()
        await self._calls.recover()
        waiting = await self._listen()
        await self._reminders.remind_due(waiting)
        await self._sweep_payloads()

    async def _listen(self) -> Sequence[OpenCall]:
        waiting = await self._store.open_calls("needs_input")
        await self._receivers.update(waiting)
        return waiting

    async def _sweep_payloads(self) -> None:
        """Removes expired payloads, once a minute."""
        tick, payloads = self._services.tick(), self._services.payloads
        if payloads is not None and tick > self._next_sweep:
            self._next_sweep = tick + _SWEEP_EVERY
            await payloads.sweep(self._services.now())
