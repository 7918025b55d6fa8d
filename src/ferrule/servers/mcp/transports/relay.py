"""Lines of one client, taken one after the other without waiting for any of them.

One task takes the lines. A request that is answered by its first step is answered in it, and costs no task of its own. One that
has to wait for something keeps the task, and another goes on with the lines from there: so whatever waits has had one task, and
one context, from its first step on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import copy_context
from typing import Any, NamedTuple

from ferrule.infra.tasks import rest_in
from ferrule.servers.mcp.wire.messages import RequestId

Answer = Callable[[bytes], None]
"""Takes the response to one request."""


class Job(NamedTuple):
    """One request."""

    request_id: RequestId
    method: str
    work: Coroutine[Any, Any, bytes]
    """Answers it, and never raises."""
    answer: Answer


class Relay:
    """Takes lines, and has their requests answered."""

    def __init__(
        self,
        jobs_in: Callable[[bytes | None], Iterable[Job]],
        waits: Callable[[Job, asyncio.Task[bytes]], None],
        paused: Callable[[], None],
        room: Callable[[], Awaitable[None] | None],
    ) -> None:
        """`jobs_in` gives the requests of a line, and does the rest of it; `waits` is told of one that takes its time, and by
        which task; `paused` is called when there is nothing left to take; `room` gives what to wait for while the client does not
        read what it asked for."""
        self._jobs_in = jobs_in
        self._waits = waits
        self._paused = paused
        self._room = room
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes | None] = deque()
        self._jobs: deque[Job] = deque()
        self._idle: asyncio.Future[None] | None = None
        self._leader: asyncio.Task[bytes] | None = None

    def begin(self) -> None:
        """Take lines from now on."""
        self._leader = self._loop.create_task(self._lead())

    def take(self, line: bytes | None) -> None:
        """One line more."""
        self._lines.append(line)
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None

    @property
    def is_idle(self) -> bool:
        """True when every line was taken."""
        return not self._lines and not self._jobs

    def aclose(self) -> None:
        """Take no more lines."""
        for job in self._jobs:
            job.work.close()
        if self._leader is not None:
            self._leader.cancel()

    async def _lead(self) -> bytes:
        lines, jobs = self._lines, self._jobs
        while True:
            while jobs:
                job = jobs.popleft()
                work, context = job.work, copy_context()
                try:
                    waited = context.run(work.send, None)
                except StopIteration as ended:
                    job.answer(ended.value)
                    continue
                task, self._leader = self._leader, None
                assert task is not None
                self.begin()
                self._waits(job, task)
                return await rest_in(context, work, waited)
            if lines:
                full = self._room()
                if full is not None:
                    await full
                    continue
                jobs.extend(self._jobs_in(lines.popleft()))
            else:
                self._paused()
                self._idle = self._loop.create_future()
                await self._idle
