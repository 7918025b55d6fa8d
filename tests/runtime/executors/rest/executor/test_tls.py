"""REST tools over TLS: the same requests, the same answers, and nothing for a host that is not who it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.tls import TlsContexts
from ferrule.infra.network.urls import Target, parse_url
from ferrule.runtime.executors.rest.executor import RestExecutor
from ferrule.testing import memory_app
from tests.infra.network.authority import Authority
from tests.infra.network.servers import FakeSite, SitePeer, running_site
from tests.runtime.executors.rest.server import BOUND
from tests.runtime.executors.rest.tools import ANY, context, definition


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


HOST = "files.test"


async def echo(there: FakeSite, peer: SitePeer) -> None:
    """Tells what it was asked; waits for ever where the path says so."""
    while (asked := await peer.read()) is not None:
        path, _, query = asked.path.partition("?")
        if path == "/wait":
            await peer.reader.read()
            return
        told = {"path": path, "query": query, "key": asked.header("x-api-key"), "body": asked.body.decode()}
        body, status = json.dumps(told).encode(), 503 if path == "/down" else 200
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        await peer.write(head.encode() + body)


@asynccontextmanager
async def echoing(authority: Authority) -> AsyncIterator[Target]:
    async with running_site(echo, authority.server(HOST)) as there:
        yield parse_url(f"https://{HOST}:{there.port}/")


@asynccontextmanager
async def trusting(authority: Authority) -> AsyncIterator[Client]:
    http = Client(Guard([HOST], lambda host, port: ["127.0.0.1"]), tls=TlsContexts(authority.tls()))
    try:
        yield http
    finally:
        await http.aclose()


@asynccontextmanager
async def prepared(client: Client, **tool: Any) -> AsyncIterator[Any]:
    """The runner of one tool, with a client of its own."""
    files = {"tools/the-tool.tool.md": definition(**tool)}
    async with memory_app(definitions=files, environment={"KEY": "s3same"}) as app:
        found = app.surface().surface.entries["the-tool"].tool
        transports: Any = app.find_executor(found)
        yield RestExecutor(replace(transports._services(), client=client)).prepare(found)


KEY = {"scheme": "api-key", "header": "X-Api-Key", "source": "env", "name": "KEY"}


def test_many_calls_at_once_get_their_own_answers(authority: Authority) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(BOUND),
            echoing(authority) as target,
            trusting(authority) as client,
            prepared(
                client, endpoint="POST /a/{id}?v=1", base_url=f"https://{HOST}:{target.port}", kind="action",
                takes={"id": ANY, "n": ANY}, credentials=KEY,
            ) as run,
        ):  # fmt: skip
            outputs = await asyncio.gather(*(run({"id": f"x/{n}", "n": n}, context()) for n in range(20)))
            for number, output in enumerate(outputs):
                assert (output.value["path"], output.value["query"]) == (f"/a/x%2F{number}", "v=1")
                assert json.loads(output.value["body"]) == {"n": number}
                assert output.value["key"] == "s3same"

    asyncio.run(main())


def test_a_call_that_is_canceled_leaves_the_others_alone(authority: Authority) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(BOUND),
            echoing(authority) as target,
            trusting(authority) as client,
            prepared(
                client, endpoint="GET /{path}", base_url=f"https://{HOST}:{target.port}", takes={"path": ANY}
            ) as run,
        ):
            await run({"path": "first"}, context())
            waiting = [asyncio.ensure_future(run({"path": "wait"}, context())) for _ in range(3)]
            await asyncio.sleep(0)
            late = run({"path": "wait"}, context(deadline=asyncio.get_running_loop().time() + 0.05))
            with pytest.raises(ExecutionFailed) as caught:
                await late
            assert caught.value.error_class == "timeout"
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert (await run({"path": "after"}, context())).value["path"] == "/after"
            with pytest.raises(ExecutionFailed) as caught:
                await run({"path": "down"}, context())
            assert caught.value.native_error_ref == "http:503"
            assert client.count_requests(target) == 0

    asyncio.run(main())


def test_a_host_that_is_not_who_it_says_gets_nothing(authority: Authority, tmp_path: Path) -> None:
    async def main() -> None:
        stranger = Authority(tmp_path)
        client = Client(Guard([HOST], lambda host, port: ["127.0.0.1"]), tls=TlsContexts(stranger.tls()))
        async with (
            asyncio.timeout(BOUND),
            echoing(authority) as target,
            prepared(client, endpoint="GET /x", base_url=f"https://{HOST}:{target.port}", credentials=KEY) as run,
        ):
            for refused in (run({}, context()), run.probe(context())):
                with pytest.raises(ExecutionFailed) as caught:
                    await refused
                assert caught.value.error_class == "dependency_unavailable"
                assert "s3same" not in caught.value.message
            await client.aclose()

    asyncio.run(main())
