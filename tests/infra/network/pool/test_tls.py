"""TLS goes by the host of the address that was asked for, whatever it resolves to; what does not prove it is not talked to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.request import Unreachable
from ferrule.infra.network.tls import TlsContexts
from tests.infra.network.authority import Authority
from tests.infra.network.servers import FakeSite, SitePeer, ok, run, running_site

HOSTS = ["files.test", "other.test", "127.0.0.1"]


@asynccontextmanager
async def trusting(tls: ssl.SSLContext | None) -> AsyncIterator[Client]:
    http = Client(Guard(HOSTS, lambda host, port: ["127.0.0.1"]), tls=TlsContexts(tls))
    try:
        yield http
    finally:
        await http.aclose()


def test_names_and_addresses_are_proven_and_connections_kept(authority: Authority) -> None:
    async def story() -> None:
        asked: list[str | None] = []
        tls = authority.server("files.test", "127.0.0.1")
        tls.sni_callback = lambda sock, name, context: asked.append(name)
        async with running_site(ok(), tls) as there, trusting(authority.tls()) as http:
            for host in ("files.test", "FILES.test.", "127.0.0.1", "files.test"):
                assert (await http.fetch("GET", f"https://{host}:{there.port}/")).body == b"hello"
            assert (await http.fetch("POST", f"https://files.test:{there.port}/", body=b"x" * 300_000)).body == b"hello"
            assert there.connections == 2 and asked[0] == "files.test"

    run(story())


def test_a_server_that_prefers_another_version_is_spoken_to_in_http1(authority: Authority) -> None:
    async def story() -> None:
        agreed: list[str | None] = []

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            agreed.append(peer.writer.get_extra_info("ssl_object").selected_alpn_protocol())
            while await peer.read() is not None:
                await peer.write(ok())

        tls = authority.server("files.test", protocols=("h2", "http/1.1"))
        async with running_site(answer, tls) as there, trusting(authority.tls()) as http:
            assert (await http.fetch("GET", f"https://files.test:{there.port}/")).body == b"hello"
        assert agreed == ["http/1.1"]

    run(story())


@pytest.mark.parametrize(
    ("names", "days", "is_trusted", "words"),
    [(("files.test",), 1, True, r"other\.test did not prove who it is: .*not valid for 'other\.test'"),
     (("other.test",), -1, True, "did not prove who it is: certificate has expired"),
     (("other.test",), 1, False, "did not prove who it is: .*issuer.*SSL_CERT_FILE")],
)  # fmt: skip
def test_what_is_wrong_with_a_certificate_is_said(
    authority: Authority, names: tuple[str, ...], days: int, is_trusted: bool, words: str
) -> None:
    async def story() -> None:
        tls = authority.tls() if is_trusted else None
        async with running_site(ok(), authority.server(*names, days=days)) as there, trusting(tls) as http:
            url = f"https://other.test:{there.port}/"
            with pytest.raises(Unreachable, match=words) as caught:
                await http.fetch("POST", url, body=b"secret")
            assert not caught.value.is_sent and not there.asked
            results = await asyncio.gather(*(http.fetch("GET", url) for _ in range(5)), return_exceptions=True)
            assert all(isinstance(result, Unreachable) for result in results)
            assert all(host.free == host.places for host in http._hosts.values())

    run(story())


def test_a_server_without_tls_is_said_to_have_none(authority: Authority) -> None:
    async def story() -> None:
        async def plain(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.read(10)
            await peer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        async with running_site(plain) as there, trusting(authority.tls()) as http:
            with pytest.raises(Unreachable, match=r"files\.test could not be reached: TLS failed"):
                await http.fetch("GET", f"https://files.test:{there.port}/")

    run(story())


def test_a_handshake_that_does_not_end_is_given_up(authority: Authority) -> None:
    async def story() -> None:
        async def silent(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.read()

        async with running_site(silent) as there:
            http = Client(Guard(["127.0.0.1"]), tls=TlsContexts(authority.tls()), connect_seconds=0.2)
            url = f"https://127.0.0.1:{there.port}/"
            with pytest.raises(Unreachable, match="no answer within"):
                await http.fetch("GET", url, timeout_seconds=None)
            task = asyncio.create_task(http.fetch("GET", url))
            others = [asyncio.create_task(http.fetch("GET", url)) for _ in range(3)]
            await asyncio.sleep(0.02)
            task.cancel()
            others[0].cancel()
            results = await asyncio.gather(task, *others, return_exceptions=True)
            assert [type(result) for result in results] == [asyncio.CancelledError] * 2 + [Unreachable] * 2
            assert all(host.free == host.places for host in http._hosts.values())
            await http.aclose()

    run(story())


def test_a_body_that_ends_with_the_connection_is_read_over_tls(authority: Authority) -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 500_000)
            peer.writer.close()
            await peer.writer.wait_closed()

        async with running_site(answer, authority.server("files.test")) as there, trusting(authority.tls()) as http:
            for _ in range(2):
                assert len((await http.fetch("GET", f"https://files.test:{there.port}/")).body) == 500_000

    run(story())
