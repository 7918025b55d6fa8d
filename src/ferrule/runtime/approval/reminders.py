"""Tells people again of tasks that nobody answers. Which were told when stands in the ledger, so that a restart, or a second
process, tells nobody twice: whoever writes the row first tells."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from ferrule.contracts.store import Condition, Store
from ferrule.errors import FerruleError
from ferrule.model.approval import ApprovalRequest
from ferrule.model.journal import Entry, NewsBody, OpenCall, StoredEntry, header_of
from ferrule.model.timestamps import MICROSECONDS
from ferrule.runtime.approval.delegation import DELEGATED, delegations_in, handed_on
from ferrule.runtime.approval.key import ApprovalKey

REMINDED = "reminded"
_log = logging.getLogger("ferrule.approval")

Remind = Callable[[ApprovalRequest, int], None]
"""Tells people of a task again: the request as it stands now, and when that was found out."""


class _Task(NamedTuple):
    """A task that waits, as the rows of its call have it."""

    request: ApprovalRequest
    audit_level: str


class Reminders:
    """The reminders of one process."""

    def __init__(self, store: Store, key: ApprovalKey, now: Callable[[], int], tell: Remind) -> None:
        self._store = store
        self._key = key
        self._now = now
        self._tell = tell
        self._due: dict[str, int] = {}
        """When to look at a call again, in microseconds since 1970; nothing is read before."""

    async def look(self, waiting: Iterable[OpenCall]) -> None:
        """Remind of what is due among these, and of nothing else."""
        calls = {call.call: call for call in waiting}
        self._due = {call: due for call, due in self._due.items() if call in calls}
        for call in calls.values():
            if self._now() >= self._due.get(call.call, 0):
                await self._each(call, self._look_at)

    async def _each(self, call: OpenCall, do: Callable[[OpenCall], Awaitable[None]]) -> None:
        try:
            await do(call)
        except FerruleError as error:
            _log.warning("nobody was reminded of %s: %s", call.call, error)

    async def _look_at(self, call: OpenCall) -> None:
        task = await self._task(call)
        if task is None or not task.request.requirement.remind_seconds:
            self._due[call.call] = call.expires_at or 2**62
            return
        interval = task.request.requirement.remind_seconds * MICROSECONDS
        news = await self._store.news_of(call.call)
        due = _last(news, task.request.requested_at) + interval
        if self._now() < due:
            self._due[call.call] = due
            return
        await self._remind(call, task, due - interval)
        self._due[call.call] = self._now() + interval

    async def _remind(self, call: OpenCall, task: _Task, last: int) -> None:
        now = self._now()
        happened = {"at": now, "event": f"tool.invocation.{REMINDED}", "data": {"status": call.state}}
        row = Entry("news", call.call, now, call.tool_id, REMINDED, NewsBody([happened], audit_level=task.audit_level))
        written = await self._store.commit(row, Condition(states=frozenset({call.state}), seq=call.seq))
        if written.outcome != "written":
            return  # it was answered meanwhile
        news = await self._store.news_of(call.call)
        since = [row.seq for row in news if row.outcome == REMINDED and row.at > last]
        if since and since[0] != written.seq:
            return  # another process was quicker
        delegations = delegations_in(news, task.request, self._key)
        self._tell(handed_on(task.request, delegations), now)

    async def _task(self, call: OpenCall) -> _Task | None:
        for row in reversed(await self._store.rows_of(call.call)):
            segment = row.segment()
            if row.kind == "answered":
                return None
            if segment.request is not None:
                is_task = segment.request.purpose == "input"
                return _Task(segment.request, header_of(segment).audit_level) if is_task else None
        return None


def _last(news: Iterable[StoredEntry], asked: int) -> int:
    """When people last heard of a task: that it is there, that it was handed on, or a reminder."""
    return max((row.at for row in news if row.outcome in (REMINDED, DELEGATED)), default=asked)
