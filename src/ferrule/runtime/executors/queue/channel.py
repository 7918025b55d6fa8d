"""The contract of one queue: the settings in its definition (AML-53, AML-54), and the protocols a provider implements.

A provider sends a message, probes without sending, and delivers replies. Extension keys of ours begin with `x-`. Nothing
is connected here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Literal, Protocol

import msgspec

from ferrule.contracts.executor import Context
from ferrule.model.value import JsonObject


class QueueMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One call as a message."""

    body: bytes
    is_text: bool
    """False for binary bodies: a provider that carries only text encodes them."""
    content_type: str
    invocation_id: str
    """The correlation id."""
    tool_id: str
    deduplication_id: str
    """The same for two sends of one call."""
    group: str = ""
    """Messages of one group stay in order."""
    wants_reply: bool = False

    def attributes(self, reply_to: str) -> dict[str, str]:
        """Returns the attributes sent beside the body, by name."""
        attributes = {"correlation_id": self.invocation_id, "content_type": self.content_type, "tool_id": self.tool_id}
        return {**attributes, "reply_to": reply_to} if reply_to else attributes


class ReceivedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message received from a response queue."""

    body: bytes
    attributes: dict[str, str]
    """The attributes beside the body, with names as the sender wrote them."""
    deliveries: int
    """How often the queue has delivered it, this time included."""
    facts: dict[str, Any]
    """Native ids, for the record."""
    acknowledge: Callable[[], Awaitable[None]]
    """Removes it from the queue."""
    release: Callable[[], Awaitable[None]]
    """Returns it to the queue for a later delivery."""


class Sender(Protocol):
    """A queue to send to."""

    max_bytes: int
    """The longest body."""
    host: str
    """The queue's name in messages and for the circuit breaker; holds no credential."""
    is_repeatable: bool
    """True when the provider drops a second message with the same deduplication id."""

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Sends a message; returns its native ids. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """Checks the queue without sending; returns a sentence about it. Raises ExecutionFailed."""

    async def aclose(self) -> None:
        """Closes connections."""


class ReplySource(Protocol):
    """A queue to receive replies from."""

    def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Yields messages as they arrive. Raises ExecutionFailed or OSError when the queue cannot be read."""

    async def aclose(self) -> None:
        """Closes connections."""


Positive = Annotated[int, msgspec.Meta(ge=1)]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a tool behind a queue."""

    provider: Literal["aws", "gcp", "azure", "kafka"]
    queue_url: str
    message_format: Literal["json", "avro"] = "json"
    response_queue_url: str = ""
    """The queue of replies; empty when calls do not wait for one."""
    avro_schema: Any = msgspec.field(name="x-avro-schema", default=None)
    """The schema of messages, as an object or JSON text; derived from the input schema by default."""
    avro_reply_schema: Any = msgspec.field(name="x-avro-reply-schema", default=None)
    """The schema of replies; derived from the output schema by default."""
    avro_schema_id: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = msgspec.field(
        name="x-avro-schema-id", default=None
    )
    """The id in a schema registry: messages then begin with the registry's five bytes."""
    reply_seconds: Positive | None = msgspec.field(name="x-reply-seconds", default=None)
    """How long a call waits for its reply; `[queue] reply_seconds` by default."""
    group_by: str = msgspec.field(name="x-group-by", default="")
    """The input member whose value orders messages: FIFO group, partition key, ordering key, session."""
    endpoint: str = msgspec.field(name="x-endpoint", default="")
    """The endpoint of Pub/Sub's API, if not Google's."""
    service: Literal["", "service-bus", "storage-queue"] = msgspec.field(name="x-service", default="")
    """The kind of Azure queue, where the host does not show it."""
    bootstrap_servers: str | list[str] = msgspec.field(name="x-bootstrap-servers", default="")
    """Kafka's brokers where `queue_url` is only a topic: `host:port`, several with commas or as a list."""
    security_protocol: SecurityProtocol | None = msgspec.field(name="x-security-protocol", default=None)
    sasl_mechanism: Mechanism = msgspec.field(name="x-sasl-mechanism", default="PLAIN")
    consumer_group: str = msgspec.field(name="x-consumer-group", default="")
    """Kafka's consumer group, which keeps the offsets in the reply topic; one per workspace by default."""
