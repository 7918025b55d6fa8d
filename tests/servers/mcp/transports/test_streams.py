"""Streams of a session by themselves: what is kept, what is given again, and what is let go of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.servers.asgi import HttpRequest
from ferrule.servers.mcp.transports import streams as module
from ferrule.servers.mcp.transports.streams import MOST_BYTES, MOST_ENDED, MOST_EVENTS, EventStream, StreamBody, Streams
from tests.driven import driven

WAIT_SECONDS = 30.0


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ids_and_data(frames: bytes) -> list[tuple[str, str]]:
    """The events in what was sent."""
    found = []
    for block in frames.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append((fields["id"], fields["data"]))
    return found


async def everything(stream: EventStream, after: int = 0) -> list[tuple[str, str]]:
    """All that a reader of an ended stream gets."""
    return ids_and_data(b"".join([frame async for frame in stream.read(after).frames()]))


@driven
async def test_a_stream_is_read_from_any_event_on() -> None:
    """MCP-87: what came after the event, in order, each with its id."""
    streams = Streams(Time())
    stream = streams.begin(is_primed=False)
    for number in range(5):
        stream.put(b'{"n":%d}' % number)
    streams.end(stream)
    assert await everything(stream) == [(f"1-{number + 1}", f'{{"n":{number}}}') for number in range(5)]
    assert await everything(stream, 3) == [("1-4", '{"n":3}'), ("1-5", '{"n":4}')]


@driven
async def test_ids_name_their_stream_and_are_disjoint() -> None:
    """MCP-86: ids are unique in the session, and the stream is known from them."""
    streams = Streams(Time())
    first, second = streams.begin(is_primed=False), streams.begin(is_primed=False)
    for stream in (first, second, streams.own):
        stream.put(b"{}")
        stream.put(b"{}")
        streams.end(stream)
    ids = [event_id for stream in (first, second, streams.own) for event_id, _ in await everything(stream)]
    assert len(set(ids)) == 6
    found = [streams.find_event(event_id) for event_id in ids]
    assert [each[0] for each in found if each is not None] == [first, first, second, second, streams.own, streams.own]


@pytest.mark.parametrize("event_id", ["", "1", "1-", "-1", "1-9", "9-1", "x-1", "1-x", "1-1-1", "¹-1", "1-" + "9" * 50])
@driven
async def test_an_event_that_never_was_is_not_found(event_id: str) -> None:
    """MCP-87: never another stream's events."""
    streams = Streams(Time())
    streams.begin(is_primed=False).put(b"{}")
    assert streams.find_event(event_id) is None


@driven
async def test_many_notifications_leave_room_for_what_matters() -> None:
    """A flood of progress costs the oldest progress, never a request or a response."""
    streams = Streams(Time())
    stream = streams.begin(is_primed=False)
    stream.put(b'"asked"', is_needed=True)
    for number in range(10 * MOST_EVENTS):
        stream.put(b"%d" % number)
    stream.put(b'"answered"', is_needed=True)
    streams.end(stream)
    data = [data for _, data in await everything(stream)]
    assert data[0] == '"asked"'
    assert data[-2:] == [str(10 * MOST_EVENTS - 1), '"answered"']
    assert len(stream.events) <= MOST_EVENTS + 2


@driven
async def test_ended_streams_are_bounded_in_number_size_and_age() -> None:
    """Results that nobody comes back for do not pile up."""
    clock = Time()
    streams = Streams(clock)
    made = []
    for _ in range(2 * MOST_ENDED):
        made.append(streams.begin(is_primed=False))
        made[-1].put(b"{}", is_needed=True)
        streams.end(made[-1])
    streams.tidy()
    kept = [stream for stream in made if streams.find_event(f"{stream.number}-1") is not None]
    assert kept == made[-MOST_ENDED:]
    clock.now += module.KEPT_SECONDS + 1
    streams.tidy()
    assert all(streams.find_event(f"{stream.number}-1") is None for stream in made)
    large = []
    for _ in range(4):
        large.append(streams.begin(is_primed=False))
        large[-1].put(b"x" * (MOST_BYTES // 2 + 1), is_needed=True)
        streams.end(large[-1])
    streams.tidy()
    assert [streams.find_event(f"{stream.number}-1") is not None for stream in large] == [False, False, False, True]


@driven
async def test_a_quiet_stream_shows_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP-51: a comment now and then."""
    monkeypatch.setattr(module, "KEEP_ALIVE_SECONDS", 0.01)
    stream = EventStream(1)
    frames = stream.read(0).frames()
    first = await asyncio.wait_for(anext(frames), WAIT_SECONDS)
    assert first.startswith(b":")
    assert first.endswith(b"\n\n")
    stream.put(b"{}")
    while (frame := await asyncio.wait_for(anext(frames), WAIT_SECONDS)).startswith(b":"):
        pass
    assert ids_and_data(frame) == [("1-1", "{}")]
    await frames.aclose()
    assert stream.reader is None


@driven
async def test_whoever_takes_a_stream_up_again_replaces_the_one_before() -> None:
    """A connection that is dead and does not know it does not stand in the way."""
    stream = EventStream(1)
    before = stream.read(0).frames()
    stream.put(b"1")
    assert ids_and_data(await anext(before)) == [("1-1", "1")]
    waiting = asyncio.ensure_future(anext(before, None))
    await asyncio.sleep(0)
    after = stream.read(0).frames()
    assert await asyncio.wait_for(waiting, WAIT_SECONDS) is None
    assert ids_and_data(await anext(after)) == [("1-1", "1")]
    await after.aclose()


@driven
async def test_a_connection_that_is_gone_is_let_go() -> None:
    """A reader ends when its client closes the connection; the stream does not."""
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    request = HttpRequest({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)
    stream = EventStream(1)
    frames = StreamBody(stream.read(0), request)
    stream.put(b"1")
    assert ids_and_data(await anext(frames)) == [("1-1", "1")]
    waiting = asyncio.ensure_future(anext(frames, None))
    await asyncio.sleep(0)
    gone.set()
    assert await asyncio.wait_for(waiting, WAIT_SECONDS) is None
    assert stream.reader is None
    await frames.aclose()
    stream.put(b"2", is_needed=True)
    stream.end(0.0)
    assert await everything(stream, 1) == [("1-2", "2")]


@driven
async def test_a_message_is_one_line_of_data() -> None:
    """MCP-49: also one that came with line breaks between its tokens."""
    stream = EventStream(1)
    stream.put(b'{\n"a": 1\r\n}')
    stream.end(0.0)
    sent = b"".join([frame async for frame in stream.read(0).frames()])
    assert [line for line in sent.split(b"\n") if line.startswith(b"data:")] == [b'data: { "a": 1  }']


@driven
async def test_a_connection_that_never_began_lets_go_too() -> None:
    """A client that went away before the first byte does not keep its stream."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    request = HttpRequest({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)
    stream, freed = EventStream(1), asyncio.Event()
    carried = StreamBody(stream.read(0), request, freed.set)
    await carried.aclose()
    await carried.aclose()
    assert stream.reader is None
    assert freed.is_set()
