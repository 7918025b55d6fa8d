"""HTTP/2 where a server agrees to it over TLS: one connection for all, the same answers, the same failures, the same limits."""

from __future__ import annotations

import asyncio
import gzip
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import h2.errors
import h2.events
import h2.settings
import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, PingFrame, SettingsFrame

from ferrule.infra.network.http2 import Http2Connection
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable

from .authority import Authority
from .http2_servers import HOST, Wire, h2_client, h2_site, hypercorn_site
from .servers import ok, run, site

MEGABYTE = 1024**2


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers with what was asked, in several ways."""
    if scope["type"] != "http":
        return
    path, body = scope["path"], b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"x-version", scope["http_version"].encode()), (b"x-twice", b"1"), (b"x-twice", b"2")]
    if path == "/gzip":
        body = gzip.compress(b"packed " * 1000)
        headers.append((b"content-encoding", b"gzip"))
    elif path == "/large":
        body = b"x" * (5 * MEGABYTE)
    elif path == "/head":
        headers.append((b"content-length", b"5"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        for start in range(0, len(body), 60_000):
            await send({"type": "http.response.body", "body": body[start : start + 60_000], "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"y" * size


def test_a_real_server_is_spoken_to_in_http2_on_one_connection(authority: Authority) -> None:
    async def story() -> None:
        async with hypercorn_site(app, authority) as target, h2_client(authority) as http:
            first = await http.fetch("POST", target, [("X-Key", "v"), ("Connection", "close")], b"hello")
            assert (first.status, first.body, first.headers["x-version"], first.headers["x-twice"]) == (
                200,
                b"hello",
                "2",
                "1, 2",
            )
            host = http._hosts[target[:3]]
            connection = host.http2
            assert isinstance(connection, Http2Connection)
            answers = await asyncio.gather(*(http.fetch("PUT", target, body=b"%d" % number) for number in range(60)))
            assert [answer.body for answer in answers] == [b"%d" % number for number in range(60)]
            assert host.http2 is connection and not host.idle and http.in_use(target) == 0
            assert (await http.fetch("GET", target._replace(path="/gzip"))).body == b"packed " * 1000
            head = await http.fetch("HEAD", target._replace(path="/head"))
            assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "5")
            assert (await http.fetch("GET", target)).body == b""

    run(story())


def test_many_first_requests_make_one_connection(authority: Authority) -> None:
    async def story() -> None:
        act, seen = echo()
        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            answers = await asyncio.gather(*(http.fetch("GET", there.target) for _ in range(50)))
            assert {answer.body for answer in answers} == {b"hello"} and len(there.wires) == 1
            assert seen == list(range(1, 101, 2))

    run(story())


def test_large_bodies_go_both_ways(authority: Authority) -> None:
    async def story() -> None:
        async with hypercorn_site(app, authority) as target, h2_client(authority) as http:
            large = await http.fetch("GET", target._replace(path="/large"), max_bytes=9 * MEGABYTE)
            assert large.body == b"x" * (5 * MEGABYTE)
            back = await http.fetch("POST", target, body=b"z" * (2 * MEGABYTE), max_bytes=9 * MEGABYTE)
            assert back.body == b"z" * (2 * MEGABYTE)
            back = await http.fetch("POST", target, body=pieces(30, 50_000), max_bytes=9 * MEGABYTE)
            assert back.body == b"y" * 1_500_000
            back = await http.fetch("POST", target, body=pieces(3, 50_000), length=150_000, max_bytes=9 * MEGABYTE)
            assert back.body == b"y" * 150_000
            with pytest.raises(TooLong):
                await http.fetch("GET", target._replace(path="/large"), max_bytes=1000)
            with pytest.raises(BadRequest):
                await http.fetch("POST", target, body=pieces(3, 50_000), length=150_001)
            assert (await http.fetch("POST", target, body=b"still there")).body == b"still there"
            assert http.in_use(target) == 0

    run(story(), 60)


def test_servers_without_http2_and_clients_without_it_speak_http1(authority: Authority) -> None:
    async def story() -> None:
        async with site(ok(), authority.server(HOST, protocols=("http/1.1",))) as there, h2_client(authority) as http:
            url = f"https://{HOST}:{there.port}/"
            answers = await asyncio.gather(*(http.fetch("GET", url) for _ in range(5)))
            assert [answer.body for answer in answers] == [b"hello"] * 5
        async with hypercorn_site(app, authority) as target, h2_client(authority, http2=False) as http:
            assert (await http.fetch("GET", target)).headers["x-version"] == "1.1"

    run(story())


def test_nothing_of_http2_is_loaded_before_it_is_spoken() -> None:
    code = (
        "import sys, ferrule.infra.network.client, ferrule.infra.network.redirects\n"
        + "print('h2' in sys.modules, 'hpack' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


def tls(authority: Authority) -> Any:
    return authority.server(HOST, protocols=("h2",))


def echo() -> tuple[Any, list[int]]:
    seen: list[int] = []

    def act(wire: Wire, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            assert event.stream_id is not None
            seen.append(event.stream_id)
            wire.answer(event.stream_id)

    return act, seen


def test_no_more_streams_are_opened_than_the_server_takes(authority: Authority) -> None:
    async def story() -> None:
        waiting: list[int] = []
        most = 0

        def act(wire: Wire, event: h2.events.Event) -> None:
            nonlocal most
            if isinstance(event, h2.events.RequestReceived):
                waiting.append(event.stream_id or 0)
                most = max(most, len(waiting))
                asyncio.get_running_loop().call_later(0.01, answer, wire)

        def answer(wire: Wire) -> None:
            wire.answer(waiting.pop(0))

        limit = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 3}
        async with h2_site(act, tls(authority), limit) as there, h2_client(authority) as http:
            await http.fetch("GET", there.target._replace(path="/0"))
            tasks = [asyncio.create_task(http.fetch("GET", there.target._replace(path=f"/{n}"))) for n in range(1, 12)]
            await asyncio.sleep(0)
            tasks[5].cancel()
            await asyncio.wait(tasks)
            assert most == 3 and http.in_use(there.target) == 0 and len(there.wires) == 1
            assert [task.cancelled() for task in tasks].count(True) == 1
            paths = [head[":path"] for head in there.wires[0].heads.values()]
            assert paths == [f"/{n}" for n in range(12) if n != 6]

    run(story())


def test_a_cancelled_or_closed_answer_resets_its_stream_and_no_other(authority: Authority) -> None:
    async def story() -> None:
        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.RequestReceived) and wire.heads[event.stream_id or 0][":path"] == "/slow":
                wire.h2.send_headers(event.stream_id or 0, [(":status", "200")])
                wire.h2.send_data(event.stream_id or 0, b"begin")
            elif isinstance(event, h2.events.RequestReceived) and wire.heads[event.stream_id or 0][":path"] == "/":
                wire.answer(event.stream_id or 0)
            elif isinstance(event, h2.events.StreamReset):
                reset.set()

        reset = asyncio.Event()
        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            response = await http.send("GET", there.target._replace(path="/slow"))
            task = asyncio.create_task(http.fetch("GET", there.target._replace(path="/never")))
            assert (await http.fetch("GET", there.target)).body == b"hello"
            while not there.wires or len(there.wires[0].heads) < 3:
                await asyncio.sleep(0)
            assert http.in_use(there.target) == 2
            response.close()
            task.cancel()
            await asyncio.wait([task])
            assert http.in_use(there.target) == 0
            while len(there.wires[0].resets) < 2:
                reset.clear()
                await reset.wait()
            assert sorted(there.wires[0].resets) == [1, 5] and len(there.wires) == 1
            assert (await http.fetch("GET", there.target)).body == b"hello" and len(there.wires) == 1

    run(story())


def test_a_slow_reader_holds_up_its_own_stream_only(authority: Authority) -> None:
    async def story() -> None:
        sent: dict[int, int] = {}

        def push(wire: Wire) -> None:
            for stream in list(sent):
                if stream not in wire.h2.streams or wire.h2.streams[stream].closed:
                    continue
                while (room := min(wire.h2.local_flow_control_window(stream), 16384)) > 0:
                    wire.h2.send_data(stream, b"x" * room)
                    sent[stream] += room

        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.RequestReceived):
                stream = event.stream_id or 0
                if wire.heads[stream][":path"] == "/endless":
                    wire.h2.send_headers(stream, [(":status", "200")])
                    sent[stream] = 0
                else:
                    wire.answer(stream)
            elif isinstance(event, h2.events.StreamReset):
                sent.pop(event.stream_id or 0, None)
            push(wire)

        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            slow = [await http.send("GET", there.target._replace(path="/endless")) for _ in range(8)]
            for _ in range(5):
                assert (await http.fetch("GET", there.target)).body == b"hello"
            while any(size < 256 * 1024 for size in sent.values()):
                await asyncio.sleep(0)
            assert all(size == 256 * 1024 for size in sent.values())
            size = 0
            async for piece in slow[0].pieces():
                size += len(piece)
                if size > 2 * MEGABYTE:
                    break
            for response in slow:
                response.close()
            assert http.in_use(there.target) == 0
            assert (await http.fetch("GET", there.target)).body == b"hello" and len(there.wires) == 1

    run(story())


def test_a_server_that_wants_to_stop_finishes_what_it_has(authority: Authority) -> None:
    """GOAWAY: answers under way come, requests it did not look at go to another connection, even those that act."""

    async def story() -> None:
        def act(wire: Wire, event: h2.events.Event) -> None:
            if not isinstance(event, h2.events.RequestReceived):
                return
            stream = event.stream_id or 0
            if len(there.wires) > 1:
                wire.answer(stream, b"second")
            elif stream == 3:
                wire.h2.send_headers(1, [(":status", "200")])
                wire.h2.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=1)
                wire.flush()
                # h2 lets nobody speak after that; the frame is written by hand
                wire.transport.write(DataFrame(1, b"first", flags=["END_STREAM"]).serialize())

        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            first = asyncio.create_task(http.fetch("GET", there.target))
            while not there.wires or not there.wires[0].heads:
                await asyncio.sleep(0)
            second = await http.fetch("POST", there.target, body=b"act")
            assert second.body == b"second" and (await first).body == b"first"
            assert len(there.wires) == 2 and http.in_use(there.target) == 0
            await there.wires[0].is_lost.wait()

    run(story())


def test_what_was_refused_is_sent_again_and_what_was_reset_is_not(authority: Authority) -> None:
    async def story() -> None:
        codes = [h2.errors.ErrorCodes.REFUSED_STREAM, h2.errors.ErrorCodes.INTERNAL_ERROR]
        begun = False

        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.StreamEnded):
                stream = event.stream_id or 0
                if begun:
                    wire.h2.send_headers(stream, [(":status", "200")])
                    wire.h2.send_data(stream, b"half")
                if codes:
                    wire.h2.reset_stream(stream, codes.pop(0))
                else:
                    wire.answer(stream)

        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            with pytest.raises(Unreachable) as caught:
                await http.fetch("POST", there.target, body=b"act")
            assert caught.value.is_sent and len(there.wires[0].heads) == 2 and len(there.wires) == 1
            assert (await http.fetch("POST", there.target, body=b"act")).body == b"hello"
            begun = True
            codes.append(h2.errors.ErrorCodes.INTERNAL_ERROR)
            with pytest.raises(BrokenAnswer):
                await http.fetch("GET", there.target)
            assert http.in_use(there.target) == 0

    run(story())


def test_a_lost_connection_ends_all_its_answers_and_none_is_sent_twice(authority: Authority) -> None:
    async def story() -> None:
        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.RequestReceived) and len(wire.heads) == 4:
                wire.h2.send_headers(1, [(":status", "200")])
                wire.flush()
                wire.transport.close()

        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            tasks = [asyncio.create_task(http.fetch("POST", there.target, body=b"act")) for _ in range(4)]
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(result) for result in results] == [BrokenAnswer, Unreachable, Unreachable, Unreachable]
            assert all(result.is_sent for result in results if isinstance(result, Unreachable))
            assert http.in_use(there.target) == 0 and len(there.wires) == 1

    run(story())


LENGTH = ("content-length", "5")


@pytest.mark.parametrize(
    ("method", "status", "headers", "body", "trailers", "expected"),
    [("GET", "200", [LENGTH], b"", [], None), ("GET", "200", [LENGTH], b"hel", [("a", "b")], None),
     ("GET", "200", [LENGTH], b"hel", [], None), ("GET", "200", [LENGTH], b"hello", [("a", "b")], b"hello"),
     ("GET", "304", [LENGTH], b"", [], b""), ("HEAD", "200", [LENGTH], b"", [], b""), ("GET", "204", [], b"", [], b""),
     ("GET", "200", [("content-encoding", "br")], b"hello", [], None), ("GET", "200", [("content-encoding", "gzip")],
     b"hello", [], None),
     ("GET", "099", [], b"", [], None)],
)  # fmt: skip
def test_lengths_and_codings_are_held_to(
    authority: Authority,
    method: str,
    status: str,
    headers: list[tuple[str, str]],
    body: bytes,
    trailers: list[tuple[str, str]],
    expected: bytes | None,
) -> None:
    async def story() -> None:
        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.RequestReceived):
                stream = event.stream_id or 0
                wire.h2.send_headers(stream, [(":status", status), *headers], end_stream=not body and not trailers)
                if body:
                    wire.h2.send_data(stream, body, end_stream=not trailers)
                if trailers:
                    wire.h2.send_headers(stream, trailers, end_stream=True)

        async with h2_site(act, tls(authority)) as there, h2_client(authority) as http:
            if expected is None:
                with pytest.raises(BrokenAnswer):
                    await http.fetch(method, there.target)
            else:
                assert (await http.fetch(method, there.target)).body == expected
            assert http.in_use(there.target) == 0

    run(story())


def test_a_place_comes_back_wherever_a_request_is_cancelled(authority: Authority) -> None:
    async def story() -> None:
        rng = random.Random(5)
        limit = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 2}

        def act(wire: Wire, event: h2.events.Event) -> None:
            if isinstance(event, h2.events.StreamEnded):
                asyncio.get_running_loop().call_soon(answer, wire, event.stream_id or 0)

        def answer(wire: Wire, stream: int) -> None:
            if stream in wire.h2.streams and not wire.h2.streams[stream].closed:
                wire.answer(stream)

        async with h2_site(act, tls(authority), limit) as there, h2_client(authority, per_host=4) as http:
            for _ in range(40):
                bodies = [b"x" * 200_000 if rng.random() < 0.3 else pieces(3, 1000) for _ in range(6)]
                tasks = [asyncio.create_task(http.fetch("POST", there.target, body=body)) for body in bodies]
                for task in tasks:
                    for _ in range(rng.randrange(10)):
                        await asyncio.sleep(0)
                    if rng.random() < 0.7:
                        task.cancel()
                for result in await asyncio.gather(*tasks, return_exceptions=True):
                    assert isinstance(result, asyncio.CancelledError) or getattr(result, "body", None) == b"hello", (
                        result
                    )
                assert http.in_use(there.target) == 0
            connection = http._hosts[there.target[:3]].http2
            assert (
                connection is not None
                and connection._promised == 0
                and not connection._streams
                and not connection._turns
            )

    run(story(), 40)


def test_idle_connections_are_closed_and_replaced(authority: Authority) -> None:
    async def story() -> None:
        act, _ = echo()
        async with h2_site(act, tls(authority)) as there, h2_client(authority, idle_seconds=0.05) as http:
            await http.fetch("GET", there.target)
            await there.wires[0].is_lost.wait()
            await http.fetch("POST", there.target)
            there.wires[1].transport.close()
            await there.wires[1].is_lost.wait()
            await http.fetch("POST", there.target)
            assert len(there.wires) == 3

    run(story())


def flood(frames: bytes) -> Any:
    def act(wire: Wire, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            wire.transport.write(frames)

    return act


def _integer(number: int) -> bytes:
    out = b""
    while number >= 128:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


# One long header in the table, then thousands of references to it, one byte each.
BOMB = b"\x88\x40\x01x\x7f" + _integer(3000 - 127) + b"v" * 3000 + b"\xbe" * 12_000


@pytest.mark.parametrize(
    "frames",
    [
        SettingsFrame(0, {1: 4096}).serialize() * 30_000,
        PingFrame(0, b"12345678").serialize() * 30_000,
        DataFrame(1, b"").serialize() * 30_000,
        HeadersFrame(1, b"\x88", flags=["END_HEADERS"]).serialize() + DataFrame(1, b"").serialize() * 30_000,
        HeadersFrame(1, b"\x08\x03103", flags=["END_HEADERS"]).serialize() * 30_000,
        HeadersFrame(1, b"\x88").serialize() + ContinuationFrame(1, b"").serialize() * 30_000,
        HeadersFrame(1, b"\x88").serialize() + ContinuationFrame(1, b"\x00\x01a\x01b" * 3000).serialize() * 1000,
        HeadersFrame(1, BOMB, flags=["END_HEADERS"]).serialize(),
        HeadersFrame(1, b"\x88" + b"\x00\x01a\x01b" * 300, flags=["END_HEADERS"]).serialize(),
        b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 3_000_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 1000,
        HeadersFrame(1, b"\x88\x0f\x0d\x015", flags=["END_HEADERS"]).serialize()
        + DataFrame(1, b"toolong", flags=["END_STREAM"]).serialize(),
        HeadersFrame(1, b"\x00\x01a\x01b", flags=["END_HEADERS", "END_STREAM"]).serialize(),
        HeadersFrame(2, b"\x88", flags=["END_HEADERS", "END_STREAM"]).serialize(),
    ],
)  # fmt: skip
def test_floods_bombs_and_nonsense_end_the_connection(authority: Authority, frames: bytes) -> None:
    async def story() -> None:
        async with h2_site(flood(frames), tls(authority)) as there, h2_client(authority) as http:
            with pytest.raises(BrokenAnswer):
                await http.fetch("GET", there.target)
            assert http.in_use(there.target) == 0

    run(story(), 30)
