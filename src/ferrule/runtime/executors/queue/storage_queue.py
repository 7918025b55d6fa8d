"""Azure storage queues over their REST API. They carry only text, so the correlation id is part of the message itself."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import AsyncGenerator
from email.utils import formatdate
from functools import partial
from urllib.parse import parse_qsl, quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import REFUSED
from ferrule.infra.network.client import Fetched
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.queue.azure_queue import AzureQueue, request_id_of
from ferrule.runtime.executors.queue.channel import QueueMessage, ReceivedMessage

MAX_BYTES = 48 * 1024
"""The service's limit of 64 KiB of base64."""
_VERSION = "2021-12-02"
_HELD_SECONDS = 30
_LEFT_SECONDS = 10
_LOOK_SECONDS = (0.25, 5.0)
"""The first and the longest pause between two polls of an empty queue. The service has no long polls."""


class StorageQueue(AzureQueue):
    """One queue of a storage account."""

    max_bytes = MAX_BYTES
    suffixes = (".queue.core.windows.net", ".queue.core.usgovcloudapi.net", ".queue.core.chinacloudapi.cn")
    scope = "https://storage.azure.com/.default"
    service = "the storage account"

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Sends one message; in an envelope where a reply is wanted."""
        body = _envelope(message, self._reply_to) if message.wants_reply else message.body
        if len(body) > MAX_BYTES:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._what} takes messages of {MAX_BYTES:,} bytes, and this one has {len(body):,}; send less",
                code="message_too_large",
            )
        text = base64.b64encode(body).decode()
        written = f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>".encode()
        answer = await self._send_request("POST", "/messages", "", written, context)
        if answer.status != 201:
            raise self._refusal(answer, context)
        found = next(iter(_messages(answer.body)), {})
        return {"source": "azure_storage_queue", "message_id": found.get("MessageId", ""), **request_id_of(answer)}

    async def probe(self, context: Context) -> str:
        """Reads the queue's metadata."""
        answer = await self._send_request("GET", "", "comp=metadata", b"", context)
        if answer.status != 200:
            raise self._refusal(answer, context)
        return f"the queue {self._target.path.lstrip('/')} at {self._target.host} answers"

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Polls for messages, less often while none arrive."""
        context = self._listening_context()
        pause, longest = _LOOK_SECONDS
        while True:
            query = f"numofmessages=32&visibilitytimeout={_HELD_SECONDS}"
            answer = await self._send_request("GET", "/messages", query, b"", context)
            if answer.status != 200:
                raise self._refusal(answer, context)
            found = _messages(answer.body)
            for message in found:
                yield self._read_message(message, context)
            pause = _LOOK_SECONDS[0] if found else min(pause * 2, longest)
            if not found:
                await asyncio.sleep(pause)

    def _read_message(self, found: dict[str, str], context: Context) -> ReceivedMessage:
        message_id, receipt = found.get("MessageId", ""), found.get("PopReceipt", "")
        path = f"/messages/{quote(message_id, safe='')}"
        query = f"popreceipt={quote(receipt, safe='')}"
        count = found.get("DequeueCount", "1")
        return ReceivedMessage(
            body=_text(found.get("MessageText", "")),
            attributes={},
            deliveries=int(count) if count.isdecimal() else 1,
            facts={"source": "azure_storage_queue", "message_id": message_id},
            acknowledge=partial(self._settle, "DELETE", path, query, context),
            release=partial(self._settle, "PUT", path, f"{query}&visibilitytimeout={_LEFT_SECONDS}", context),
        )

    async def _settle(self, method: str, path: str, query: str, context: Context) -> None:
        answer = await self._send_request(method, path, query, b"", context)
        if answer.status not in (204, 404):  # 404: its visibility timeout expired, and it will be delivered again
            raise self._refusal(answer, context)

    async def _send_request(self, method: str, below: str, query: str, body: bytes, context: Context) -> Fetched:
        path = self._target.path + below
        headers = [("x-ms-date", formatdate(self._now(), usegmt=True)), ("x-ms-version", _VERSION)]
        if body:
            headers.append(("Content-Type", "application/xml"))
        headers.append(("Authorization", await self._authorization(method, path, query, headers, body, context)))
        url = self._target._replace(path=path + (f"?{query}" if query else "")).url
        return await self._request(method, url, headers, body, context)

    async def _authorization(
        self, method: str, path: str, query: str, headers: list[tuple[str, str]], body: bytes, context: Context
    ) -> str:
        """Returns a signature with the account's shared key where the secret has one, else a bearer token."""
        shared = await self._shared_key(context, "account_name", "account_key")
        if shared is None:
            return await self._bearer(context)
        return _signature(*shared, method, path, query, headers, body)

    def _refusal(self, answer: Fetched, context: Context) -> ExecutionFailed:
        """Builds the failure of a failing answer, by the storage account's error code."""
        reported = answer.headers.get("x-ms-error-code", "")
        meaning = REFUSED if reported == "AuthenticationFailed" else None
        return self._status_failure(
            answer, context, meaning=meaning, reference=f"azure:{reported}" if reported.isalnum() else ""
        )


def _signature(
    name: str, key: str, method: str, path: str, query: str, headers: list[tuple[str, str]], body: bytes
) -> str:
    """Signs a request as Shared Key of Azure Storage requires: method, lengths, `x-ms-` headers, the resource with its query."""
    try:
        secret = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise ExecutionFailed(
            "credential_missing", "the account_key of a storage account has to be base64", code="credential_shape"
        ) from None
    reported = {header.lower(): value for header, value in headers}
    own = "".join(f"{header}:{value}\n" for header, value in sorted(reported.items()) if header.startswith("x-ms-"))
    asked = "".join(f"\n{part.lower()}:{value}" for part, value in sorted(parse_qsl(query, keep_blank_values=True)))
    length = str(len(body)) if body else ""
    lines = [method, "", "", length, "", reported.get("content-type", ""), "", "", "", "", "", ""]
    text = "\n".join(lines) + "\n" + own + f"/{name}{path}" + asked
    signature = base64.b64encode(hmac.new(secret, text.encode(), hashlib.sha256).digest()).decode()
    return f"SharedKey {name}:{signature}"


def _envelope(message: QueueMessage, reply_to: str) -> bytes:
    reported: JsonObject = message.attributes(reply_to)
    if message.is_text:
        return msgspec.json.encode({**reported, "payload": msgspec.Raw(message.body)})
    return msgspec.json.encode({**reported, "payload_base64": base64.b64encode(message.body).decode()})


def _messages(body: bytes) -> list[dict[str, str]]:
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return []
    return [{part.tag: part.text or "" for part in found} for found in root.iter("QueueMessage")]


def _text(text: str) -> bytes:
    """Decodes a message: base64, as most senders write, or the text itself."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()
