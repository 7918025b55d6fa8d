"""Google Cloud Pub/Sub over its REST interface: publish to a topic, pull replies from a subscription."""

from __future__ import annotations

import base64
import binascii
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import json_object, reach, status_failure
from ferrule.infra.clouds.gcp import Gcp
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.runtime.executors.identity import Identity, demand_trusted
from ferrule.runtime.executors.queue.channel import Arrived, Message
from ferrule.runtime.executors.surroundings import Surroundings
from ferrule.runtime.executors.waits import seconds_left

MAX_BYTES = 10 * 1000**2 - 64 * 1024
"""Google's ten million bytes, less what stands beside the body."""
_API = "https://pubsub.googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/pubsub"
_TOPIC = re.compile(r"projects/[A-Za-z0-9:._-]+/topics/[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_SUBSCRIPTION = re.compile(r"projects/[A-Za-z0-9:._-]+/subscriptions/[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_BEFORE = re.compile(r"(?:https://pubsub\.googleapis\.com/(?:v1/)?|//pubsub\.googleapis\.com/)")
_PULL_SECONDS = 90.0
_LEFT_SECONDS = 10
_ANSWER_BYTES = 64 * 1024**2
_COUNTED = 10_000


def topic_name(written: str, tool_id: str) -> str:
    """The topic that messages go to. Raises ExecutionFailed (`setup_required`)."""
    name = _BEFORE.sub("", written, count=1)
    if _TOPIC.fullmatch(name):
        return name
    raise ExecutionFailed(
        "setup_required", f"the queue of {tool_id!r} has to be a topic like projects/PROJECT/topics/NAME"
    )


def subscription_name(written: str, tool_id: str) -> str:
    """The subscription that replies come from. Raises ExecutionFailed (`setup_required`)."""
    name = _BEFORE.sub("", written, count=1)
    if _SUBSCRIPTION.fullmatch(name):
        return name
    wanted = "a subscription like projects/PROJECT/subscriptions/NAME"
    why = "a topic cannot be read from; make a subscription of it" if _TOPIC.fullmatch(name) else "it is none"
    raise ExecutionFailed(
        "setup_required", f"the response_queue_url of {tool_id!r} has to be {wanted}: {why}", code="reply_subscription"
    )


class PubSub:
    """One topic to send to, and one subscription to receive from; either may be missing."""

    max_bytes = MAX_BYTES
    is_repeatable = False

    def __init__(
        self,
        around: Surroundings,
        gcp: Gcp,
        identity: Identity,
        tool_id: str,
        *,
        topic: str = "",
        subscription: str = "",
        endpoint: str = "",
    ) -> None:
        emulator = around.env.get("PUBSUB_EMULATOR_HOST", "")
        self._api = (endpoint or (f"http://{emulator}" if emulator else _API)).rstrip("/")
        try:
            parse_url(self._api)
        except BadUrl as error:
            raise ExecutionFailed("setup_required", f"x-endpoint of {tool_id!r} cannot be used: {error}") from None
        self._is_open = bool(emulator) and not endpoint
        """An emulator asks for no token."""
        self._client = around.client
        self._guard = around.guard
        self._gcp = gcp
        self._identity = identity
        self._topic = topic
        self._subscription = subscription
        self._reply_topic = ""
        self._what = f"the queue of {tool_id!r}"
        self._counts: OrderedDict[str, int] = OrderedDict()
        self.host = f"pubsub {topic or subscription}"

    async def send(self, message: Message, context: Context) -> dict[str, Any]:
        """Publish. Whoever replies needs a topic, so the one of our subscription is told."""
        reply_to = await self._topic_of_replies(context) if message.wants_reply else ""
        written: dict[str, Any] = {
            "data": base64.b64encode(message.body).decode(),
            "attributes": message.attributes(reply_to),
        }
        if message.group:
            written["orderingKey"] = message.group
        said = await self._ask("POST", f"{self._topic}:publish", {"messages": [written]}, context)
        ids = said.get("messageIds")
        return {
            "source": "gcp_pubsub",
            "message_id": ids[0] if isinstance(ids, list) and ids else "",
            "topic": self._topic,
        }

    async def probe(self, context: Context) -> str:
        """The topic's record, and the subscription's."""
        await self._ask("GET", self._topic, None, context)
        if self._subscription:
            await self._topic_of_replies(context)
        return f"the topic {self._topic} answers"

    async def arrivals(self) -> AsyncGenerator[Arrived, None]:
        """Pulls, one after the other; each waits at Google until something is there."""
        context = Context("replies", "ferrule", None, "", run_id=f"replies {self._subscription}")
        while True:
            said = await self._ask(
                "POST", f"{self._subscription}:pull", {"maxMessages": 20}, context, timeout_seconds=_PULL_SECONDS
            )
            messages = said.get("receivedMessages")
            for found in messages if isinstance(messages, list) else ():
                if isinstance(found, dict):
                    yield self._arrived(found, context)

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _topic_of_replies(self, context: Context) -> str:
        if not self._reply_topic:
            said = await self._ask("GET", self._subscription, None, context)
            self._reply_topic = str(said.get("topic") or "")
        return self._reply_topic

    def _arrived(self, found: dict[str, Any], context: Context) -> Arrived:
        message = found.get("message")
        message = message if isinstance(message, dict) else {}
        said = message.get("attributes")
        ack, message_id = str(found.get("ackId", "")), str(message.get("messageId", ""))
        return Arrived(
            body=_data(message.get("data")),
            attributes={name: str(value) for name, value in said.items()} if isinstance(said, dict) else {},
            deliveries=self._counted(message_id, found.get("deliveryAttempt")),
            facts={"source": "gcp_pubsub", "message_id": message_id},
            done=partial(self._settled, "acknowledge", {"ackIds": [ack]}, context),
            leave=partial(
                self._settled, "modifyAckDeadline", {"ackIds": [ack], "ackDeadlineSeconds": _LEFT_SECONDS}, context
            ),
        )

    def _counted(self, message_id: str, told: Any) -> int:
        """Google counts only where a dead-letter topic is set; elsewhere this process does."""
        if isinstance(told, int) and told > 0:
            return told
        count = self._counts[message_id] = self._counts.pop(message_id, 0) + 1
        while len(self._counts) > _COUNTED:
            self._counts.popitem(last=False)
        return count

    async def _settled(self, action: str, body: dict[str, Any], context: Context) -> None:
        await self._ask("POST", f"{self._subscription}:{action}", body, context)

    async def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        context: Context,
        *,
        timeout_seconds: float | None = None,
    ) -> dict[str, Any]:
        headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
        if not self._is_open:
            demand_trusted(self._guard, parse_url(self._api), self._what, (".googleapis.com",))
            account = await self._identity.gcp_account(context)
            headers.append(("Authorization", f"Bearer {await self._gcp.access_token(account, (_SCOPE,))}"))
        answer = await reach(
            self._client,
            self._what,
            method,
            f"{self._api}/v1/{path}",
            headers,
            b"" if body is None else msgspec.json.encode(body),
            timeout_seconds=timeout_seconds or seconds_left(context, 30.0),
            listed_only=context.is_confined,
            max_bytes=_ANSWER_BYTES,
        )
        if answer.status == 200:
            return json_object(answer.body)
        error = json_object(answer.body).get("error")
        status = str(error.get("status") or "") if isinstance(error, dict) else ""
        failed = status_failure(
            f"{self._what}: Pub/Sub answered with status {answer.status}",
            answer,
            reference=f"gcp:{status}" if status.isidentifier() else "",
        )
        raise self._identity.told(failed, context, self._gcp)


def _data(text: Any) -> bytes:
    try:
        return base64.b64decode(text if isinstance(text, str) else "", validate=True)
    except (binascii.Error, ValueError):
        return str(text).encode()
