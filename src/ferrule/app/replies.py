"""Replies from other systems: one receiver listens on every channel that a parked call waits on, and hands what it
brings to the inbox.

Nothing is held for a waiting call. After a restart, the ledger tells which channels to listen on. Replies are delivered side by
side, so that one whose call is not to be found, which is held for a moment, does not keep others waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any

from ferrule.contracts.executor import ExecutionFailed, Executor
from ferrule.contracts.receiver import Fate, Receiver, Reply
from ferrule.contracts.store import Store
from ferrule.errors import AccessError, InboxError, UnfitAnswer
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.journal import LAST_KINDS, OpenCall
from ferrule.model.tool import Tool
from ferrule.runtime.approval.inbox import Inbox, OnRecorded
from ferrule.runtime.approval.key import CHANNEL

_BEFORE_PARKED = 5.0
"""How long a reply is held for a call that is not parked yet."""
_LOOK_EVERY = 0.05
_log = logging.getLogger("ferrule.delivery")


class ReplyDelivery:
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

    async def deliver(
        self,
        invocation_id: str,
        value: Any,
        channel: str,
        by: str = "",
        *,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> Fate:
        """Give a waiting call what came for it, and let it go on unless `resume` is False. A reply that is quicker than the
        call, which is only about to wait, is held for a moment; a second one is told apart from one that nobody waits for.
        `by`: who gave it, where that is known."""
        waiting = await self._find_waiting(invocation_id)
        if not isinstance(waiting, OpenCall):
            return waiting
        if not channel or channel != await self.find_reply_channel(waiting):
            # What has no person behind it answers only what waits for it: a reply is no approver, whatever it says.
            _log.info("a reply by %s was refused: %s does not wait for one", channel, invocation_id)
            return "refused"
        try:
            answer = value if channel == CHANNEL else self._read_answer(waiting.tool_id, value)
            inbox = self._inbox_of(Identity(by or channel, channel, frozenset({APPROVE})))
            await inbox.answer(invocation_id, answer, resume=resume, on_recorded=on_recorded)
        except (AccessError, UnfitAnswer) as error:
            _log.info("a reply by %s was refused: %s", channel, error)
            return "refused"
        except InboxError as error:
            _log.info("a reply by %s was not taken: %s", channel, error)
            return "duplicate"
        return "taken"

    async def find_reply_channel(self, waiting: OpenCall) -> str:
        """The channel a waiting call may be answered by from outside; empty for none."""
        asked = (row.segment().request for row in reversed(await self._store.rows_of(waiting.call)))
        request = next((found for found in asked if found is not None), None)
        return request.requirement.reply_channel if request is not None else ""

    def find_receiver(self, tool_id: str) -> Receiver | None:
        """What brings the answers for a tool's calls; None when nothing does."""
        tool, executor = self._find_executor(tool_id)
        find: Callable[[Tool], Receiver | None] | None = getattr(executor, "receiver", None)
        return find(tool) if find is not None and tool is not None else None

    async def _find_waiting(self, invocation_id: str) -> OpenCall | Fate:
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

    def _read_answer(self, tool_id: str, value: Any) -> Any:
        """The answer in what a receiver brought, where its executor has a word in it."""
        tool, executor = self._find_executor(tool_id)
        read: Callable[[Tool, Any], Any] | None = getattr(executor, "reply_value", None)
        return value if read is None or tool is None else read(tool, value)

    def _find_executor(self, tool_id: str) -> tuple[Tool | None, Executor | None]:
        tool = self._tool_of(tool_id)
        return tool, self._executor_of(tool) if tool is not None else None


Deliver = Callable[[str, Any, str], Awaitable[Fate]]
"""An invocation id, the answer, and the channel it came by."""
_AGAIN_SECONDS = 2.0
_CLOSING_SECONDS = 1.0
_TRIES = 5
_LINGER_SECONDS = 60.0
"""How long a channel is listened on after the last call that waited for it."""
_AT_ONCE = 64
"""Replies of one channel that are delivered side by side."""
_listening_log = logging.getLogger("ferrule.receiving")


class Receivers:
    """The receivers of one process."""

    def __init__(
        self,
        channel_of: Callable[[OpenCall], Awaitable[str]],
        receiver_of: Callable[[str], Receiver | None],
        deliver: Deliver,
    ) -> None:
        """`channel_of`: the channel a waiting call may be answered by, empty for none. `receiver_of`: by tool id."""
        self._channel_of = channel_of
        self._receiver_of = receiver_of
        self._deliver = deliver
        self._known: dict[tuple[str, int], str] = {}
        self._listening: dict[str, _ChannelListener] = {}

    async def update(self, waiting: Iterable[OpenCall]) -> None:
        """Listen where calls wait, and nowhere else."""
        wanted: dict[str, str] = {}
        known: dict[tuple[str, int], str] = {}
        for call in waiting:
            place = (call.call, call.seq)
            channel = self._known[place] if place in self._known else await self._channel_of(call)
            known[place] = channel
            if channel:
                wanted.setdefault(channel, call.tool_id)
        self._known = known
        for channel, listening in list(self._listening.items()):
            if listening.has_ended or (channel not in wanted and listening.is_idle):
                del self._listening[channel]
                await listening.aclose()
        for channel, tool_id in wanted.items():
            if channel not in self._listening:
                self._start_listener(channel, tool_id)
            if channel in self._listening:
                self._listening[channel].extend()

    async def aclose(self) -> None:
        """Stop listening."""
        listening, self._listening = list(self._listening.values()), {}
        await asyncio.gather(*(each.aclose() for each in listening))

    def _start_listener(self, channel: str, tool_id: str) -> None:
        try:
            receiver = self._receiver_of(tool_id)
        except ExecutionFailed as failed:
            _listening_log.warning("nobody listens on %s: %s", channel, failed.message)
            return
        if receiver is not None and receiver.channel == channel:
            self._listening[channel] = _ChannelListener(receiver, self._deliver)


class _ChannelListener:
    """One receiver at work."""

    def __init__(self, receiver: Receiver, deliver: Deliver) -> None:
        self._receiver = receiver
        self._deliver = deliver
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._until = 0.0
        self._deliveries: set[asyncio.Task[None]] = set()
        self._task = asyncio.create_task(self._listen(), name=f"ferrule listens on {receiver.channel}")

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    @property
    def is_idle(self) -> bool:
        """True when nobody waited for a while. Whoever stops too soon closes a request that is just being answered, and what it
        brought is handed out again only much later."""
        return not self._deliveries and asyncio.get_running_loop().time() > self._until

    def extend(self) -> None:
        """Some call waits."""
        self._until = asyncio.get_running_loop().time() + _LINGER_SECONDS

    async def aclose(self) -> None:
        """What is being delivered gets a moment; then nothing more is taken."""
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=_CLOSING_SECONDS)
        for task in (self._task, *self._deliveries):
            task.cancel()
        await asyncio.gather(self._task, *self._deliveries, return_exceptions=True)

    async def _listen(self) -> None:
        try:
            while True:
                await self._listen_once()
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            await self._receiver.aclose()

    async def _listen_once(self) -> None:
        channel = self._receiver.channel
        try:
            async with aclosing(self._receiver.replies()) as replies:
                async for reply in replies:
                    await self._slots.acquire()
                    task = asyncio.create_task(self._deliver_reply(reply), name=f"ferrule delivers from {channel}")
                    self._deliveries.add(task)
                    task.add_done_callback(self._finish_delivery)
        except ExecutionFailed as failed:
            _listening_log.warning("the replies on %s cannot be had: %s", channel, failed.message)
        except Exception as error:  # whatever a driver raises must not end the listening for good
            _listening_log.warning("the replies on %s cannot be had: %s", channel, type(error).__name__)

    def _finish_delivery(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        self._slots.release()

    async def _deliver_reply(self, reply: Reply) -> None:
        """Deliver one reply, again and again for a while. One that is not settled then is handed out again by its queue."""
        channel = self._receiver.channel
        for _ in range(_TRIES):
            try:
                await reply.settle(await self._deliver(reply.invocation_id, reply.value, channel))
                return
            except ExecutionFailed as failed:
                _listening_log.warning("a reply on %s could not be settled: %s", channel, failed.message)
            except Exception as error:  # whatever the ledger or a driver raises must not end the listening for good
                _listening_log.warning("a reply on %s could not be delivered: %s", channel, type(error).__name__)
            await asyncio.sleep(_AGAIN_SECONDS)
