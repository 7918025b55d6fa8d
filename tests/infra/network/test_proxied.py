"""Requests over a proxy: judged before, encrypted to their end, and nothing that is inside ever goes there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.proxies import Proxies, Proxy
from ferrule.infra.network.redirects import RedirectStep, follow
from ferrule.infra.network.request import BadRequest, ProxyRefused, Unreachable, Untrusted
from ferrule.infra.network.tls import TlsContexts
from ferrule.infra.network.urls import parse_url
from tests.infra.network.authority import Authority
from tests.infra.network.fake_proxy import FakeProxy, running_proxy
from tests.infra.network.servers import FakeSite, SitePeer, ok, run, running_site

PUBLIC = "93.184.216.34"


def nothing(host: str, port: int) -> list[str]:
    """The look-up of a machine that knows no names of the internet, as behind many proxies."""
    if host == "127.0.0.1":
        return [host]
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def leading_to(*addresses: str) -> Callable[[str, int], list[str]]:
    return lambda host, port: list(addresses)


@asynccontextmanager
async def over(
    relay: FakeProxy,
    *allowed: str,
    resolver: Callable[[str, int], list[str]] = nothing,
    tls: TlsContexts | None = None,
    login: str = "",
    scheme: str = "http",
    **options: Any,
) -> AsyncIterator[Client]:
    """A client that goes over this proxy."""
    proxies = relay.proxies(login=login, scheme=scheme)
    http = Client(Guard(allowed, resolver), tls=tls, proxies=proxies, **options)
    try:
        yield http
    finally:
        await http.aclose()
        await asyncio.sleep(0)


def test_https_goes_through_a_tunnel_that_sees_nothing_and_is_kept(authority: Authority) -> None:
    async def story() -> None:
        async with running_proxy() as relay, running_site(ok(), authority.server("far.test")) as there:
            async with over(relay, tls=TlsContexts(authority.tls())) as http:
                for _ in range(3):
                    url = f"https://far.test:{there.port}/a?b=c"
                    fetched = await http.fetch("POST", url, [("X-Key", "s3cret")], b"x" * 100_000)
                    assert fetched.body == b"hello"
            assert relay.asked == [f"CONNECT far.test:{there.port} HTTP/1.1"] and there.connections == 1
            assert not any(b"s3cret" in head or b"/a?b" in head for head in relay.heads)
            assert [asked.path for asked in there.asked] == ["/a?b=c"] * 3

    run(story())
    uvloop.run(story())


def test_http_is_asked_for_by_its_whole_address(authority: Authority) -> None:
    async def story() -> None:
        async with running_proxy() as relay, running_site(ok()) as there, over(relay) as http:
            for method in ("GET", "POST", "GET"):
                url = f"http://far.test:{there.port}/a?b=c"
                assert (await http.fetch(method, url, body=b"x" if method == "POST" else b"")).body == b"hello"
            assert relay.asked[0] == f"GET http://far.test:{there.port}/a?b=c HTTP/1.1" and relay.connections == 1
            assert [asked.path for asked in there.asked] == ["/a?b=c"] * 3
            assert there.asked[0].header("host") == f"far.test:{there.port}" and there.asked[1].body == b"x"

    run(story())


def test_a_proxy_may_speak_tls_itself(authority: Authority) -> None:
    async def story() -> None:
        tls = TlsContexts(authority.tls())
        async with (
            running_proxy(tls=authority.server("127.0.0.1")) as relay, over(relay, tls=tls, scheme="https") as http,
            running_site(ok()) as plain, running_site(ok(), authority.server("far.test")) as secure,
        ):  # fmt: skip
            assert (await http.fetch("GET", f"http://far.test:{plain.port}/")).body == b"hello"
            for _ in range(2):
                assert (await http.fetch("GET", f"https://far.test:{secure.port}/")).body == b"hello"
            assert secure.connections == 1
        async with (
            running_proxy(tls=authority.server("other.test")) as relay,
            over(relay, tls=tls, scheme="https") as http,
        ):
            for scheme in ("http", "https"):
                with pytest.raises(Untrusted, match="or the proxy on the way"):
                    await http.fetch("GET", f"{scheme}://far.test/")

    run(story())


def test_the_far_side_has_to_prove_itself_whoever_is_on_the_way(authority: Authority) -> None:
    async def story() -> None:
        async with (
            running_proxy() as relay, running_site(ok(), authority.server("other.test")) as there,
            over(relay, tls=TlsContexts(authority.tls())) as http,
        ):  # fmt: skip
            with pytest.raises(Untrusted, match=r"far\.test"):
                await http.fetch("POST", f"https://far.test:{there.port}/", body=b"s3cret")
            assert not there.asked and http.count_requests(parse_url(f"https://far.test:{there.port}/")) == 0

    run(story())


# What may go there


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "100.100.100.200",
     "192.168.1.1", "[fd00::1]", "0.0.0.0"],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_private_and_metadata_addresses_never_go_to_the_proxy(host: str, scheme: str) -> None:
    async def story() -> None:
        async with running_proxy() as relay, over(relay) as http:
            with pytest.raises(Forbidden, match=r"\[network\] allow"):
                await http.fetch("GET", f"{scheme}://{host}/latest/meta-data/")
            assert relay.connections == 0

    run(story())


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("10.0.0.1",), ("169.254.169.254",), (PUBLIC, "10.0.0.1"), ("::ffff:127.0.0.1",)]
)
def test_a_name_that_leads_inside_is_refused_before(addresses: tuple[str, ...]) -> None:
    async def story() -> None:
        async with running_proxy() as relay, over(relay, resolver=leading_to(*addresses)) as http:
            for scheme in ("http", "https"):
                with pytest.raises(Forbidden):
                    await http.fetch("GET", f"{scheme}://far.test/")
            assert relay.connections == 0

    run(story())


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "printer", "nas.local", "metadata.google.internal"])
def test_a_name_of_the_inside_never_goes_to_the_proxy_known_or_not(host: str) -> None:
    async def story() -> None:
        async with running_proxy() as relay:
            async with over(relay) as http:
                with pytest.raises(Unreachable, match="has no address"):
                    await http.fetch("GET", f"http://{host}/")
            async with over(relay, resolver=leading_to("127.0.0.1")) as http:
                with pytest.raises(Forbidden):
                    await http.fetch("GET", f"http://{host}/")
            assert relay.connections == 0

    run(story())


def test_what_is_listed_and_inside_is_dialled_directly() -> None:
    async def story() -> None:
        async with running_proxy() as relay, running_site(ok()) as there:
            async with over(relay, "crm.test", "127.0.0.1", resolver=leading_to("127.0.0.1")) as http:
                assert (await http.fetch("GET", f"http://crm.test:{there.port}/")).body == b"hello"
                assert (await http.fetch("GET", there.url())).body == b"hello"
            assert relay.connections == 0 and len(there.asked) == 2

    run(story())


def test_a_public_name_goes_to_the_proxy_listed_or_not_and_by_its_name() -> None:
    async def story() -> None:
        async with running_proxy() as relay, running_site(ok()) as there:
            for allowed in ((), ("far.test",)):
                async with over(relay, *allowed, resolver=leading_to(PUBLIC)) as http:
                    url = f"http://far.test:{there.port}/"
                    assert (await http.fetch("GET", url, listed_only=bool(allowed))).body == b"hello"
            assert relay.asked == [f"GET http://far.test:{there.port}/ HTTP/1.1"] * 2
            async with over(relay) as http:
                with pytest.raises(Forbidden):
                    await http.fetch("GET", "http://far.test/", listed_only=True)

    run(story())


def test_a_look_up_that_does_not_end_is_the_proxys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrule.infra.network.client._LOOK_UP_SECONDS", 0.05)

    async def story() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def stuck(host: str, port: int) -> list[str]:
            if host != "127.0.0.1":
                asyncio.run_coroutine_threadsafe(ended.wait(), loop).result(10)
            return [host]

        async with running_proxy() as relay, running_site(ok()) as there, over(relay, resolver=stuck) as http:
            assert (await http.fetch("GET", f"http://far.test:{there.port}/")).body == b"hello"
            ended.set()

    run(story())


def test_a_name_that_is_not_known_is_not_looked_up_for_every_connection() -> None:
    async def story() -> None:
        looked: list[str] = []

        def look_up(host: str, port: int) -> list[str]:
            looked.append(host)
            return nothing(host, port)

        async with running_proxy() as relay, running_site(ok(b"", "Connection: close")) as there:
            async with over(relay, resolver=look_up, idle_seconds=0.0) as http:
                for _ in range(3):
                    await http.fetch("GET", f"http://far.test:{there.port}/")
            assert looked.count("far.test") == 1 and len(there.asked) == 3

    run(story())


def test_a_redirect_is_judged_again_before_it_goes_to_the_proxy() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            place = b"http://169.254.169.254/latest/"
            await peer.write(b"HTTP/1.1 302 Found\r\nLocation: " + place + b"\r\nContent-Length: 0\r\n\r\n")

        async with running_proxy() as relay, running_site(answer) as there, over(relay) as http:
            with pytest.raises(Forbidden):
                await follow(http, RedirectStep("GET", parse_url(f"http://far.test:{there.port}/")))
            assert len(relay.asked) == 1

    run(story())


# What a proxy may say


def test_a_login_goes_to_the_proxy_and_no_further(authority: Authority) -> None:
    async def story() -> None:
        tls = TlsContexts(authority.tls())
        async with (
            running_proxy("me:s3cret") as relay,
            running_site(ok(), authority.server("far.test")) as there,
            running_site(ok()) as plain,
        ):
            async with over(relay, tls=tls, login="me:s3cret") as http:
                await http.fetch("GET", f"https://far.test:{there.port}/")
                await http.fetch("GET", f"http://far.test:{plain.port}/")
            assert all(asked.header("proxy-authorization") is None for asked in [*there.asked, *plain.asked])
            for login, words in (("", "wants a login"), ("me:wr0ng", "wants another login")):
                async with over(relay, tls=tls, login=login) as http:
                    before = len(relay.asked)
                    for url in (f"https://far.test:{there.port}/", f"http://far.test:{plain.port}/"):
                        with pytest.raises(ProxyRefused, match=words) as refused:
                            await http.fetch("POST", url, body=b"x")
                        assert not refused.value.is_sent and "wr0ng" not in str(refused.value)
                        assert http.count_requests(parse_url(url)) == 0
                    assert len(relay.asked) == before + 2, "a login that is wrong is shown once"
            assert len(there.asked) == len(plain.asked) == 1

    run(story())


def test_a_tool_sends_no_login_to_a_proxy() -> None:
    async def story() -> None:
        async with running_proxy() as relay, over(relay) as http:
            with pytest.raises(BadRequest, match="Proxy-Authorization"):
                await http.fetch("GET", "http://far.test/", [("Proxy-Authorization", "Basic x")])

    run(story())


@pytest.mark.parametrize(
    ("says", "words"),
    [(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "gives no way to far.test: it answered 403"),
     (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "it answered 502"), (b"SSH-2.0-x\r\n\r\n", "no HTTP"),
     (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "no HTTP"), (b"HTTP/1.1 101 Odd\r\n\r\n", "it answered 101"),
     (b"HTTP/1.1 200 " + b"x" * 20_000, "no HTTP"), (b"HTTP/2 200\r\n\r\n", "no HTTP"), (b"HTTP/1.1 20\r\n\r\n", "no HTTP")],
)  # fmt: skip
def test_a_proxy_that_opens_no_tunnel_is_told_and_nothing_was_sent(
    authority: Authority, says: bytes, words: str
) -> None:
    async def story() -> None:
        async with running_proxy(says=says) as relay, over(relay, tls=TlsContexts(authority.tls())) as http:
            with pytest.raises(Unreachable, match=words) as refused:
                await http.fetch("POST", "https://far.test/", body=b"s3cret")
            assert not refused.value.is_sent and http.count_requests(parse_url("https://far.test/")) == 0
            assert len(relay.asked) == 1

    run(story())


def test_a_proxy_whose_name_nobody_knows_is_named_as_the_proxy() -> None:
    async def story() -> None:
        proxy = Proxy(parse_url("http://proxy.nowhere:3128"))
        http = Client(Guard((), nothing), proxies=Proxies(proxy, proxy))
        with pytest.raises(Unreachable, match=r"the proxy proxy\.nowhere has no address"):
            await http.fetch("GET", "https://far.test/")
        await http.aclose()

    run(story())


def test_a_proxy_that_is_not_there_or_never_answers_is_told(authority: Authority) -> None:
    async def story() -> None:
        async with running_proxy() as relay:
            pass
        async with over(relay) as http:
            for scheme in ("http", "https"):
                with pytest.raises(Unreachable, match=r"the proxy 127\.0\.0\.1 could not be reached: nothing listens"):
                    await http.fetch("GET", f"{scheme}://far.test/")

        async def silent(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.read()

        async with running_site(silent) as there:
            relay.port = there.port
            async with over(relay, connect_seconds=1.0) as http:  # a busy machine takes its time to look the name up
                with pytest.raises(Unreachable, match="no answer within"):
                    await http.fetch("GET", "https://far.test/", timeout_seconds=None)
            async with over(relay) as http:
                task = asyncio.create_task(http.fetch("GET", "https://far.test/"))
                while len(there.peers) < 2:
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert http.count_requests(parse_url("https://far.test/")) == 0

    run(story())
