"""Redirects are followed a few times, with less the further they go, and nowhere the first request could not have gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.redirects import Followed, RedirectStep, follow, next_step
from ferrule.infra.network.request import BadRequest, BrokenAnswer
from ferrule.infra.network.urls import parse_url

from .authority import Authority
from .servers import FakeSite, SitePeer, ok, open_client, run, running_site

SECRETS = (
    ("Authorization", "Bearer s"), ("Cookie", "a=b"), ("X-Api-Key", "s"), ("X-Our-Own-Token", "s"), ("X-Authorization", "s"),
    ("Idempotency-Key", "k"),
)  # fmt: skip
PLAIN = (("Accept", "text/plain"), ("User-Agent", "x"), ("Content-Type", "application/json"))


def moved(status: int, location: str) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\ngone".encode("latin-1")


def redirecting(places: dict[str, tuple[int, str]]) -> object:
    async def answer(there: FakeSite, peer: SitePeer) -> None:
        while (asked := await peer.read()) is not None:
            await peer.write(moved(*places[asked.path]) if asked.path in places else ok(b"end"))

    return answer


@pytest.mark.parametrize(
    ("status", "method", "then", "keeps_body"),
    [(301, "GET", "GET", True), (302, "GET", "GET", True), (303, "GET", "GET", False), (307, "GET", "GET", True),
     (301, "POST", "GET", False), (302, "POST", "GET", False), (303, "POST", "GET", False), (307, "POST", "POST", True),
     (308, "POST", "POST", True), (303, "PUT", "GET", False), (301, "PUT", "PUT", True), (302, "DELETE", "DELETE", True),
     (303, "HEAD", "HEAD", False), (308, "PATCH", "PATCH", True)],
)  # fmt: skip
def test_methods_change_as_the_standard_says(status: int, method: str, then: str, keeps_body: bool) -> None:
    async def story() -> None:
        async with running_site(redirecting({"/a": (status, "/b")})) as there, open_client() as http:  # type: ignore[arg-type]
            body = b"" if method in ("GET", "HEAD") else b"body"
            got = await follow(http, RedirectStep(method, there.target("/a"), (*SECRETS, *PLAIN), body))
            assert got.response.status == 200 and got.redirects == 1
            await got.response.read(100)
            _, last = there.asked
            assert (last.method, last.path) == (then, "/b")
            assert last.body == (body if keeps_body else b"")
            assert last.header("authorization") == "Bearer s"  # the same host: it had them anyway
            assert (last.header("content-type") is not None) == keeps_body
            assert http.count_requests(there.target()) == 0

    run(story())


@pytest.mark.parametrize("status", [200, 201, 300, 304, 305, 306, 400, 404])
def test_nothing_else_is_followed(status: int) -> None:
    guard = Guard(["127.0.0.1"])
    assert next_step(guard, RedirectStep("GET", parse_url("http://127.0.0.1/")), status, "/b") is None
    assert next_step(guard, RedirectStep("GET", parse_url("http://127.0.0.1/")), 302, None) is None
    assert next_step(guard, RedirectStep("GET", parse_url("http://127.0.0.1/")), 302, "") is None


@pytest.mark.parametrize(
    ("location", "url"),
    [("/x", "http://a.test:8080/x"), ("x?y=1#frag", "http://a.test:8080/p/x?y=1"), ("?q", "http://a.test:8080/p/q?q"),
     ("../up", "http://a.test:8080/up"), ("//a.test/z", "http://a.test/z"), ("HTTP://A.TEST:8080/Z", "http://a.test:8080/Z"),
     ("  /x \t", "http://a.test:8080/x"), ("/caf\xe9", "http://a.test:8080/caf%E9"), ("https://a.test/", "https://a.test/"),
     ("//b.test/", "http://b.test/"), ("#only", "http://a.test:8080/p/q?old=1")],
)  # fmt: skip
def test_locations_are_read_in_one_way(location: str, url: str) -> None:
    step = next_step(Guard(["b.test"]), RedirectStep("GET", parse_url("http://a.test:8080/p/q?old=1")), 302, location)
    assert step is not None and step.target.url == url


@pytest.mark.parametrize(
    "location",
    ["http://user@a.test/", "http://a.test\\@b.test/", "\\\\b.test/", "ht\ttp://b.test/", "http://b.te\tst/", "ftp://a.test/",
     "file:///etc/passwd", "javascript:alert(1)", "http://a.test:99999/", "http://[::1", "http://a.test:80:80/",
     "http://a .test/",
     "http://\xe2\x91\xa0.test/", "gopher://a.test/", "http://%61.test/", "http:///", "http://a.test\x00/", "//", "data:,x",
     "unix:/run/docker.sock", "http://a..test/"],
)  # fmt: skip
def test_locations_that_could_be_read_in_two_ways_are_refused(location: str) -> None:
    with pytest.raises((BrokenAnswer, Forbidden)):
        next_step(Guard(["b.test"]), RedirectStep("GET", parse_url("http://a.test/")), 302, location)


def test_what_the_first_host_was_given_stays_with_it() -> None:
    async def story() -> None:
        async with running_site(ok(b"end")) as other:
            places = {"/a": (307, f"http://other.test:{other.port}/b")}
            async with running_site(redirecting(places)) as there:  # type: ignore[arg-type]
                http = Client(Guard(["127.0.0.1", "other.test"], lambda host, port: ["127.0.0.1"]))
                got = await follow(http, RedirectStep("POST", there.target("/a"), (*SECRETS, *PLAIN), b"body"))
                assert await got.response.read(10) == b"end" and got.step.target.host == "other.test"
                names = {name for name, _ in other.asked[0].headers}
                assert names == {"host", "accept", "accept-encoding", "user-agent", "content-type", "content-length"}
                assert other.asked[0].body == b"body"
                # another port is another origin too
                there.answer = redirecting({"/a": (302, other.url("/c"))})  # type: ignore[assignment]
                await http.aclose()
                got = await follow(http, RedirectStep("GET", there.target("/a"), SECRETS))
                await got.response.read(10)
                assert other.asked[1].header("authorization") is None and other.asked[1].header("x-api-key") is None
                await http.aclose()

    run(story())


def test_other_hosts_must_be_listed_and_https_does_not_become_http() -> None:
    guard = Guard(["listed.test", "port.test:8080"], lambda host, port: ["93.184.216.34"])
    step = RedirectStep("GET", parse_url("https://a.test/"))
    for url in ("https://b.test/", "https://b.a.test/", "https://test/", "https://port.test/", "https://listed.test.evil.test/",
                "http://a.test/", "http://b.test/", "https://169.254.169.254/"):  # fmt: skip
        with pytest.raises(Forbidden, match=r"\[network\] allow"):
            next_step(guard, step, 302, url)
    for url in ("https://listed.test/", "http://listed.test/", "http://port.test:8080/", "https://a.test:8443/"):
        assert next_step(guard, step, 302, url) is not None
    assert next_step(guard, RedirectStep("GET", parse_url("http://a.test/")), 302, "https://a.test/") is not None


def test_the_same_host_is_judged_again() -> None:
    """A name that is public for the first request and private for the next is not followed there."""

    async def story() -> None:
        addresses = iter([["93.184.216.34"], ["127.0.0.1"]])
        guard = Guard(resolver=lambda host, port: next(addresses))
        http = Client(guard)
        guard.addresses(parse_url("http://a.test/"))
        step = next_step(guard, RedirectStep("GET", parse_url("http://a.test/")), 302, "http://a.test:81/")
        assert step is not None
        with pytest.raises(Forbidden):
            await http.send("GET", step.target)
        await http.aclose()

    run(story())


def test_a_confined_caller_stays_confined() -> None:
    async def story() -> None:
        async with running_site(redirecting({"/a": (302, "/b")})) as there, open_client() as http:  # type: ignore[arg-type]
            got = await follow(http, RedirectStep("GET", there.target("/a")), listed_only=True)
            assert await got.response.read(10) == b"end"

    run(story())


def test_rounds_end() -> None:
    async def story() -> Followed | None:
        steps = {f"/{n}": (302, f"/{n + 1}") for n in range(5)}
        async with running_site(redirecting(steps)) as there, open_client() as http:  # type: ignore[arg-type]
            got = await follow(http, RedirectStep("GET", there.target("/0")))
            assert got.redirects == 5 and await got.response.read(10) == b"end"
        async with running_site(redirecting({"/a": (302, "/a")})) as there, open_client() as http:  # type: ignore[arg-type]
            with pytest.raises(BrokenAnswer, match="more than 5 times"):
                await follow(http, RedirectStep("GET", there.target("/a")))
            assert len(there.asked) == 6 and http.count_requests(there.target()) == 0
        return None

    run(story())


def test_a_body_in_pieces_cannot_be_sent_on() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"once"

    async def story() -> None:
        async with running_site(redirecting({"/a": (307, "/b"), "/c": (303, "/d")})) as there, open_client() as http:  # type: ignore[arg-type]
            with pytest.raises(BadRequest, match="only once"):
                await follow(http, RedirectStep("POST", there.target("/a"), body=body()))
            got = await follow(http, RedirectStep("POST", there.target("/c"), body=body(), length=4))
            assert await got.response.read(10) == b"end"
            assert http.count_requests(there.target()) == 0

    run(story())


def test_every_failure_gives_its_place_back(authority: Authority) -> None:
    async def story() -> None:
        async with running_site(moved(302, "http://other.test/")) as there, open_client() as http:
            for _ in range(3):
                with pytest.raises(Forbidden):
                    await follow(http, RedirectStep("GET", there.target()))
            assert http.count_requests(there.target()) == 0
            await asyncio.sleep(0)

    run(story())
