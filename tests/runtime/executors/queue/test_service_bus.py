"""Service Bus over REST, against a small one of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.infra.clouds.far import far
from tests.infra.clouds.microsoft import Azure, microsoft
from tests.runtime.executors.queue.service_bus import ServiceBusServer
from tests.runtime.executors.queue.tools import account, calling, ended, eventually, parked, probed, queue_tool, run
from tests.spec.running_app import run_async


class Here:
    def __init__(self, server: ServiceBusServer, url: str, azure: Azure) -> None:
        self.server = server
        self.url = url
        self.env = {"ACCOUNT": json.dumps(azure.account()), "AZURE_AUTHORITY_HOST": azure.url}

    def tool(self, **said: Any) -> str:
        said = {"response_queue_url": f"{self.url}/replies", "credentials": account(), **said}
        return queue_tool("ask", "azure", f"{self.url}/jobs", **{name: value for name, value in said.items() if value})


@pytest.fixture
def here() -> Iterator[Here]:
    with microsoft() as azure:
        server = ServiceBusServer(azure)
        with far(server.answer) as listening:
            yield Here(server, listening.url, azure)


@run_async
async def test_a_message_and_its_reply(here: Here) -> None:
    async with calling(here.tool(**{"x-group-by": "group"}), env=here.env) as app:
        waiting = await parked(app, "ask", {"text": "hello", "group": "genève"})
        (sent,) = here.server.sent
        properties = json.loads(sent.headers["brokerproperties"])
        assert properties["CorrelationId"] == waiting.invocation_id
        assert properties["ReplyTo"] == f"{here.url}/replies"
        assert properties["SessionId"] == "genève"
        assert json.loads(sent.body)["text"] == "hello"
        here.server.reply(b'{"text": "done"}', waiting.invocation_id)
        here.server.reply(b'{"text": "twice"}', waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "done"}
        await eventually(lambda: here.server.left() == 0)
        assert len(here.server.completed) == 2


@run_async
async def test_poison_and_what_belongs_to_nobody_are_set_aside(here: Here, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ferrule.app.replies._BEFORE_PARKED", 0.05)
        async with calling(here.tool(), env=here.env, aside=tmp_path) as app:
            waiting = await parked(app, "ask")
            here.server.reply(b"<xml/>", waiting.invocation_id)
            here.server.reply(b"{}", "inv_nobody")
            await eventually(lambda: here.server.left() == 0)
    reasons = sorted(json.loads(file.read_text())["reason"] for file in tmp_path.glob("*.json"))
    assert len(reasons) == 2
    assert "no JSON" in reasons[0]
    assert "no call here waits" in reasons[1]


@run_async
async def test_a_reply_in_which_a_property_says_error(here: Here) -> None:
    async with calling(here.tool(), env=here.env) as app:
        waiting = await parked(app, "ask")
        here.server.reply(b'{"message": "it broke"}', waiting.invocation_id, status='"error"')
        result = await ended(app, waiting.invocation_id)
        assert result.error is not None
        assert result.error.error_code == "reply_error"


@run_async
async def test_a_shared_access_key_of_the_namespace(here: Here) -> None:
    env = {"ACCOUNT": json.dumps({"shared_access_key_name": "sender", "shared_access_key": "key-canary-9"})}
    async with calling(here.tool(response_queue_url=""), env=env) as app:
        result = await run(app, "ask")
        assert result.status == "succeeded"
        shown = here.server.sent[0].headers["authorization"]
        assert "skn=sender" in shown
        assert "key-canary-9" not in shown


@run_async
async def test_a_secret_that_azure_does_not_know(here: Here) -> None:
    wrong = {**json.loads(here.env["ACCOUNT"]), "client_secret": "wrong-canary-3"}
    async with calling(here.tool(), env={**here.env, "ACCOUNT": json.dumps(wrong)}) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
        assert "wrong-canary-3" not in str(result)


@run_async
async def test_a_token_is_shown_only_to_azure_or_a_listed_host(here: Here) -> None:
    tool = queue_tool("ask", "azure", "https://bus.example.com/jobs", credentials=account())
    async with calling(tool, env=here.env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_code == "address_forbidden"


@run_async
async def test_a_probe(here: Here) -> None:
    async with calling(here.tool(), env=here.env) as app:
        assert "jobs" in await probed(app, "ask")
        assert not here.server.sent
