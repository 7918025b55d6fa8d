"""Azure Service Bus over its REST API: sends, receives under a lock, completes or unlocks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from functools import partial
from urllib.parse import quote, quote_plus

from ferrule.contracts.executor import Context
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.network.client import Fetched
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.queue.azure_queue import AzureQueue, request_id_of
from ferrule.runtime.executors.queue.channel import QueueMessage, ReceivedMessage

MAX_BYTES = 256 * 1024 - 8 * 1024
"""The limit of a standard namespace, 256 KB, less room for headers."""
_WAIT_SECONDS = 30
_SAS_SECONDS = 600


class ServiceBus(AzureQueue):
    """One queue, topic, or subscription (`…/TOPIC/subscriptions/NAME`)."""

    max_bytes = MAX_BYTES
    suffixes = (".servicebus.windows.net", ".servicebus.usgovcloudapi.net", ".servicebus.chinacloudapi.cn")
    scope = "https://servicebus.azure.net/.default"
    service = "Service Bus"

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Sends one message; its broker properties carry the correlation id and the reply queue."""
        properties = {"MessageId": _short(message.deduplication_id), "CorrelationId": message.invocation_id}
        if message.wants_reply:
            properties["ReplyTo"] = self._reply_to
        if message.group:
            properties["SessionId"] = _short(message.group)
        headers = [
            ("Content-Type", message.content_type),
            ("BrokerProperties", json.dumps(properties)),  # escapes what no header can hold
            ("tool_id", json.dumps(message.tool_id)),
        ]
        answer = await self._send_request("POST", "/messages", headers, message.body, context)
        if answer.status != 201:
            raise self._status_failure(answer, context)
        return {"source": "azure_service_bus", "message_id": properties["MessageId"], **request_id_of(answer)}

    async def probe(self, context: Context) -> str:
        """Reads the queue's record. An identity that may only send is refused it, but in a way that shows it is known."""
        answer = await self._send_request("GET", "?api-version=2021-05", [], b"", context)
        if answer.status in (401, 403) and b"Manage" in answer.body[:4096]:
            return f"{self._target.host} knows us; what we may do with the queue was not tried"
        if answer.status != 200:
            raise self._status_failure(answer, context)
        return f"the queue {self._target.path.lstrip('/')} at {self._target.host} answers"

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Receives messages under a lock, one at a time; each request waits at Azure until one arrives."""
        context = self._listening_context()
        while True:
            answer = await self._send_request(
                "POST",
                f"/messages/head?timeout={_WAIT_SECONDS}",
                [],
                b"",
                context,
                timeout_seconds=_WAIT_SECONDS + 15.0,
            )
            if answer.status == 204:
                continue
            if answer.status not in (200, 201):
                raise self._status_failure(answer, context)
            yield self._read_message(answer, context)

    def _read_message(self, answer: Fetched, context: Context) -> ReceivedMessage:
        properties = read_json_object(answer.headers.get("brokerproperties", "").encode())
        message_id = str(properties.get("MessageId", ""))
        place, token = str(properties.get("SequenceNumber", message_id)), str(properties.get("LockToken", ""))
        lock = f"/messages/{quote(place, safe='')}/{quote(token, safe='')}"
        attributes = {
            name: answer.headers[name].strip('"') for name in ("status", "correlation_id") if name in answer.headers
        }
        if isinstance(properties.get("CorrelationId"), str):
            attributes["correlation_id"] = properties["CorrelationId"]
        count = properties.get("DeliveryCount", 1)
        return ReceivedMessage(
            body=answer.body,
            attributes=attributes,
            deliveries=count if isinstance(count, int) else 1,
            facts={"source": "azure_service_bus", "message_id": message_id},
            acknowledge=partial(self._settle, "DELETE", lock, context),
            release=partial(self._settle, "PUT", lock, context),
        )

    async def _settle(self, method: str, lock: str, context: Context) -> None:
        answer = await self._send_request(method, lock, [], b"", context)
        if answer.status not in (200, 404, 410):  # 404 and 410: its lock expired, and it will be delivered again
            raise self._status_failure(answer, context)

    async def _send_request(
        self,
        method: str,
        below: str,
        headers: list[tuple[str, str]],
        body: bytes,
        context: Context,
        *,
        timeout_seconds: float | None = None,
    ) -> Fetched:
        signed = [*headers, ("Authorization", await self._authorization(context))]
        return await self._request(method, f"{self._target.url}{below}", signed, body, context, timeout_seconds)

    async def _authorization(self, context: Context) -> str:
        """Returns a shared access signature where the secret has a key of the namespace, else a bearer token."""
        shared = await self._shared_key(context, "shared_access_key_name", "shared_access_key")
        return await self._bearer(context) if shared is None else self._shared_access_signature(*shared)

    def _shared_access_signature(self, name: str, key: str) -> str:
        where = quote_plus(self._target.url.lower())
        until = str(int(self._now()) + _SAS_SECONDS)
        digest = hmac.new(key.encode(), f"{where}\n{until}".encode(), hashlib.sha256).digest()
        signature = quote_plus(base64.b64encode(digest))
        self._learn("Service Bus signature", signature)
        return f"SharedAccessSignature sr={where}&sig={signature}&se={until}&skn={quote_plus(name)}"


def _short(text: str) -> str:
    return text if len(text) <= 128 else hashlib.sha256(text.encode()).hexdigest()
