"""One HTTP/2 connection, shared by all requests to a host. Frames and states are h2's; limits, turns and room are kept here.

Loaded when a server has agreed to it over TLS, and never spoken in the clear.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, cast

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from ferrule.infra.network.request import BrokenAnswer, Request, Unreachable
from ferrule.infra.network.response import Response
from ferrule.infra.network.streams import Stream

if TYPE_CHECKING:
    from ferrule.infra.network.pool import Host

_LONGEST_HEAD = 64 * 1024
_FRAME = 16 * 1024
_WINDOW = 256 * 1024
"""Of one answer; more is not sent until somebody reads."""
_ALL_WINDOWS = 2**30
"""Of the connection: never what an answer waits for, or one slow reader would stop all others."""
_MOST_NEWS = 1000
"""Frames a second that bring nothing: settings, pings, empty data. More is an attack."""
_MOST_UNSENT = 4 * 1024**2
_LAST_STREAM = 2**30


class _Wire(h2.connection.H2Connection):
    """h2, which takes a server's "no more requests" for the end of the connection; answers under way still come."""

    def _receive_goaway_frame(self, frame: Any) -> Any:
        before = self.state_machine.state
        result = super()._receive_goaway_frame(frame)
        self.state_machine.state = before
        return result


def _wire() -> _Wire:
    wire = _Wire(
        h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
    )
    codes = h2.settings.SettingCodes
    wire.local_settings = h2.settings.Settings(
        client=True,
        initial_values={
            codes.ENABLE_PUSH: 0,
            codes.INITIAL_WINDOW_SIZE: _WINDOW,
            codes.MAX_FRAME_SIZE: _FRAME,
            codes.MAX_HEADER_LIST_SIZE: _LONGEST_HEAD,
        },
    )
    wire.max_inbound_frame_size = _FRAME
    wire.initiate_connection()
    wire.increment_flow_control_window(_ALL_WINDOWS)
    return wire


class Http2Connection(asyncio.Protocol):
    """A connection that was made to a checked address, after TLS agreed on HTTP/2."""

    def __init__(self) -> None:
        self.wire = _wire()
        self.loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._streams: dict[int, Stream] = {}
        self._turns: deque[asyncio.Future[None]] = deque()
        self._blocked: list[asyncio.Future[None]] = []
        self._is_draining = self._is_lost = self._is_full = False
        self._idle_since = self._news_since = self.loop.time()
        self._news = 0
        self._promised = 0
        """Turns that were given and not yet taken."""

    # Used by the pool

    def is_usable(self, idle_seconds: float) -> bool:
        """True while new requests are taken."""
        if not self._is_open():
            return False
        return bool(self._streams or self._turns) or self.loop.time() - self._idle_since < idle_seconds

    async def exchange(self, request: Request, host: Host) -> Response:
        """Send a request and wait for the head of its answer; the place at the host is given back after the body.

        Raises Unreachable, BrokenAnswer, and whatever the body in pieces raises.
        """
        if not self._streams and not request.is_safe:
            await asyncio.sleep(0)  # hears of an end that came while nothing was asked
        stream = await self._open(request)
        try:
            return await stream.exchange(request, host)
        except BaseException:
            stream.finished()
            raise

    def drain(self) -> None:
        """Take no new requests; close when the last answer was read."""
        self._is_draining = True
        if not self._streams:
            self._close(h2.errors.ErrorCodes.NO_ERROR)

    # Used by the streams

    def flush(self) -> None:
        """Send what is to be sent."""
        data = self.wire.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)

    def forget(self, number: int) -> None:
        """A stream is over on both sides: another may have its turn."""
        if self._streams.pop(number, None) is None:
            return
        self._give_turns()
        if not self._streams:
            self._idle_since = self.loop.time()
            if self._is_draining:
                self._close(h2.errors.ErrorCodes.NO_ERROR)

    async def room(self, number: int) -> int:
        """How many bytes may be sent on a stream now; waits until it is some. 0 when the stream is over."""
        while number in self._streams and not self._is_lost:
            room = min(self.wire.local_flow_control_window(number), self.wire.max_outbound_frame_size)
            if room > 0 and not self._is_full:
                return room
            waiter = self.loop.create_future()
            self._blocked.append(waiter)
            await waiter
        return 0

    async def _open(self, request: Request) -> Stream:
        """A stream of its own, when the other side takes one more; who came first is first."""
        if self._turns or len(self._streams) + self._promised >= self.wire.remote_settings.max_concurrent_streams:
            await self._turn()
        if not self._is_open():
            raise Unreachable(f"{request.target.host} closed the connection")
        number = self.wire.get_next_available_stream_id()
        stream = self._streams[number] = Stream(self, number)
        if number >= _LAST_STREAM:
            self._is_draining = True
            self._give_turns()
        return stream

    async def _turn(self) -> None:
        turn = self.loop.create_future()
        self._turns.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # it was given at the same moment
                self._promised -= 1
                self._give_turns()
            raise
        self._promised -= 1

    def _give_turns(self) -> None:
        """Everybody's turn has come when nothing can be sent any more: they look for another connection."""
        most = self.wire.remote_settings.max_concurrent_streams
        while self._turns and (not self._is_open() or len(self._streams) + self._promised < most):
            turn = self._turns.popleft()
            if not turn.done():
                self._promised += 1
                turn.set_result(None)

    def _is_open(self) -> bool:
        return not (self._is_draining or self._is_lost or self._transport is None or self._transport.is_closing())

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops' are not of this class
        self.flush()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._unblock()

    def data_received(self, data: bytes) -> None:
        # In small steps, so that a flood is noticed before much time went into it.
        for start in range(0, len(data), _FRAME):
            if self._is_lost or not self._receive(data[start : start + _FRAME]):
                return
        self.flush()
        if self._is_full and self._transport is not None and self._transport.get_write_buffer_size() > _MOST_UNSENT:
            self._fail("it asks for more than it takes")

    def _receive(self, data: bytes) -> bool:
        try:
            events = self.wire.receive_data(data)
            for event in events:
                take = _EVENTS.get(type(event))
                if take is None or not take(self, event):
                    self._news += 1
        except h2.exceptions.ProtocolError:
            self._fail("it breaks the rules of HTTP/2")
            return False
        # A frame is looked at by h2 when all of it is there, however long it says it is.
        if len(self.wire.incoming_buffer._data) > _FRAME + 9:
            self._fail("a frame is too long")
            return False
        return self._is_calm()

    def _is_calm(self) -> bool:
        if self._news <= _MOST_NEWS:
            return True
        now = self.loop.time()
        if now - self._news_since > 1:
            self._news, self._news_since = 0, now
            return True
        self._fail("it sends too much that is no answer")
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lost = True
        for stream in list(self._streams.values()):
            stream.cut(
                Unreachable("the connection was closed before an answer came", is_sent=True),
                BrokenAnswer("the answer ended too early"),
            )
        self._streams.clear()
        self._unblock()
        self._give_turns()

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, []
        for waiter in blocked:
            if not waiter.done():
                waiter.set_result(None)

    def _fail(self, why: str) -> None:
        broken = BrokenAnswer(f"the answer is no HTTP/2: {why}")
        self._is_draining = True
        for stream in list(self._streams.values()):
            stream.cut(broken, broken)
        self._close(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)

    def _close(self, code: h2.errors.ErrorCodes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self.wire.close_connection(code)
        self.flush()
        self._transport.abort()

    # News from the other side; True for what brings an answer on

    def _on_head(self, event: h2.events.ResponseReceived) -> bool:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            stream.on_head(event.headers)
        return stream is not None

    def _on_data(self, event: h2.events.DataReceived) -> bool:
        stream = self._streams.get(event.stream_id)
        if stream is None:
            self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        else:
            stream.on_data(event.data, event.flow_controlled_length)
        return bool(event.data)

    def _on_end(self, event: h2.events.StreamEnded) -> bool:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            stream.on_end()
        return stream is not None

    def _on_reset(self, event: h2.events.StreamReset) -> bool:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            is_refused = event.error_code == h2.errors.ErrorCodes.REFUSED_STREAM
            stream.cut(
                Unreachable("the request was refused by the other side", is_sent=not is_refused),
                BrokenAnswer("the answer was broken off by the other side"),
            )
            self.forget(event.stream_id)
            self._unblock()
        return False

    def _on_goaway(self, event: h2.events.ConnectionTerminated) -> bool:
        self._is_draining = True
        for number, stream in list(self._streams.items()):
            if number > (event.last_stream_id or 0):
                stream.cut(
                    Unreachable("the other side takes no more requests on this connection"),
                    BrokenAnswer("the answer was broken off by the other side"),
                )
                self.forget(number)
        self._give_turns()
        self._unblock()
        if not self._streams:
            self._close(h2.errors.ErrorCodes.NO_ERROR)
        return False

    def _on_window(self, event: h2.events.WindowUpdated) -> bool:
        was_waited_for = bool(self._blocked)
        self._unblock()
        return was_waited_for

    def _on_settings(self, event: h2.events.RemoteSettingsChanged) -> bool:
        self._unblock()
        self._give_turns()
        return False


_EVENTS: dict[type, Any] = {
    h2.events.ResponseReceived: Http2Connection._on_head,
    h2.events.DataReceived: Http2Connection._on_data,
    h2.events.StreamEnded: Http2Connection._on_end,
    h2.events.StreamReset: Http2Connection._on_reset,
    h2.events.ConnectionTerminated: Http2Connection._on_goaway,
    h2.events.WindowUpdated: Http2Connection._on_window,
    h2.events.RemoteSettingsChanged: Http2Connection._on_settings,
}
