"""Answers from outside: for every channel that some parked call waits on, one receiver listens, and what it brings is delivered.

Nothing is held for a waiting call. After a restart, the ledger tells which channels to listen on. Replies are delivered side by
side, so that one whose call is not to be found, which is held for a moment, does not keep others waiting.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.receiver import Fate, Receiver, Reply
from ferrule.model.journal import OpenCall

Deliver = Callable[[str, Any, str], Awaitable[Fate]]
"""An invocation id, the answer, and the channel it came by."""
_AGAIN_SECONDS = 2.0
_CLOSING_SECONDS = 1.0
_TRIES = 5
_LINGER_SECONDS = 60.0
"""How long a channel is listened on after the last call that waited for it."""
_AT_ONCE = 64
"""Replies of one channel that are delivered side by side."""
_log = logging.getLogger("ferrule.receiving")


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
        self._listening: dict[str, _Listening] = {}

    async def look(self, waiting: Iterable[OpenCall]) -> None:
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
                self._begin(channel, tool_id)
            if channel in self._listening:
                self._listening[channel].wanted()

    async def aclose(self) -> None:
        """Stop listening."""
        listening, self._listening = list(self._listening.values()), {}
        await asyncio.gather(*(each.aclose() for each in listening))

    def _begin(self, channel: str, tool_id: str) -> None:
        try:
            receiver = self._receiver_of(tool_id)
        except ExecutionFailed as failed:
            _log.warning("nobody listens on %s: %s", channel, failed.message)
            return
        if receiver is not None and receiver.channel == channel:
            self._listening[channel] = _Listening(receiver, self._deliver)


class _Listening:
    """One receiver at work."""

    def __init__(self, receiver: Receiver, deliver: Deliver) -> None:
        self._receiver = receiver
        self._deliver = deliver
        self._door = asyncio.Semaphore(_AT_ONCE)
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

    def wanted(self) -> None:
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
                    await self._door.acquire()
                    task = asyncio.create_task(self._delivered(reply), name=f"ferrule delivers from {channel}")
                    self._deliveries.add(task)
                    task.add_done_callback(self._ended)
        except ExecutionFailed as failed:
            _log.warning("the replies on %s cannot be had: %s", channel, failed.message)
        except Exception as error:  # whatever a driver raises must not end the listening for good
            _log.warning("the replies on %s cannot be had: %s", channel, type(error).__name__)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        self._door.release()

    async def _delivered(self, reply: Reply) -> None:
        """Deliver one reply, again and again for a while. One that is not settled then is handed out again by its queue."""
        channel = self._receiver.channel
        for _ in range(_TRIES):
            try:
                await reply.settle(await self._deliver(reply.invocation_id, reply.value, channel))
                return
            except ExecutionFailed as failed:
                _log.warning("a reply on %s could not be settled: %s", channel, failed.message)
            except Exception as error:  # whatever the ledger or a driver raises must not end the listening for good
                _log.warning("a reply on %s could not be delivered: %s", channel, type(error).__name__)
            await asyncio.sleep(_AGAIN_SECONDS)
