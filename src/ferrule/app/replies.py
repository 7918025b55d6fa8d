"""Replies from other systems: one receiver listens on each channel that a parked call waits on, and passes its replies to
the inbox.

Nothing is held for a waiting call: after a restart, the ledger tells which channels to listen on. Replies are delivered
side by side, so that one for a call that is not parked yet, which is held for a moment, does not delay others.
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
    """Delivers replies and callbacks to waiting calls."""

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
        value: object,
        channel: str,
        by: str = "",
        *,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> Fate:
        """Gives a waiting call its reply, and resumes it unless `resume` is False. A reply that arrives before the call is parked
        is held for a moment; a second one is `duplicate`, one for no call `unknown`. `by`: who replied, if known."""
        waiting = await self._find_waiting(invocation_id)
        if not isinstance(waiting, OpenCall):
            return waiting
        if not channel or channel != await self.find_reply_channel(waiting):
            # No person is behind a reply: it answers only a call that waits for one, and never approves.
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
        """Returns the channel from which a waiting call may be answered; empty for none."""
        asked = (row.segment().request for row in reversed(await self._store.rows_of(waiting.call)))
        request = next((found for found in asked if found is not None), None)
        return request.requirement.reply_channel if request is not None else ""

    def find_receiver(self, tool_id: str) -> Receiver | None:
        """Returns the receiver of replies to a tool's calls; None when there is none."""
        tool, executor = self._find_executor(tool_id)
        find: Callable[[Tool], Receiver | None] | None = getattr(executor, "receiver", None)
        return find(tool) if find is not None and tool is not None else None

    async def _find_waiting(self, invocation_id: str) -> OpenCall | Fate:
        loop = asyncio.get_running_loop()
        until = loop.time() + _BEFORE_PARKED
        while loop.time() < until:
            opened = await self._store.find_open(invocation_id)
            if opened is not None and opened.state == "awaiting_approval":
                return "refused"  # it has not sent anything yet that this could answer
            if opened is not None and opened.state != "running":
                return opened
            if opened is None and (rows := await self._store.rows_of(invocation_id)):
                return "duplicate" if rows[-1].kind in LAST_KINDS else "unknown"
            await asyncio.sleep(_LOOK_EVERY)
        return "unknown"

    def _read_answer(self, tool_id: str, value: object) -> Any:
        """Reads the answer from a reply, as the tool's executor defines it."""
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
"""How long to listen on a channel after the last call that waited on it."""
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
        """`channel_of`: the channel from which a waiting call may be answered, empty for none. `receiver_of`: by tool id."""
        self._channel_of = channel_of
        self._receiver_of = receiver_of
        self._deliver = deliver
        self._known: dict[tuple[str, int], str] = {}
        self._listening: dict[str, _ChannelListener] = {}

    async def update(self, waiting: Iterable[OpenCall]) -> None:
        """Starts to listen on the channels these calls wait on, and stops on others."""
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
        """Stops listening."""
        listening, self._listening = list(self._listening.values()), {}
        await asyncio.gather(*(each.aclose() for each in listening))

    def _start_listener(self, channel: str, tool_id: str) -> None:
        try:
            receiver = self._receiver_of(tool_id)
        except ExecutionFailed as failed:
            _listening_log.warning("nobody listens on %s: %s", channel, failed.message)
            return
        # Since the call was parked, the definition may have come to name another queue.
        if receiver is not None and receiver.channel == channel:
            self._listening[channel] = _ChannelListener(receiver, self._deliver)


class _ChannelListener:
    """Listens with one receiver."""

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
        """True when no call waited for a while."""
        # Closing too soon would drop a request that is just being answered; its queue hands the reply out again much later.
        return not self._deliveries and asyncio.get_running_loop().time() > self._until

    def extend(self) -> None:
        """Keeps listening, because a call waits."""
        self._until = asyncio.get_running_loop().time() + _LINGER_SECONDS

    async def aclose(self) -> None:
        """Gives running deliveries a moment, then stops."""
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
        except Exception as error:  # an error of a driver must not end the listening for good
            _listening_log.warning("the replies on %s cannot be had: %s", channel, type(error).__name__)

    def _finish_delivery(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        self._slots.release()

    async def _deliver_reply(self, reply: Reply) -> None:
        """Delivers one reply, with retries. Its queue hands an unsettled one out again."""
        channel = self._receiver.channel
        for _ in range(_TRIES):
            try:
                await reply.settle(await self._deliver(reply.invocation_id, reply.value, channel))
                return
            except ExecutionFailed as failed:
                _listening_log.warning("a reply on %s could not be settled: %s", channel, failed.message)
            except Exception as error:  # an error of the ledger or a driver must not end the listening for good
                _listening_log.warning("a reply on %s could not be delivered: %s", channel, type(error).__name__)
            await asyncio.sleep(_AGAIN_SECONDS)
