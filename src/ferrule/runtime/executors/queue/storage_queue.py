"""Azure storage queues over their REST interface. They carry text alone: the correlation stands in the message itself."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import AsyncGenerator
from email.utils import formatdate
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import REFUSED
from ferrule.infra.network.client import Fetched
from ferrule.runtime.executors.queue.azure_queue import AzureQueue, tracked
from ferrule.runtime.executors.queue.channel import Arrived, Message

MAX_BYTES = 48 * 1024
"""64 KiB of base64."""
_VERSION = "2021-12-02"
_HELD_SECONDS = 30
_LEFT_SECONDS = 10
_LOOK_SECONDS = (0.25, 5.0)
"""Between two looks at an empty queue: first, and at most. There are no long polls here."""


class StorageQueue(AzureQueue):
    """One queue of a storage account."""

    max_bytes = MAX_BYTES
    suffixes = (".queue.core.windows.net", ".queue.core.usgovcloudapi.net", ".queue.core.chinacloudapi.cn")
    scope = "https://storage.azure.com/.default"
    service = "the storage account"

    async def send(self, message: Message, context: Context) -> dict[str, Any]:
        """Put one message; where a reply is wanted it stands in an envelope."""
        body = _envelope(message, self._reply_to) if message.wants_reply else message.body
        if len(body) > MAX_BYTES:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._what} takes messages of {MAX_BYTES:,} bytes, and this one has {len(body):,}; send less",
                code="message_too_large",
            )
        text = base64.b64encode(body).decode()
        written = f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>".encode()
        answer = await self._ask("POST", "/messages", "", written, context)
        if answer.status != 201:
            raise self._refused(answer, context)
        found = next(iter(_messages(answer.body)), {})
        return {"source": "azure_storage_queue", "message_id": found.get("MessageId", ""), **tracked(answer)}

    async def probe(self, context: Context) -> str:
        """The queue's metadata."""
        answer = await self._ask("GET", "", "comp=metadata", b"", context)
        if answer.status != 200:
            raise self._refused(answer, context)
        return f"the queue {self._target.path.lstrip('/')} at {self._target.host} answers"

    async def arrivals(self) -> AsyncGenerator[Arrived, None]:
        """Looks again and again, less often while nothing comes."""
        context = self._listening()
        pause, longest = _LOOK_SECONDS
        while True:
            query = f"numofmessages=32&visibilitytimeout={_HELD_SECONDS}"
            answer = await self._ask("GET", "/messages", query, b"", context)
            if answer.status != 200:
                raise self._refused(answer, context)
            found = _messages(answer.body)
            for message in found:
                yield self._arrived(message, context)
            pause = _LOOK_SECONDS[0] if found else min(pause * 2, longest)
            if not found:
                await asyncio.sleep(pause)

    def _arrived(self, found: dict[str, str], context: Context) -> Arrived:
        message_id, receipt = found.get("MessageId", ""), found.get("PopReceipt", "")
        path = f"/messages/{quote(message_id, safe='')}"
        query = f"popreceipt={quote(receipt, safe='')}"
        count = found.get("DequeueCount", "1")
        return Arrived(
            body=_text(found.get("MessageText", "")),
            attributes={},
            deliveries=int(count) if count.isdecimal() else 1,
            facts={"source": "azure_storage_queue", "message_id": message_id},
            done=partial(self._settled, "DELETE", path, query, context),
            leave=partial(self._settled, "PUT", path, f"{query}&visibilitytimeout={_LEFT_SECONDS}", context),
        )

    async def _settled(self, method: str, path: str, query: str, context: Context) -> None:
        answer = await self._ask(method, path, query, b"", context)
        if answer.status not in (204, 404):  # 404: its time ran out, and it will come again
            raise self._refused(answer, context)

    async def _ask(self, method: str, below: str, query: str, body: bytes, context: Context) -> Fetched:
        path = self._target.path + below
        headers = [("x-ms-date", formatdate(self._now(), usegmt=True)), ("x-ms-version", _VERSION)]
        if body:
            headers.append(("Content-Type", "application/xml"))
        headers.append(("Authorization", await self._authorization(method, path, query, headers, body, context)))
        url = self._target._replace(path=path + (f"?{query}" if query else "")).url
        return await self._reached(method, url, headers, body, context)

    async def _authorization(
        self, method: str, path: str, query: str, headers: list[tuple[str, str]], body: bytes, context: Context
    ) -> str:
        """The account's shared key where the secret has one, else a token."""
        shared = await self._shared_key(context, "account_name", "account_key")
        if shared is None:
            return await self._bearer(context)
        return _signature(*shared, method, path, query, headers, body)

    def _refused(self, answer: Fetched, context: Context) -> ExecutionFailed:
        """What a refusal means, by the account's own word for it."""
        said = answer.headers.get("x-ms-error-code", "")
        meaning = REFUSED if said == "AuthenticationFailed" else None
        return self._failed(answer, context, meaning=meaning, reference=f"azure:{said}" if said.isalnum() else "")


def _signature(
    name: str, key: str, method: str, path: str, query: str, headers: list[tuple[str, str]], body: bytes
) -> str:
    """The signature that a storage account wants: method, lengths, its own headers, the resource with its query."""
    try:
        secret = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise ExecutionFailed(
            "credential_missing", "the account_key of a storage account has to be base64", code="credential_shape"
        ) from None
    said = {header.lower(): value for header, value in headers}
    own = "".join(f"{header}:{value}\n" for header, value in sorted(said.items()) if header.startswith("x-ms-"))
    asked = "".join(f"\n{part.lower()}:{value}" for part, value in sorted(parse_qsl(query, keep_blank_values=True)))
    length = str(len(body)) if body else ""
    lines = [method, "", "", length, "", said.get("content-type", ""), "", "", "", "", "", ""]
    text = "\n".join(lines) + "\n" + own + f"/{name}{path}" + asked
    signature = base64.b64encode(hmac.new(secret, text.encode(), hashlib.sha256).digest()).decode()
    return f"SharedKey {name}:{signature}"


def _envelope(message: Message, reply_to: str) -> bytes:
    said: dict[str, Any] = message.attributes(reply_to)
    if message.is_text:
        return msgspec.json.encode({**said, "payload": msgspec.Raw(message.body)})
    return msgspec.json.encode({**said, "payload_base64": base64.b64encode(message.body).decode()})


def _messages(body: bytes) -> list[dict[str, str]]:
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return []
    return [{part.tag: part.text or "" for part in found} for found in root.iter("QueueMessage")]


def _text(text: str) -> bytes:
    """What a message says: base64, as most writers do, or the text itself."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()
