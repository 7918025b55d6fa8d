"""Telling people that a call waits for them: off the call's path, bounded, and never the reason that anything fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from ferrule.contracts.notifier import Notifier
from ferrule.model.approval import ApprovalRequest
from ferrule.model.timestamps import iso

_log = logging.getLogger("ferrule.approval")
_MOST_WAITING = 1000
_AT_CLOSE_SECONDS = 2.0


class Notices:
    """Hands every request to every notifier, in a task of its own."""

    def __init__(self, notifiers: Iterable[Notifier], source: str) -> None:
        self._notifiers = tuple(notifiers)
        self._source = source
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MOST_WAITING)
        self._task: asyncio.Task[None] | None = None

    def tell(self, request: ApprovalRequest) -> None:
        """Somebody has to answer this. What cannot be told is logged; the inbox has it all the same."""
        if not self._notifiers:
            return
        try:
            self._waiting.put_nowait(notice_of(request, self._source))
        except asyncio.QueueFull:
            _log.warning("too many notices wait to be sent; nobody was told of %s", request.invocation_id)
            return
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send(), name="ferrule tells people")

    async def aclose(self) -> None:
        """Give what waits a moment to be sent, then let go."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_AT_CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for notifier in self._notifiers:
            await notifier.aclose()

    async def _send(self) -> None:
        while not self._waiting.empty():
            notice = self._waiting.get_nowait()
            await asyncio.gather(
                *(self._notify(notifier.notify, notifier.name, notice) for notifier in self._notifiers)
            )

    async def _notify(self, notify: Callable[[dict[str, Any]], Any], name: str, notice: dict[str, Any]) -> None:
        try:
            await notify(notice)
        except Exception as error:
            _log.warning("%s could not tell of %s: %s", name, notice["invocation_id"], error)


def notice_of(request: ApprovalRequest, source: str) -> dict[str, Any]:
    """What people are told: everything but the arguments."""
    return {
        "type": "approval_requested",
        "source": source,
        "invocation_id": request.invocation_id,
        "purpose": request.purpose,
        "tool_id": request.tool_id,
        "tool_title": request.tool_title,
        "tool_version": request.tool_version,
        "principal": request.principal,
        "agent": request.agent,
        "tenant": request.tenant,
        "risk": request.risk,
        "message": request.message,
        "requested_at": iso(request.requested_at),
        "expires_at": iso(request.expires_at),
        "approvers": list(request.requirement.approvers),
        "people": request.requirement.people,
        "answer_with": f"ferrule approve {request.invocation_id}",
    }
