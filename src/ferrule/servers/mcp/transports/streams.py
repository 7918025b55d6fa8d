"""Streams of events in a session: sent events are kept a while, so that a client that lost its connection gets the
rest.

A stream belongs to one request, or to the session itself. It outlives the connection that carries it (MCP-85): a client
that comes back names the last event it has and gets what followed on that very stream, and nothing of any other
(MCP-86, MCP-87).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple

from ferrule.servers.asgi import HttpRequest
from ferrule.servers.mcp.wire.answer_forms import KEEP_ALIVE, KEEP_ALIVE_SECONDS, encode_event

RETRY_MS = 500
"""After how long a client comes back whose connection was closed on purpose."""
MOST_EVENTS = 512
"""Events that one stream keeps. Beyond that the oldest notifications go; requests and responses stay."""
MOST_BYTES = 4 * 1024**2
"""Bytes that the streams of one session keep, besides those of the newest."""
MOST_ENDED = 32
"""Streams of one session that are kept after their end."""
KEPT_SECONDS = 300.0
"""How long a stream is kept after its end."""

OWN = 0
"""The number of the session's own stream: messages that belong to no request (MCP-81)."""
_PRIMING = 0
FROM_THE_BEGINNING = _PRIMING - 1
"""Before every event, the priming one included."""


class StreamEvent(NamedTuple):
    """One event of a stream."""

    number: int
    """Counts from 1 within its stream."""
    text: bytes
    is_needed: bool
    """True for messages a client cannot do without: requests and responses."""


class EventStream:
    """One stream of a session."""

    def __init__(self, number: int, *, is_primed: bool = False) -> None:
        self.number = number
        self.is_primed = is_primed
        """True when it begins with an empty event, so that a client can come back before it got any (MCP-88)."""
        self.events: deque[StreamEvent] = deque()
        self.size = 0
        self.last = 0
        self.sent = 0
        """The last event that was given to a connection."""
        self.ended_at: float | None = None
        self.reader: StreamReader | None = None

    def put(self, text: bytes, *, is_needed: bool = False) -> None:
        """Sends one message."""
        if self.ended_at is not None:
            return
        self.last += 1
        self.events.append(StreamEvent(self.last, text, is_needed))
        self.size += len(text)
        if len(self.events) > MOST_EVENTS or self.size > MOST_BYTES:
            self._thin_out()
        if self.reader is not None:
            self.reader.wake()

    def end(self, at: float) -> None:
        """Ends the stream."""
        if self.ended_at is None:
            self.ended_at = at
            if self.reader is not None:
                self.reader.wake()

    def read(self, after: int, seconds: float = 0.0) -> StreamReader:
        """Attaches a connection to the stream, after an event, and releases an earlier one. `seconds`: how long it may
        stay; 0: until the stream ends."""
        if self.reader is not None:
            # The earlier connection may be dead without knowing it, so whoever comes back takes over.
            self.reader.leave()
        self.reader = StreamReader(self, after, seconds)
        return self.reader

    def _thin_out(self) -> None:
        """Drops half of the notifications, the oldest first."""
        spare = sum(not each.is_needed for each in self.events)
        going = max(1, spare // 2)
        kept: deque[StreamEvent] = deque()
        for each in self.events:
            # The newest stays: a client may name it to come back.
            if going and not each.is_needed and each.number != self.last:
                going -= 1
            else:
                kept.append(each)
        self.events = kept
        self.size = sum(len(each.text) for each in kept)


class StreamReader:
    """One connection's position in a stream."""

    def __init__(self, stream: EventStream, after: int, seconds: float) -> None:
        self._stream = stream
        self._at = after
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + seconds if seconds else None
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = False

    def wake(self) -> None:
        """Wakes the reader: there is something to read."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def leave(self) -> None:
        """Stops reading; the stream goes on without."""
        self._is_over = True
        self.wake()

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yields server-sent events as they come; a comment after a quiet while (MCP-51)."""
        stream = self._stream
        try:
            if stream.is_primed and self._at < _PRIMING:
                yield encode_event(b"", f"{stream.number}-{_PRIMING}", RETRY_MS if self._until is not None else None)
            while not self._is_over:
                text = self._encode_new()
                if text:
                    yield text
                elif stream.ended_at is not None or (self._until is not None and self._loop.time() >= self._until):
                    return
                elif not await self._wait_for_news():
                    yield KEEP_ALIVE
        finally:
            self.detach()

    def detach(self) -> None:
        """Detaches from the stream, unless another reader took over."""
        if self._stream.reader is self:
            self._stream.reader = None

    def _encode_new(self) -> bytes:
        stream, at = self._stream, self._at
        if at >= stream.last:
            return b""
        self._at = stream.sent = stream.last
        new = [each for each in stream.events if each.number > at]
        return b"".join([encode_event(each.text, f"{stream.number}-{each.number}") for each in new])

    async def _wait_for_news(self) -> bool:
        """Waits for an event. False when it is only time to show that the connection lives."""
        waiter = self._waiter = self._loop.create_future()
        within, is_due = KEEP_ALIVE_SECONDS, False
        if self._until is not None:
            left = self._until - self._loop.time()
            within, is_due = (left, True) if left < within else (within, False)
        timer = self._loop.call_later(max(0.0, within), self.wake)
        before = self._loop.time()
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None
        # Woken before its time, there is something to look at, if only the end of the stream.
        return is_due or self._is_over or self._stream.last > self._at or self._loop.time() - before < within


class Streams:
    """The streams of one session."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._count = OWN
        self.own = EventStream(OWN)
        self._all: dict[int, EventStream] = {OWN: self.own}

    def begin(self, *, is_primed: bool) -> EventStream:
        """Returns the stream of one more request."""
        self._count += 1
        stream = self._all[self._count] = EventStream(self._count, is_primed=is_primed)
        self.tidy()
        return stream

    def end(self, stream: EventStream) -> None:
        """Ends a stream."""
        stream.end(self._clock())

    def find_event(self, event_id: str) -> tuple[EventStream, int] | None:
        """Returns the stream of an event id, and the event's number there; None for an id of no event of this session."""
        number, _, place = event_id.partition("-")
        if not (number.isascii() and number.isdecimal() and place.isascii() and place.isdecimal()):
            return None
        # int() refuses very long texts, and no stream or event has such a number.
        if len(number) > 18 or len(place) > 18:
            return None
        stream = self._all.get(int(number))
        return None if stream is None or int(place) > stream.last else (stream, int(place))

    @property
    def is_read(self) -> bool:
        """True while a connection reads any of them."""
        return any(stream.reader is not None for stream in self._all.values())

    def tidy(self) -> None:
        """Forgets streams that ended long ago, and the oldest ones where there are too many bytes."""
        now = self._clock()
        ended = [stream for stream in self._all.values() if stream.ended_at is not None and stream.reader is None]
        size = sum(stream.size for stream in self._all.values())
        for place, stream in enumerate(ended):
            is_old = now - (stream.ended_at or now) > KEPT_SECONDS
            if is_old or len(ended) - place > MOST_ENDED or (size > MOST_BYTES and place < len(ended) - 1):
                size -= stream.size
                del self._all[stream.number]

    def aclose(self) -> None:
        """Ends all streams."""
        for stream in self._all.values():
            self.end(stream)


class StreamBody:
    """A reader's events, for as long as its client is connected. Closing it frees everything, also when nothing was
    read."""

    def __init__(self, reader: StreamReader, request: HttpRequest, freed: Callable[[], None] = lambda: None) -> None:
        """`freed` is called at its end."""
        self._reader = reader
        self._frames = reader.frames()
        self._freed: Callable[[], None] | None = freed
        self._watch = asyncio.ensure_future(request.wait_until_gone())
        self._watch.add_done_callback(lambda _: reader.leave())

    def __aiter__(self) -> StreamBody:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._frames)

    async def aclose(self) -> None:
        """Frees the stream: the connection is over."""
        self._watch.cancel()
        await self._frames.aclose()
        self._reader.detach()
        if self._freed is not None:
            self._freed()
            self._freed = None
