"""Queues of a storage account, against Azurite."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.executors.queue.storage_queue import _messages, _signature
from tests.runtime.executors.queue.azurite import ACCOUNT, KEY, azurite
from tests.runtime.executors.queue.tools import (
    account,
    calling,
    direct,
    ended,
    eventually,
    parked,
    probed,
    queue_tool,
    run,
)
from tests.spec.running_app import run_async

DATE = "Mon, 16 Nov 2026 06:00:00 GMT"


class Here:
    """An emulator with two queues."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.env = {"ACCOUNT": json.dumps({"account_name": ACCOUNT, "account_key": KEY})}
        for name in ("jobs", "replies"):
            self._ask("PUT", f"/{name}")

    def tool(self, **said: Any) -> str:
        said = {"x-service": "storage-queue", "credentials": account(), **said}
        return queue_tool("ask", "azure", f"{self.url}/jobs", **said)

    def asking(self, **said: Any) -> str:
        return self.tool(response_queue_url=f"{self.url}/replies", **said)

    def sent(self) -> list[bytes]:
        """The messages of `jobs`, which stay there."""
        return [base64.b64decode(found["MessageText"]) for found in self._peeked("jobs")]

    def left(self) -> int:
        answer = self._ask("GET", "/replies", "comp=metadata")
        return int(answer.headers["x-ms-approximate-messages-count"])

    def reply(self, value: Any) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        text = base64.b64encode(body).decode()
        self._ask(
            "POST", "/replies/messages", "", f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()
        )

    def _peeked(self, name: str) -> list[dict[str, str]]:
        return _messages(self._ask("GET", f"/{name}/messages", "peekonly=true&numofmessages=32").read())

    def _ask(self, method: str, below: str, query: str = "", body: bytes = b"") -> Any:
        headers = [("x-ms-date", DATE), ("x-ms-version", "2021-12-02")]
        if body:
            headers.append(("Content-Type", "application/xml"))
        signed = _signature(ACCOUNT, KEY, method, f"/{ACCOUNT}{below}", query, headers, body)
        url = f"{self.url}{below}" + (f"?{query}" if query else "")
        request = Request(url, body or None, {**dict(headers), "Authorization": signed}, method=method)
        return urlopen(request, timeout=10)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with azurite(tmp_path_factory.mktemp("azurite")) as url:
        yield url


@pytest.fixture
def here(emulator: str) -> Here:
    made = Here(emulator)
    for name in ("jobs", "replies"):
        made._ask("DELETE", f"/{name}/messages")
    return made


@run_async
async def test_a_message_without_a_reply_is_the_input_itself(here: Here) -> None:
    async with calling(here.tool(), env=here.env) as app:
        result = await run(app, "ask", {"text": "hello"})
        assert result.error is None
        assert [json.loads(body) for body in here.sent()] == [{"text": "hello"}]
        accepted: Any = result.structured_content
        assert accepted["status"] == "accepted"
        assert accepted["message_id"]


@run_async
async def test_a_message_in_an_envelope_and_its_reply(here: Here) -> None:
    async with calling(here.asking(), env=here.env) as app:
        waiting = await parked(app, "ask", {"text": "hello"})
        (sent,) = map(json.loads, here.sent())
        assert sent["correlation_id"] == waiting.invocation_id
        assert sent["reply_to"] == f"{here.url}/replies"
        assert sent["payload"] == {"text": "hello"}
        here.reply({"correlation_id": sent["correlation_id"], "result": {"text": "done"}})
        here.reply({"correlation_id": sent["correlation_id"], "result": {"text": "twice"}})
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "done"}
        await eventually(lambda: here.left() == 0)


@run_async
async def test_poison_is_set_aside(here: Here, tmp_path: Path) -> None:
    async with calling(here.asking(), env=here.env, aside=tmp_path) as app:
        await parked(app, "ask")
        here.reply(b"\xff\xff")
        await eventually(lambda: here.left() == 0)
    (file,) = tmp_path.glob("*.json")
    assert "names no call" in json.loads(file.read_text())["reason"]


@run_async
async def test_a_wrong_key_is_told_and_not_shown(here: Here) -> None:
    wrong = base64.b64encode(b"wrong-canary-5").decode()
    env = {"ACCOUNT": json.dumps({"account_name": ACCOUNT, "account_key": wrong})}
    async with calling(here.tool(), env=env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
        assert wrong not in str(result)


@run_async
async def test_a_queue_that_is_not_there(here: Here) -> None:
    tool = queue_tool("ask", "azure", f"{here.url}/nowhere", credentials=account(), **{"x-service": "storage-queue"})
    async with calling(tool, env=here.env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.native_error_ref) == ("execution_failed", "azure:QueueNotFound")


@run_async
async def test_a_message_that_is_too_large_is_refused_before_it_is_sent(here: Here) -> None:
    async with calling(here.tool(), env=here.env) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "ask", {"text": "x" * 49_200})
        assert (caught.value.error_class, caught.value.code) == ("invalid_arguments", "message_too_large")
        assert not here.sent()


@run_async
async def test_a_probe(here: Here) -> None:
    async with calling(here.tool(), env=here.env) as app:
        assert "jobs" in await probed(app, "ask")
        assert not here.sent()
