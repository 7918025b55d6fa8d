"""HTTP/2 where a server agrees to it over TLS: one connection for all, the same answers, the same failures, the same limits."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from typing import Any

import h2.errors
import h2.events
import h2.settings
import pytest
from hyperframe.frame import ContinuationFrame, DataFrame, HeadersFrame, PingFrame, SettingsFrame

from ferrule.infra.network.http2 import Http2Connection
from ferrule.infra.network.request import BrokenAnswer, Unreachable
from tests.infra.network.http2_answers import app, pieces, tls

from .authority import Authority
from .http2_servers import HOST, Wire, h2_client, h2_site, hypercorn_site
from .servers import ok, run, site


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
