"""Notifies people of waiting calls, and reminds them of unanswered ones; nothing here blocks a call or fails one.

Each notifier has a short queue and a task of its own that tries again with growing pauses. A lost notice (a crash, a
receiver that stays away) loses nothing else: the request stands in the inbox. The ledger records each reminder, so
that a restart or a second process reminds nobody twice: the process that writes the row first sends it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.notifier import NoticeUndelivered, Notifier
from ferrule.contracts.store import CommitCondition, Store
from ferrule.errors import FerruleError
from ferrule.model.approval import ApprovalRequest, Delegation
from ferrule.model.journal import Entry, NewsBody, OpenCall, StoredEntry, header_of
from ferrule.model.timestamps import MICROSECONDS, iso
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.answers import DELEGATED, add_delegates, read_delegations
from ferrule.runtime.approval.key import ApprovalKey

ATTEMPTS = 6
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_QUEUE = 1000
_CLOSING_SECONDS = 3.0

_log = logging.getLogger("ferrule.approval")

InputOf = Callable[[str], Awaitable[Any]]
"""The input of a waiting call as people may see it."""


class Recipient(NamedTuple):
    """A notifier, and whether it gets the input too."""

    notifier: Notifier
    includes_input: bool = False


class Notices:
    """The notifiers of one app."""

    def __init__(
        self,
        recipients: Sequence[Recipient | Notifier],
        source: str = "ferrule",
        *,
        input_of: InputOf | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._source = source
        whole = (each if isinstance(each, Recipient) else Recipient(each) for each in recipients)
        self._lines = [_NotifierQueue(recipient, input_of, pause) for recipient in whole]

    def tell(self, request: ApprovalRequest) -> None:
        """Notifies everybody of a request. Returns at once; needs a running event loop."""
        self._enqueue(make_notice(request, self._source))

    def remind(self, request: ApprovalRequest, at: int) -> None:
        """Notifies everybody again. Receivers that compare ids take it for another notice."""
        notice = make_notice(request, self._source)
        self._enqueue({**notice, "id": f"{request.invocation_id}.{at}", "type": "reminder"})

    def tell_delegated(self, request: ApprovalRequest, delegation: Delegation) -> None:
        """Notifies everybody that a task was delegated, and to whom."""
        notice = make_notice(request, self._source)
        delegated = {"by": delegation.by, "to": delegation.to, "reason": delegation.reason}
        notice |= {"id": f"{request.invocation_id}.{delegation.delegated_at}", "type": "task_delegated"}
        self._enqueue({**notice, "delegated": delegated})

    def _enqueue(self, notice: JsonObject) -> None:
        for line in self._lines:
            line.put(notice)

    async def aclose(self) -> None:
        """Waits a moment for queued notices, then closes the notifiers."""
        await asyncio.gather(*(line.aclose() for line in self._lines))


class _NotifierQueue:
    """The queue of one notifier."""

    def __init__(
        self, recipient: Recipient, input_of: InputOf | None, pause: Callable[[float], Awaitable[None]]
    ) -> None:
        self._recipient = recipient
        self._input_of = input_of if recipient.includes_input else None
        self._pause = pause
        self._waiting: deque[JsonObject] = deque(maxlen=_QUEUE)
        self._current: JsonObject | None = None
        self._problem: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def put(self, notice: JsonObject) -> None:
        if len(self._waiting) == _QUEUE:
            _log.warning("%s: too many notices wait; %s is dropped", self._name, self._waiting[0]["invocation_id"])
        self._waiting.append(notice)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=_CLOSING_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        left = len(self._waiting) + (self._current is not None)
        if left:
            _log.warning("%s: %d notices were not delivered; the last failure: %s", self._name, left, self._problem)
        await self._recipient.notifier.aclose()

    async def _run(self) -> None:
        while self._waiting:
            self._current = self._waiting.popleft()
            await self._deliver(self._current)
            self._current = None

    async def _deliver(self, notice: JsonObject) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._pause(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (attempt - 1)))
            try:
                await self._recipient.notifier.notify(await self._with_input(notice))
            except Exception as error:  # whatever a third-party notifier raises, calls go on
                self._problem = error
                if isinstance(error, NoticeUndelivered) and error.is_final:
                    break
            else:
                return
        _log.warning("%s: nobody was notified of %s: %s", self._name, notice["invocation_id"], self._problem)

    async def _with_input(self, notice: JsonObject) -> JsonObject:
        if self._input_of is None:
            return notice
        return {**notice, "input": await self._input_of(notice["invocation_id"])}

    @property
    def _name(self) -> str:
        return self._recipient.notifier.name


_ANSWERS = {
    "approval": "ferrule approve {}",
    "input": "ferrule answer {} ANSWER",
    "outcome": "ferrule settle {} --reason HOW",
}


def make_notice(request: ApprovalRequest, source: str) -> JsonObject:
    """Makes the notice of a request: everything but the arguments."""
    return {
        "id": f"{request.invocation_id}.{request.requested_at}",
        "type": "task_waiting" if request.purpose == "input" else "approval_requested",
        "source": source,
        "purpose": request.purpose,
        "invocation_id": request.invocation_id,
        "tool_id": request.tool_id,
        "tool_version": request.tool_version,
        "tool_title": request.tool_title,
        "principal": request.principal,
        "agent": request.agent,
        "tenant": request.tenant,
        "risk": request.risk,
        "message": request.message,
        "rule_refs": list(request.rule_refs),
        "people": request.requirement.people,
        "approvers": list(request.requirement.approvers),
        "requested_at": iso(request.requested_at),
        "expires_at": iso(request.expires_at),
        "answer_with": _ANSWERS[request.purpose].format(request.invocation_id),
    }


REMINDED = "reminded"


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

    async def remind_due(self, waiting: Iterable[OpenCall]) -> None:
        """Sends the reminders that are due among these calls."""
        calls = {call.call: call for call in waiting}
        self._due = {call: due for call, due in self._due.items() if call in calls}
        for call in calls.values():
            if self._now() >= self._due.get(call.call, 0):
                await self._guard(call, self._remind_if_due)

    async def _guard(self, call: OpenCall, do: Callable[[OpenCall], Awaitable[None]]) -> None:
        try:
            await do(call)
        except FerruleError as error:
            _log.warning("nobody was reminded of %s: %s", call.call, error)

    async def _remind_if_due(self, call: OpenCall) -> None:
        task = await self._find_task(call)
        if task is None or not task.request.requirement.remind_seconds:
            self._due[call.call] = call.expires_at or 2**62
            return
        interval = task.request.requirement.remind_seconds * MICROSECONDS
        news = await self._store.news_of(call.call)
        due = _find_last_notice(news, task.request.requested_at) + interval
        if self._now() < due:
            self._due[call.call] = due
            return
        await self._remind(call, task, due - interval)
        self._due[call.call] = self._now() + interval

    async def _remind(self, call: OpenCall, task: _Task, last: int) -> None:
        now = self._now()
        happened = {"at": now, "event": f"tool.invocation.{REMINDED}", "data": {"status": call.state}}
        row = Entry("news", call.call, now, call.tool_id, REMINDED, NewsBody([happened], audit_level=task.audit_level))
        # The row is written before people are notified: a crash in between loses a reminder instead of repeating it.
        written = await self._store.commit(row, CommitCondition(states=frozenset({call.state}), seq=call.seq))
        if written.outcome != "written":
            return  # it was answered meanwhile
        news = await self._store.news_of(call.call)
        since = [row.seq for row in news if row.outcome == REMINDED and row.at > last]
        # Two processes may both have written a row; the first one sends the reminder.
        if since and since[0] != written.seq:
            return  # another process was quicker
        delegations = read_delegations(news, task.request, self._key)
        self._tell(add_delegates(task.request, delegations), now)

    async def _find_task(self, call: OpenCall) -> _Task | None:
        for row in reversed(await self._store.rows_of(call.call)):
            segment = row.segment()
            if row.kind == "answered":
                return None
            if segment.request is not None:
                is_task = segment.request.purpose == "input"
                return _Task(segment.request, header_of(segment).audit_level) if is_task else None
        return None


def _find_last_notice(news: Iterable[StoredEntry], asked: int) -> int:
    """Finds the time people last heard of a task: by its first notice, a delegation, or a reminder."""
    return max((row.at for row in news if row.outcome in (REMINDED, DELEGATED)), default=asked)
