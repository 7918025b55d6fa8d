"""Connections are kept and used again, never for two at once, never for more than there are places, and none is lost."""

from __future__ import annotations

import asyncio
import random
import socket
import threading

import pytest

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import parse_url

from .servers import FakeSite, SitePeer, ok, open_client, run, running_site


def test_one_connection_serves_request_after_request() -> None:
    async def story() -> None:
        async with running_site(ok(b"hi", "Content-Type: text/plain")) as there, open_client() as http:
            for _ in range(5):
                answer = await http.fetch("GET", there.url("/a?b=1"))
                assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"hi", "text/plain")
            assert there.connections == 1 and len(there.asked) == 5
            assert there.asked[0].line == "GET /a?b=1 HTTP/1.1"
            assert there.asked[0].header("host") == f"127.0.0.1:{there.port}"
            assert there.asked[0].header("accept-encoding") == "gzip, deflate"
            assert http.count_requests(there.target()) == 0

    run(story())


def test_requests_at_once_have_their_own_connections_up_to_the_limit() -> None:
    async def story() -> None:
        release, most = asyncio.Event(), 0

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            nonlocal most
            while await peer.read() is not None:
                most = max(most, len(there.asked))
                await release.wait()
                await peer.write(ok())

        async with running_site(answer) as there, open_client(per_host=3) as http:
            async with asyncio.TaskGroup() as group:
                for _ in range(10):
                    group.create_task(http.fetch("GET", there.url()))
                while most < 3 or http.count_requests(there.target()) < 3:
                    await asyncio.sleep(0)
                assert len(there.asked) == 3
                release.set()
            assert there.connections == 3 and len(there.asked) == 10
            assert http.count_requests(there.target()) == 0

    run(story())


def test_who_waits_is_served_in_order() -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client(per_host=1) as http:
            first = await http.send("GET", there.target("/first"))
            tasks = [asyncio.create_task(http.fetch("GET", there.url(f"/{number}"))) for number in range(6)]
            await asyncio.sleep(0)
            tasks[2].cancel()
            await first.read(100)
            late = asyncio.create_task(http.fetch("GET", there.url("/late")))
            await asyncio.wait([*tasks, late])
            paths = [asked.path for asked in there.asked]
            assert paths == ["/first", "/0", "/1", "/3", "/4", "/5", "/late"]
            assert http.count_requests(there.target()) == 0

    run(story())


def test_a_place_comes_back_wherever_a_request_is_cancelled() -> None:
    """Cancelled after any number of turns of the loop: while it waits, dials, sends, reads the head or the body."""

    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            while await peer.read() is not None:
                await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel")
                await asyncio.sleep(0)
                await peer.write(b"lo")
                await asyncio.sleep(0)
                await peer.write(b" you")

        async with running_site(answer) as there, open_client(per_host=2) as http:
            rng = random.Random(7)
            for _ in range(150):
                tasks = [asyncio.create_task(http.fetch("GET", there.url())) for _ in range(4)]
                for task in tasks:
                    for _ in range(rng.randrange(8)):
                        await asyncio.sleep(0)
                    if rng.random() < 0.8:
                        task.cancel()
                for result in await asyncio.gather(*tasks, return_exceptions=True):
                    assert (
                        isinstance(result, asyncio.CancelledError) or getattr(result, "body", None) == b"hello you"
                    ), result
                assert http.count_requests(there.target()) == 0

    run(story())


def test_a_place_comes_back_after_every_failure() -> None:
    answers = [
        b"",
        b"HTTP/1.1",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel",
        ok(b"x" * 999),
    ]

    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(answers[len(there.asked) % len(answers)])

        async with running_site(answer) as there, open_client(per_host=1) as http:
            for _ in range(20):
                with pytest.raises((Unreachable, BrokenAnswer, TooLong)):
                    await http.fetch("GET", there.url(), max_bytes=100)
                assert http.count_requests(there.target()) == 0
            for headers in ([("Bad Name", "x")], [("Name", "x\r\ny")]):
                with pytest.raises(BadRequest):
                    await http.fetch("GET", there.url(), headers)
            with pytest.raises(TimeoutError):
                there.answer = silent
                await http.fetch("GET", there.url(), timeout_seconds=0.05)
            assert http.count_requests(there.target()) == 0

    run(story())


async def silent(there: FakeSite, peer: SitePeer) -> None:
    await peer.read()
    await peer.reader.read()


def test_an_answer_that_is_closed_early_closes_its_connection() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            while await peer.read() is not None:
                await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\nbegin")

        async with running_site(answer) as there, open_client() as http:
            response = await http.send("GET", there.target())
            assert http.count_requests(there.target()) == 1
            response.close()
            response.close()
            assert http.count_requests(there.target()) == 0
            await there.is_gone.wait()
            async with await http.send("GET", there.target()) as response:
                async for piece in response.pieces():
                    assert piece == b"begin"
                    break
            assert http.count_requests(there.target()) == 0 and there.connections == 2
            with pytest.raises(RuntimeError):
                await response.read(10)

    run(story())


def test_closing_an_answer_that_was_read_does_not_touch_the_next_one() -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            first = await http.send("GET", there.target())
            assert await first.read(10) == b"hello"
            second = await http.send("GET", there.target())
            first.close()
            with pytest.raises(RuntimeError):
                await first.read(10)
            assert await second.read(10) == b"hello"
            assert there.connections == 1 and http.count_requests(there.target()) == 0

    run(story())


def test_a_connection_closed_while_idle_is_replaced() -> None:
    """Also for what must not be sent twice: nothing had been written yet."""

    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(ok())

        async with running_site(answer) as there, open_client() as http:
            for method in ("GET", "POST", "DELETE", "POST", "GET"):
                there.is_gone.clear()
                assert (await http.fetch(method, there.url(), body=b"")).body == b"hello"
                await there.is_gone.wait()
            assert there.connections == len(there.asked) == 5

    run(story())


def test_an_end_the_loop_has_not_heard_of_is_seen_before_a_post() -> None:
    async def story() -> None:
        seen: list[bytes] = []
        closed = threading.Event()

        def serve() -> None:
            for _ in range(2):
                peer, _ = server.accept()
                with peer:
                    seen.append(peer.recv(65536))
                    peer.sendall(ok())
                    if len(seen) == 1:
                        peer.shutdown(socket.SHUT_RDWR)
                        closed.set()
                    else:
                        peer.recv(65536)

        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=serve)
            thread.start()
            url = f"http://127.0.0.1:{server.getsockname()[1]}/"
            async with open_client() as http:
                response = await http.send("GET", parse_url(url))
                assert await response.read(10) == b"hello"
                closed.wait(10)  # the loop stands still meanwhile
                assert (await http.fetch("POST", url, body=b"once")).body == b"hello"
            thread.join(10)
        assert [data.split(b" ")[0] for data in seen] == [b"GET", b"POST"]

    run(story())


@pytest.mark.parametrize(
    ("method", "times"), [("GET", 2), ("HEAD", 2), ("POST", 1), ("PUT", 1), ("DELETE", 1), ("PATCH", 1)]
)
def test_only_what_does_nothing_is_sent_again(method: str, times: int) -> None:
    """The connection was good, the request went out, and no answer came."""

    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(ok())
            if there.connections == 1:
                await peer.read()  # takes it, and hangs up
            else:
                await peer.read()
                await peer.write(ok(b"" if method == "HEAD" else b"again"))
                await peer.read()

        async with running_site(answer) as there, open_client() as http:
            await http.fetch("GET", there.url("/warm"))
            there_again = http.fetch(method, there.url("/x"))
            if times == 2:
                # the second connection answers its first request
                assert (await there_again).status == 200
            else:
                with pytest.raises(Unreachable) as caught:
                    await there_again
                assert caught.value.is_sent
            assert [asked.path for asked in there.asked].count("/x") == times
            assert http.count_requests(there.target()) == 0

    run(story())


def test_a_fresh_connection_that_hangs_up_is_not_tried_again() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()

        async with running_site(answer) as there, open_client() as http:
            with pytest.raises(Unreachable) as caught:
                await http.fetch("GET", there.url())
            assert caught.value.is_sent and there.connections == 1

    run(story())


def test_idle_connections_are_closed_in_time() -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client(idle_seconds=0.05) as http:
            await http.fetch("GET", there.url())
            await there.is_gone.wait()
            await http.fetch("GET", there.url())
            assert there.connections == 2
        async with running_site(ok(b"", "Keep-Alive: timeout=1, max=5")) as there, open_client() as http:
            await http.fetch("GET", there.url())
            await http.fetch("GET", there.url())
            assert there.connections == 2  # the other side would have closed it in this very second

    run(story())


def test_bytes_nobody_asked_for_end_an_idle_connection() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(ok())
            await asyncio.sleep(0)
            await peer.write(ok(b"poison"))
            await peer.read()

        async with running_site(answer) as there, open_client() as http:
            for _ in range(3):
                there.is_gone.clear()
                assert (await http.fetch("GET", there.url())).body == b"hello"
                await there.is_gone.wait()
            assert there.connections == 3

    run(story())


@pytest.mark.parametrize("extra", [ok(b"poison"), b"HTTP/1.1 2", b"x", b"HTTP/1.1 200 OK\r\nX: 1\r\n"])
def test_bytes_behind_an_answer_are_never_the_next_answer(extra: bytes) -> None:
    async def story() -> None:
        async with running_site(ok(b"hello", "A: b") + extra) as there, open_client() as http:
            for _ in range(3):
                answer = await http.fetch("GET", there.url())
                assert answer.body == b"hello" and "x" not in answer.headers
            assert there.connections == 3 and http.count_requests(there.target()) == 0

    run(story())


def test_a_slow_reader_keeps_little_in_memory() -> None:
    async def story() -> None:
        written = 0

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            nonlocal written
            await peer.read()
            await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n")
            for _ in range(1024):
                await peer.write(b"x" * 65536)
                written += 65536

        async with running_site(answer) as there, open_client() as http:
            response = await http.send("GET", there.target())
            before = -1
            while before != written:  # until nothing moves any more
                before = written
                for _ in range(50):
                    await asyncio.sleep(0.001)
            assert written < 32 * 1024**2  # what the system's own buffers hold, and a little
            arrival = response._arrival
            assert arrival is not None and arrival._buffered < 1024**2
            size = 0
            async for piece in response.pieces():
                size += len(piece)
            assert size == 64 * 1024**2
            assert (await http.fetch("GET", there.url(), max_bytes=2**27)).status == 200

    run(story(), 60)


def test_a_client_that_is_closed_keeps_nothing() -> None:
    async def story() -> None:
        async with running_site(ok()) as there:
            http = Client(Guard(["127.0.0.1"]))
            await http.fetch("GET", there.url())
            response = await http.send("GET", there.target())
            await http.aclose()
            assert await response.read(10) == b"hello"
            await there.is_gone.wait()
            assert len(http._hosts) == 0
            assert (await http.fetch("GET", there.url())).body == b"hello"
            await http.aclose()

    run(story())


def test_hosts_that_are_not_used_any_more_are_forgotten() -> None:
    async def story() -> None:
        async with (
            open_client("127.0.0.1", "refused.test", idle_seconds=0.02) as http,
            running_site(ok(b"", "Connection: close")) as there,
        ):
            await http.fetch("GET", there.url())
            while http._hosts:
                await asyncio.sleep(0.01)
            assert http._sweep is None

    run(story())


def test_confined_callers_reach_listed_hosts_only() -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            assert (await http.fetch("GET", there.url(), listed_only=True)).status == 200
            with pytest.raises(Forbidden, match=r"not in \[network\] allow"):
                await http.fetch("GET", "http://93.184.216.34/", listed_only=True)

    run(story())


def test_addresses_are_tried_in_order_and_the_reason_is_plain() -> None:
    async def story() -> None:
        async with running_site(ok()) as there:
            guard = Guard(
                ["two.test", "none.test"], lambda host, port: ["127.0.0.2", "127.0.0.1"] if host == "two.test" else []
            )
            http = Client(guard)
            assert (await http.fetch("GET", f"http://two.test:{there.port}/")).body == b"hello"
            assert there.asked[0].header("host") == f"two.test:{there.port}"
            with pytest.raises(Unreachable, match=r"none\.test has no address") as caught:
                await http.fetch("GET", "http://none.test/")
            assert not caught.value.is_sent
            with pytest.raises(Unreachable, match=r"two\.test could not be reached: nothing listens on port 1"):
                await http.fetch("GET", "http://two.test:1/")
            await http.aclose()

    run(story())


def test_dialling_is_bounded_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[str] = []

    async def never(loop: object, factory: object, host: str, port: int, **_: object) -> None:
        dialled.append(host)
        await asyncio.sleep(3600)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", never)

    async def story() -> None:
        http = Client(Guard(resolver=lambda host, port: ["93.184.216.34", "93.184.216.35"]), connect_seconds=0.2)
        with pytest.raises(Unreachable, match="no answer within"):
            await http.fetch("GET", "http://slow.test/", timeout_seconds=None)
        assert dialled == ["93.184.216.34", "93.184.216.35"]
        assert http.count_requests(parse_url("http://slow.test/")) == 0
        await http.aclose()

    run(story())


def test_ipv6_is_spoken() -> None:
    async def story() -> None:
        try:
            async with running_site(ok(), host="::1") as there, open_client("::1") as http:
                assert (await http.fetch("GET", f"http://[0::1]:{there.port}/")).body == b"hello"
                assert there.asked[0].header("host") == f"[::1]:{there.port}"
        except OSError:
            pytest.skip("this machine has no IPv6")

    run(story())
