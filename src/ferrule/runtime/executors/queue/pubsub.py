"""Google Cloud Pub/Sub over its REST API: publishes to a topic, pulls replies from a subscription."""

from __future__ import annotations

import base64
import binascii
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator
from functools import partial

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import reach, read_json_object, status_failure
from ferrule.infra.clouds.gcp import Gcp
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from ferrule.runtime.executors.queue.channel import QueueMessage, ReceivedMessage
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.executors.waits import seconds_left

MAX_BYTES = 10 * 1000**2 - 64 * 1024
"""Google's limit of ten million bytes, less room for attributes."""
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
    """Reads the name of the topic to send to. Raises ExecutionFailed (`setup_required`)."""
    name = _BEFORE.sub("", written, count=1)
    if _TOPIC.fullmatch(name):
        return name
    raise ExecutionFailed(
        "setup_required", f"the queue of {tool_id!r} has to be a topic like projects/PROJECT/topics/NAME"
    )


def subscription_name(written: str, tool_id: str) -> str:
    """Reads the name of the subscription for replies. Raises ExecutionFailed (`setup_required`)."""
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
        services: TransportServices,
        gcp: Gcp,
        identity: CloudIdentity,
        tool_id: str,
        *,
        topic: str = "",
        subscription: str = "",
        endpoint: str = "",
    ) -> None:
        emulator = services.env.get("PUBSUB_EMULATOR_HOST", "")
        self._api = (endpoint or (f"http://{emulator}" if emulator else _API)).rstrip("/")
        try:
            parse_url(self._api)
        except BadUrl as error:
            raise ExecutionFailed("setup_required", f"x-endpoint of {tool_id!r} cannot be used: {error}") from None
        # Only the environment can say that no token is needed, and never a definition.
        self._is_open = bool(emulator) and not endpoint
        """True for an emulator, which needs no token."""
        self._client = services.client
        self._guard = services.guard
        self._gcp = gcp
        self._identity = identity
        self._topic = topic
        self._subscription = subscription
        self._reply_topic = ""
        self._what = f"the queue of {tool_id!r}"
        self._counts: OrderedDict[str, int] = OrderedDict()
        self.host = f"pubsub {topic or subscription}"

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Publishes a message. A replier needs a topic, so `reply_to` is the topic of our subscription."""
        reply_to = await self._topic_of_replies(context) if message.wants_reply else ""
        written: JsonObject = {
            "data": base64.b64encode(message.body).decode(),
            "attributes": message.attributes(reply_to),
        }
        if message.group:
            written["orderingKey"] = message.group
        answer = await self._request("POST", f"{self._topic}:publish", {"messages": [written]}, context)
        ids = answer.get("messageIds")
        return {
            "source": "gcp_pubsub",
            "message_id": ids[0] if isinstance(ids, list) and ids else "",
            "topic": self._topic,
        }

    async def probe(self, context: Context) -> str:
        """Reads the topic and the subscription."""
        await self._request("GET", self._topic, None, context)
        if self._subscription:
            await self._topic_of_replies(context)
        return f"the topic {self._topic} answers"

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Pulls messages; each request waits at Google until one arrives."""
        context = Context("replies", "ferrule", None, "", run_id=f"replies {self._subscription}")
        while True:
            answer = await self._request(
                "POST", f"{self._subscription}:pull", {"maxMessages": 20}, context, timeout_seconds=_PULL_SECONDS
            )
            messages = answer.get("receivedMessages")
            for found in messages if isinstance(messages, list) else ():
                if isinstance(found, dict):
                    yield self._read_message(found, context)

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""

    async def _topic_of_replies(self, context: Context) -> str:
        if not self._reply_topic:
            answer = await self._request("GET", self._subscription, None, context)
            self._reply_topic = str(answer.get("topic") or "")
        return self._reply_topic

    def _read_message(self, found: JsonObject, context: Context) -> ReceivedMessage:
        message = found.get("message")
        message = message if isinstance(message, dict) else {}
        attributes = message.get("attributes")
        ack, message_id = str(found.get("ackId", "")), str(message.get("messageId", ""))
        return ReceivedMessage(
            body=_data(message.get("data")),
            attributes={name: str(value) for name, value in attributes.items()} if isinstance(attributes, dict) else {},
            deliveries=self._count_delivery(message_id, found.get("deliveryAttempt")),
            facts={"source": "gcp_pubsub", "message_id": message_id},
            acknowledge=partial(self._settle, "acknowledge", {"ackIds": [ack]}, context),
            release=partial(
                self._settle, "modifyAckDeadline", {"ackIds": [ack], "ackDeadlineSeconds": _LEFT_SECONDS}, context
            ),
        )

    def _count_delivery(self, message_id: str, attempt: object) -> int:
        """Counts deliveries: Google does only with a dead-letter topic, elsewhere this process does."""
        if isinstance(attempt, int) and attempt > 0:
            return attempt
        # Put in again at the end: the first one is then the one that was not seen for longest.
        count = self._counts[message_id] = self._counts.pop(message_id, 0) + 1
        while len(self._counts) > _COUNTED:
            self._counts.popitem(last=False)
        return count

    async def _settle(self, action: str, body: JsonObject, context: Context) -> None:
        await self._request("POST", f"{self._subscription}:{action}", body, context)

    async def _request(
        self,
        method: str,
        path: str,
        body: JsonObject | None,
        context: Context,
        *,
        timeout_seconds: float | None = None,
    ) -> JsonObject:
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
            return read_json_object(answer.body)
        error = read_json_object(answer.body).get("error")
        status = str(error.get("status") or "") if isinstance(error, dict) else ""
        failed = status_failure(
            f"{self._what}: Pub/Sub answered with status {answer.status}",
            answer,
            reference=f"gcp:{status}" if status.isidentifier() else "",
        )
        raise self._identity.forget_if_refused(failed, context, self._gcp)


def _data(text: object) -> bytes:
    try:
        return base64.b64decode(text if isinstance(text, str) else "", validate=True)
    except (binascii.Error, ValueError):
        return str(text).encode()
