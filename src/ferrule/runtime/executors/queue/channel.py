"""The contract of one queue: the settings of its definition (AML-53, AML-54), and what the executor wants of its provider.

A provider sends a message, looks without sending, and hands out replies. Keys of our own begin with `x-`. Nothing is
opened here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Literal, Protocol

import msgspec

from ferrule.contracts.executor import Context


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One call, written down."""

    body: bytes
    is_text: bool
    """False for bytes that are no text: a provider that carries text alone encodes them."""
    content_type: str
    invocation_id: str
    """The correlation id."""
    tool_id: str
    deduplication_id: str
    """Equal for two sendings of the same call."""
    group: str = ""
    """Messages of one group stay in order."""
    wants_reply: bool = False

    def attributes(self, reply_to: str) -> dict[str, str]:
        """What goes beside the body, by name."""
        said = {"correlation_id": self.invocation_id, "content_type": self.content_type, "tool_id": self.tool_id}
        return {**said, "reply_to": reply_to} if reply_to else said


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """One message that came in by a response queue."""

    body: bytes
    attributes: dict[str, str]
    """Whatever came beside the body, names as they were written."""
    deliveries: int
    """How often it was handed out, this time included."""
    facts: dict[str, Any]
    """Native ids, for the record."""
    done: Callable[[], Awaitable[None]]
    """Take it off the queue."""
    leave: Callable[[], Awaitable[None]]
    """Let it be handed out again, later."""


class Sender(Protocol):
    """A queue to send to."""

    max_bytes: int
    """The longest body."""
    host: str
    """For messages, and for leaving a system alone that fails: no credential in it."""
    is_repeatable: bool
    """True when the provider drops a second message with the same deduplication id."""

    async def send(self, message: Message, context: Context) -> dict[str, Any]:
        """Hand a message over; gives its native ids. Raises ExecutionFailed."""

    async def probe(self, context: Context) -> str:
        """What was found, without sending. Raises ExecutionFailed."""

    async def aclose(self) -> None:
        """Let go of connections."""


class Source(Protocol):
    """A queue that replies come from."""

    def arrivals(self) -> AsyncGenerator[Arrived, None]:
        """The messages as they come. Raises ExecutionFailed or OSError when they cannot be had."""

    async def aclose(self) -> None:
        """Let go of connections."""


Positive = Annotated[int, msgspec.Meta(ge=1)]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The `transport` of a tool behind a queue."""

    provider: Literal["aws", "gcp", "azure", "kafka"]
    queue_url: str
    message_format: Literal["json", "avro"] = "json"
    response_queue_url: str = ""
    """Where replies come in; empty: nobody waits for one."""
    avro_schema: Any = msgspec.field(name="x-avro-schema", default=None)
    """Of messages, as an object or as JSON text; derived from the input schema when not given."""
    avro_reply_schema: Any = msgspec.field(name="x-avro-reply-schema", default=None)
    """Of replies; derived from the output schema when not given."""
    avro_schema_id: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = msgspec.field(
        name="x-avro-schema-id", default=None
    )
    """The id in a schema registry: messages then begin with it, in the registry's five bytes."""
    reply_seconds: Positive | None = msgspec.field(name="x-reply-seconds", default=None)
    """How long a call waits for its reply; `[queue] reply_seconds` when not said."""
    group_by: str = msgspec.field(name="x-group-by", default="")
    """The input member whose value keeps messages in order: FIFO group, partition key, ordering key, session."""
    endpoint: str = msgspec.field(name="x-endpoint", default="")
    """Of Pub/Sub: where its interface is, if not at Google."""
    service: Literal["", "service-bus", "storage-queue"] = msgspec.field(name="x-service", default="")
    """Of Azure, where the host does not tell."""
    bootstrap_servers: str | list[str] = msgspec.field(name="x-bootstrap-servers", default="")
    """Of Kafka, where `queue_url` is a topic: `host:port`, several with commas or as a list."""
    security_protocol: SecurityProtocol | None = msgspec.field(name="x-security-protocol", default=None)
    sasl_mechanism: Mechanism = msgspec.field(name="x-sasl-mechanism", default="PLAIN")
    consumer_group: str = msgspec.field(name="x-consumer-group", default="")
    """Of Kafka: under which name the place in the reply topic is kept; one per workspace when not said."""
