"""What comes from outside for a call that waits: found, judged by the inbox like any answer, and told what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from ferrule.contracts.executor import Executor
from ferrule.contracts.receiver import Fate, Receiver
from ferrule.contracts.store import Store
from ferrule.errors import AccessError, InboxError, UnfitAnswer
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.journal import LAST_KINDS, OpenCall
from ferrule.model.tool import Tool
from ferrule.runtime.approval.callback import CHANNEL
from ferrule.runtime.approval.inbox import Inbox

_BEFORE_PARKED = 5.0
"""How long a reply is held for a call that is not parked yet."""
_LOOK_EVERY = 0.05
_log = logging.getLogger("ferrule.delivery")


class Deliveries:
    """The way in for replies and callbacks."""

    def __init__(
        self,
        store: Store,
        inbox_of: Callable[[Identity], Inbox],
        tool_of: Callable[[str], Tool | None],
        executor_of: Callable[[Tool], Executor | None],
    ) -> None:
        self._store = store
        self._inbox_of = inbox_of
        self._tool_of = tool_of
        self._executor_of = executor_of

    async def deliver(self, invocation_id: str, value: Any, channel: str, by: str = "", *, resume: bool = True) -> Fate:
        """Give a waiting call what came for it, and let it go on unless `resume` is False. A reply that is quicker than the
        call, which is only about to wait, is held for a moment; a second one is told apart from one that nobody waits for.
        `by`: who gave it, where that is known."""
        waiting = await self._waiting(invocation_id)
        if not isinstance(waiting, OpenCall):
            return waiting
        if not channel or channel != await self.reply_channel(waiting):
            # What has no person behind it answers only what waits for it: a reply is no approver, whatever it says.
            _log.info("a reply by %s was refused: %s does not wait for one", channel, invocation_id)
            return "refused"
        try:
            answer = value if channel == CHANNEL else self._answer_in(waiting.tool_id, value)
            inbox = self._inbox_of(Identity(by or channel, channel, frozenset({APPROVE})))
            await inbox.answer(invocation_id, answer, resume=resume)
        except (AccessError, UnfitAnswer) as error:
            _log.info("a reply by %s was refused: %s", channel, error)
            return "refused"
        except InboxError as error:
            _log.info("a reply by %s was not taken: %s", channel, error)
            return "duplicate"
        return "taken"

    async def reply_channel(self, waiting: OpenCall) -> str:
        """The channel a waiting call may be answered by from outside; empty for none."""
        asked = (row.segment().request for row in reversed(await self._store.rows_of(waiting.call)))
        request = next((found for found in asked if found is not None), None)
        return request.requirement.reply_channel if request is not None else ""

    def receiver_of(self, tool_id: str) -> Receiver | None:
        """What brings the answers for a tool's calls; None when nothing does."""
        tool, executor = self._found(tool_id)
        find: Callable[[Tool], Receiver | None] | None = getattr(executor, "receiver", None)
        return find(tool) if find is not None and tool is not None else None

    async def _waiting(self, invocation_id: str) -> OpenCall | Fate:
        loop = asyncio.get_running_loop()
        until = loop.time() + _BEFORE_PARKED
        while loop.time() < until:
            opened = await self._store.find_open(invocation_id)
            if opened is not None and opened.state == "awaiting_approval":
                return "refused"  # it has sent nothing yet, so this answers nothing of its
            if opened is not None and opened.state != "running":
                return opened
            if opened is None and (rows := await self._store.rows_of(invocation_id)):
                return "duplicate" if rows[-1].kind in LAST_KINDS else "unknown"
            await asyncio.sleep(_LOOK_EVERY)
        return "unknown"

    def _answer_in(self, tool_id: str, value: Any) -> Any:
        """The answer in what a receiver brought, where its executor has a word in it."""
        tool, executor = self._found(tool_id)
        read: Callable[[Tool, Any], Any] | None = getattr(executor, "reply_value", None)
        return value if read is None or tool is None else read(tool, value)

    def _found(self, tool_id: str) -> tuple[Tool | None, Executor | None]:
        tool = self._tool_of(tool_id)
        return tool, self._executor_of(tool) if tool is not None else None
