"""The fake upstream of `rest-api`: an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream, aml
from tests.runtime.executors.rest.server import Seen, Wire, answer, json_answer, serving, settings

_BEARER = "credentials: {scheme: bearer-token, source: env, name: %s}"
_NONE = "credentials: {scheme: none}"


class _Behind:
    """What the server remembers."""

    def __init__(self) -> None:
        self.touched = 0
        self.begun = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.failed: set[str] = set()

    async def __call__(self, seen: Seen, wire: Wire) -> bytes | None:
        if seen.method == "HEAD":
            return answer(404)
        self.touched += 1
        text = json.loads(seen.body).get("text", "") if seen.body else ""
        match seen.segments[-1]:
            case "slow":
                self.begun.set()
                await wire.reader.read()  # until whoever asked hangs up
                self.hung_up.set()
                return None
            case "fails":
                return json_answer({"title": f"no, {CANARY}"}, 409)
            case "refused":
                return json_answer({"told": seen.headers.get("authorization")}, 401)
            case "big":
                return json_answer({"text": "x" * 1_100_000, "last": "the end of it"})
            case "empty":
                return answer(204)
            case "flaky" if text not in self.failed:
                self.failed.add(text)
                return answer(503)
        self.failed.discard(text)
        return json_answer({"text": text}, headers={"X-Request-Id": "req-1"})


@asynccontextmanager
async def running_upstream() -> AsyncIterator[FakeUpstream]:
    behind = _Behind()
    async with serving(behind) as server, serving(b"") as closed:
        gone = closed.url
        await closed.aclose()

        def made(name: Behaviour, credentials: str = _NONE, url: str = server.url) -> str:
            lines = (
                "type: rest-api",
                f"base_url: {url}",
                f"endpoint: POST /{name}",
                "retry_policy: {backoff_ms: 1}",
                credentials,
            )
            return aml(name, "\n".join(f"  {line}" for line in lines))

        async def begun() -> None:
            await asyncio.wait_for(behind.begun.wait(), 10)

        async def stopped() -> bool:
            await asyncio.wait_for(behind.hung_up.wait(), 10)
            return True

        yield FakeUpstream(
            definitions={
                "echo": made("echo"),
                "slow": made("slow"),
                "fails": made("fails"),
                "big": made("big"),
                "empty": made("empty"),
                "refused": made("refused", _BEARER % "REFUSED"),
                "unset": made("unset", _BEARER % "NEVER_SET"),
                "gone": made("gone", url=gone),
                "flaky": made("flaky"),
            },
            settings=settings(),
            environment={"REFUSED": CANARY},
            touched=lambda: behind.touched,
            begun=begun,
            stopped=stopped,
            without={"steps": "HTTP has no way to tell of progress before the answer"},
        )
