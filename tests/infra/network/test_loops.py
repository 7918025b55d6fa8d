"""The client in another event loop than asyncio's own: a server runs in uvloop, and its tools call others from there."""

from __future__ import annotations

import uvloop

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.tls import TlsContexts
from tests.infra.clouds.far import Reply, far
from tests.infra.network.authority import Authority
from tests.infra.network.servers import ok, open_client, running_site


def test_requests_go_out_and_connections_are_kept() -> None:
    with far(lambda asked: Reply(200, asked.body * 2)) as remote:

        async def story() -> list[bytes]:
            client = Client(Guard(("127.0.0.1",)))
            found = [await client.fetch("POST", remote.url, (), word) for word in (b"one", b"two", b"x" * 100_000)]
            await client.aclose()
            return [one.body for one in found]

        assert uvloop.run(story()) == [b"oneone", b"twotwo", b"x" * 200_000]


def test_encrypted_ones_too(authority: Authority) -> None:
    async def story() -> list[int]:
        async with (
            running_site(ok(), authority.server("127.0.0.1")) as there,
            open_client(tls=TlsContexts(authority.tls())) as http,
        ):
            url = f"https://127.0.0.1:{there.port}/"
            found = [(await http.fetch("POST", url, body=b"x" * 100_000)).status for _ in range(2)]
            assert there.connections == 1
            return found

    assert uvloop.run(story()) == [200, 200]
