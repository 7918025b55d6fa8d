"""One request and its answer on an HTTP/2 connection: bodies both ways, room given back as it is read, lengths held to."""

from __future__ import annotations

import asyncio

import h2.errors
import h2.events
import h2.settings
import pytest

from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong
from tests.infra.network.authority import Authority
from tests.infra.network.http2_answers import MEGABYTE, app, pieces, tls
from tests.infra.network.http2_servers import Wire, h2_client, h2_site, hypercorn_site
from tests.infra.network.servers import run


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
