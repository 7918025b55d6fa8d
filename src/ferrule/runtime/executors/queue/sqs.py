"""Amazon SQS over its JSON protocol: signed requests, long polls, one visibility timeout per reply."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncGenerator
from functools import partial
from typing import NamedTuple

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import read_json_object
from ferrule.infra.clouds.aws import Aws, AwsKeys, make_aws_failure
from ferrule.infra.network.urls import BadUrl, parse_url
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from ferrule.runtime.executors.queue.channel import QueueMessage, ReceivedMessage
from ferrule.runtime.executors.waits import seconds_left

MAX_BYTES = 1024**2
"""The limit of a body with its attributes."""
_ARN = re.compile(r"arn:(aws[a-z-]*):sqs:([a-z0-9-]+):([0-9]+):([A-Za-z0-9_-]+(?:\.fifo)?)")
_HOST = re.compile(
    r"(?:sqs(?:-fips)?\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.(?:api\.)?(?:amazonaws\.com|amazonaws\.com\.cn|aws)"
)
_DEDUPLICATION = re.compile(r"[\x21-\x7e]{1,128}")
_WAIT_SECONDS = 20
_HELD_SECONDS = 30
"""How long a received reply is hidden from other receivers."""
_LEFT_SECONDS = 10
"""How long a reply returned to the queue stays hidden."""
_ANSWER_BYTES = 16 * 1024**2


class QueueAddress(NamedTuple):
    """The address of an SQS queue."""

    url: str
    """Empty for a queue named by its ARN: then it is built from the endpoint."""
    region: str | None
    endpoint: str | None
    path: str
    host: str

    @property
    def is_fifo(self) -> bool:
        """True for a FIFO queue, which keeps order and drops duplicates."""
        return self.path.endswith(".fifo")


def queue_place(written: str, tool_id: str) -> QueueAddress:
    """Parses a URL or an ARN of a queue. Raises ExecutionFailed (`setup_required`)."""
    arn = _ARN.fullmatch(written)
    if arn:
        return QueueAddress("", arn[2], None, f"/{arn[3]}/{arn[4]}", f"sqs {arn[2]}")
    try:
        target = parse_url(written)
    except BadUrl as error:
        raise ExecutionFailed(
            "setup_required", f"the queue of {tool_id!r} is neither an SQS address nor an ARN: {error}"
        ) from None
    if len([part for part in target.path.split("/") if part]) < 2:
        raise ExecutionFailed(
            "setup_required", f"the queue of {tool_id!r} has to look like https://sqs.REGION.amazonaws.com/ACCOUNT/NAME"
        )
    amazon = _HOST.fullmatch(target.host)
    region = (amazon[1] or amazon[2]) if amazon else None
    origin = None if amazon else f"{target.scheme}://{target.authority}"
    return QueueAddress(written, region, origin, target.path, target.host)


class SqsQueue:
    """One SQS queue, to send to and to receive from."""

    max_bytes = MAX_BYTES

    def __init__(self, aws: Aws, identity: CloudIdentity, written: str, tool_id: str, reply_to: str = "") -> None:
        self._aws = aws
        self._identity = identity
        self._place = queue_place(written, tool_id)
        self._what = f"the queue of {tool_id!r}"
        self._reply_to = reply_to
        self.host = self._place.host
        self.is_repeatable = self._place.is_fifo

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Sends a message; a FIFO queue gets a group and a deduplication id."""
        attributes = message.attributes(self._reply_to if message.wants_reply else "")
        if not message.is_text:
            attributes["content_encoding"] = "base64"
        text = message.body.decode() if message.is_text else base64.b64encode(message.body).decode()
        # SQS counts the names, types and values of attributes as well.
        size = len(text.encode()) + sum(
            len(name) + len(value.encode()) + len("String") for name, value in attributes.items()
        )
        if size > MAX_BYTES:
            raise ExecutionFailed(
                "invalid_arguments",
                f"{self._what} takes messages of {MAX_BYTES:,} bytes, and this one has {size:,}; send less",
                code="message_too_large",
            )
        body: JsonObject = {
            "MessageBody": text,
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            },
        }
        if self._place.is_fifo:
            body["MessageGroupId"] = _id(message.group or message.tool_id)
            body["MessageDeduplicationId"] = _id(message.deduplication_id)
        answer, request_id = await self._request("SendMessage", body, context)
        found = {
            "message_id": answer.get("MessageId"),
            "sequence_number": answer.get("SequenceNumber"),
            "request_id": request_id,
        }
        return {"source": "aws_sqs", **{name: value for name, value in found.items() if value}}

    async def probe(self, context: Context) -> str:
        """Reads the queue's attributes."""
        answer, _ = await self._request("GetQueueAttributes", {"AttributeNames": ["QueueArn"]}, context)
        attributes = answer.get("Attributes")
        arn = attributes.get("QueueArn") if isinstance(attributes, dict) else None
        return f"the queue {arn or self._place.path} answers"

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Receives messages by long polls."""
        context = Context("replies", "ferrule", None, "", run_id=f"replies {self._place.path}")
        while True:
            answer, _ = await self._request(
                "ReceiveMessage",
                {
                    "MaxNumberOfMessages": 10,
                    "WaitTimeSeconds": _WAIT_SECONDS,
                    "VisibilityTimeout": _HELD_SECONDS,
                    "MessageAttributeNames": ["All"],
                    "AttributeNames": ["All"],
                },
                context,
                timeout_seconds=_WAIT_SECONDS + 10.0,
            )
            messages = answer.get("Messages")
            for found in messages if isinstance(messages, list) else ():
                yield self._read_message(found, context)

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""

    def _read_message(self, found: JsonObject, context: Context) -> ReceivedMessage:
        native = found.get("MessageAttributes") or {}
        attributes = {
            name: str(value.get("StringValue", "")) for name, value in native.items() if isinstance(value, dict)
        }
        handle = {"ReceiptHandle": found.get("ReceiptHandle", "")}
        count = str((found.get("Attributes") or {}).get("ApproximateReceiveCount", "1"))
        return ReceivedMessage(
            body=_body(str(found.get("Body", "")), attributes),
            attributes=attributes,
            deliveries=int(count) if count.isdecimal() else 1,
            facts={"source": "aws_sqs", "message_id": str(found.get("MessageId", ""))},
            acknowledge=partial(self._settle, "DeleteMessage", handle, context),
            release=partial(
                self._settle, "ChangeMessageVisibility", {**handle, "VisibilityTimeout": _LEFT_SECONDS}, context
            ),
        )

    async def _settle(self, action: str, body: JsonObject, context: Context) -> None:
        await self._request(action, body, context)

    async def _request(
        self, action: str, body: JsonObject, context: Context, timeout_seconds: float | None = None
    ) -> tuple[JsonObject, str]:
        place = self._place
        if place.endpoint is not None:  # a signed request carries our session token
            demand_trusted(self._aws.guard, parse_url(place.endpoint), self._what, ())
        keys = await self._identity.aws_keys(self._aws, context)
        region = place.region or keys.region
        url = place.url or self._url(keys, region)
        answer = await self._aws.request(
            "sqs",
            region=region,
            headers=[("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", f"AmazonSQS.{action}")],
            body=msgspec.json.encode({"QueueUrl": url, **body}),
            keys=keys,
            endpoint=place.endpoint,
            timeout_seconds=timeout_seconds or seconds_left(context, 30.0),
            listed_only=context.is_confined,
            max_bytes=_ANSWER_BYTES,
        )
        if answer.status != 200:
            raise self._identity.forget_if_refused(make_aws_failure(self._what, answer), context, self._aws)
        return read_json_object(answer.body), answer.headers.get("x-amzn-requestid", "")

    def _url(self, keys: AwsKeys, region: str | None) -> str:
        return self._aws.endpoint("sqs", region or "").rstrip("/") + self._place.path


def _id(text: str) -> str:
    return text if _DEDUPLICATION.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


def _body(text: str, attributes: dict[str, str]) -> bytes:
    if attributes.get("content_encoding") == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text.encode()
    return text.encode()
