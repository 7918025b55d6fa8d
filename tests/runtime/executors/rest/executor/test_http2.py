"""REST tools over TLS and HTTP/2, against a real server: the same requests, the same answers."""

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
from ferrule.runtime.executors.rest.executor import RestExecutor
from ferrule.testing import memory_app
from tests.infra.network.authority import Authority
from tests.infra.network.http2_servers import HOST, h2_client, hypercorn_site
from tests.runtime.executors.rest.server import BOUND
from tests.runtime.executors.rest.tools import ANY, context, definition


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Tells what it was asked; waits for ever where the path says so."""
    if scope["type"] != "http":
        return
    message = await receive()
    if scope["path"] == "/wait":
        while message["type"] != "http.disconnect":
            message = await receive()
        return
    told = {
        "version": scope["http_version"],
        "path": scope["raw_path"].decode(),
        "query": scope["query_string"].decode(),
        "key": next((value.decode() for name, value in scope["headers"] if name == b"x-api-key"), None),
        "body": message.get("body", b"").decode(),
    }
    status = 503 if scope["path"] == "/down" else 200
    headers = [(b"content-type", b"application/json"), (b"x-request-id", b"r")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


@asynccontextmanager
async def prepared(client: Client, **tool: Any) -> AsyncIterator[Any]:
    """The runner of one tool, with a client of its own."""
    files = {"tools/the-tool.tool.md": definition(**tool)}
    async with memory_app(definitions=files, environment={"KEY": "s3same"}) as app:
        found = app.surface().surface.entries["the-tool"].tool
        transports: Any = app.executor_of(found)
        yield RestExecutor(replace(transports._surroundings(), client=client)).prepare(found)


KEY = {"scheme": "api-key", "header": "X-Api-Key", "source": "env", "name": "KEY"}


def test_many_calls_share_one_http2_connection(authority: Authority) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(BOUND),
            hypercorn_site(echo, authority) as target,
            h2_client(authority) as client,
            prepared(
                client, endpoint="POST /a/{id}?v=1", base_url=f"https://{HOST}:{target.port}", kind="action",
                takes={"id": ANY, "n": ANY}, credentials=KEY,
            ) as run,
        ):  # fmt: skip
            outputs = await asyncio.gather(*(run({"id": f"x/{n}", "n": n}, context()) for n in range(20)))
            for number, output in enumerate(outputs):
                assert output.value["version"] == "2"
                assert (output.value["path"], output.value["query"]) == (f"/a/x%2F{number}", "v=1")
                assert json.loads(output.value["body"]) == {"n": number}
                assert output.value["key"] == "s3same"

    asyncio.run(main())


def test_a_call_that_is_canceled_leaves_the_others_alone(authority: Authority) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(BOUND),
            hypercorn_site(echo, authority) as target,
            h2_client(authority) as client,
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
            assert client.in_use(target) == 0

    asyncio.run(main())


def test_a_host_that_is_not_who_it_says_gets_nothing(authority: Authority, tmp_path: Path) -> None:
    async def main() -> None:
        stranger = Authority(tmp_path)
        client = Client(Guard([HOST], lambda host, port: ["127.0.0.1"]), tls=stranger.tls())
        async with (
            asyncio.timeout(BOUND),
            hypercorn_site(echo, authority) as target,
            prepared(client, endpoint="GET /x", base_url=f"https://{HOST}:{target.port}", credentials=KEY) as run,
        ):
            for refused in (run({}, context()), run.probe(context())):
                with pytest.raises(ExecutionFailed) as caught:
                    await refused
                assert caught.value.error_class == "dependency_unavailable"
                assert "s3same" not in caught.value.message
            await client.aclose()

    asyncio.run(main())
