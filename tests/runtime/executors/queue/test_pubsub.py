"""Pub/Sub over REST, against a small one of our own."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.infra.clouds.far import far
from tests.infra.clouds.google import google
from tests.runtime.executors.queue.pubsub import REPLIES, SUBSCRIPTION, TOPIC, PubSubServer
from tests.runtime.executors.queue.tools import account, calling, ended, eventually, parked, probed, queue_tool, run
from tests.spec.running_app import run_async


class Here:
    """A Pub/Sub and what a tool needs to reach it."""

    def __init__(self, server: PubSubServer, url: str, key: dict[str, str]) -> None:
        self.server = server
        self.url = url
        self.env = {"ACCOUNT": json.dumps({**key, "token_uri": key["token_uri"]})}

    def tool(self, name: str = "ask", **said: Any) -> str:
        said.setdefault("response_queue_url", SUBSCRIPTION)
        return queue_tool(name, "gcp", TOPIC, credentials=account(), **{"x-endpoint": self.url, **said})

    def reply(self, value: Any, **attributes: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.server.reply(base64.b64encode(data).decode(), **attributes)


@pytest.fixture
def here() -> Iterator[Here]:
    with google() as identity:
        server = PubSubServer(identity)
        with far(server.answer) as listening:
            yield Here(server, listening.url, identity.account())


@run_async
async def test_a_message_is_published_with_its_correlation_and_where_to_reply(here: Here) -> None:
    async with calling(here.tool(**{"x-group-by": "group"}), env=here.env) as app:
        waiting = await parked(app, "ask", {"text": "hello", "group": "bern"})
        (message,) = here.server.published
        assert json.loads(base64.b64decode(message["data"])) == {"text": "hello", "group": "bern"}
        assert message["attributes"]["correlation_id"] == waiting.invocation_id
        assert message["attributes"]["reply_to"] == REPLIES  # a topic: nobody publishes to a subscription
        assert message["orderingKey"] == "bern"
        here.reply({"text": "done"}, correlation_id=waiting.invocation_id)
        here.reply({"text": "twice"}, correlation_id=waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "done"}
        await eventually(lambda: here.server.left() == 0)


@run_async
async def test_without_a_subscription_it_is_an_acknowledgement(here: Here) -> None:
    tool = queue_tool("fire", "gcp", TOPIC, credentials=account(), **{"x-endpoint": here.url})
    async with calling(tool, env=here.env) as app:
        result = await run(app, "fire")
        accepted: Any = result.structured_content
        assert accepted["status"] == "accepted"
        assert accepted["message_id"]
        assert "reply_to" not in here.server.published[0]["attributes"]


@run_async
async def test_a_reply_that_belongs_to_nobody_is_left_a_few_times_and_then_set_aside(
    here: Here, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ferrule.app.replies._BEFORE_PARKED", 0.05)
        async with calling(here.tool(), env=here.env, aside=tmp_path) as app:
            await parked(app, "ask")
            here.reply({"text": "?"}, correlation_id="inv_nobody")
            await eventually(lambda: here.server.left() == 0)
    (file,) = tmp_path.glob("*.json")
    assert "no call here waits" in json.loads(file.read_text())["reason"]


@run_async
async def test_a_topic_cannot_be_read_from(here: Here) -> None:
    async with calling(here.tool(response_queue_url=REPLIES), env=here.env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("setup_required", "reply_subscription")
        assert "projects/PROJECT/subscriptions/NAME" in result.error.message


@run_async
async def test_throttling_and_its_wait(here: Here) -> None:
    here.server.status = 429
    async with calling(here.tool(), env=here.env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.retry_after) == ("rate_limited", 3.0)
        assert result.error.native_error_ref == "gcp:RESOURCE_EXHAUSTED"


@run_async
async def test_a_token_is_shown_only_to_google_or_a_listed_host(here: Here) -> None:
    tool = here.tool(**{"x-endpoint": "https://pubsub.example.com"})
    async with calling(tool, env=here.env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")


@run_async
async def test_an_emulator_is_used_where_the_environment_says_so(here: Here) -> None:
    here.server._google.tokens[""] = {"scope": "pubsub"}  # an emulator asks for no token
    env = {**here.env, "PUBSUB_EMULATOR_HOST": here.url.removeprefix("http://")}
    tool = queue_tool("fire", "gcp", f"https://pubsub.googleapis.com/v1/{TOPIC}", credentials=account())
    async with calling(tool, env=env) as app:
        assert (await run(app, "fire")).status == "succeeded"
        assert TOPIC in await probed(app, "fire")
