"""What a definition says about its queue (AML-53, AML-54), and the keys of our own that begin with `x-`. Nothing is opened."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
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
    security_protocol: Protocol | None = msgspec.field(name="x-security-protocol", default=None)
    sasl_mechanism: Mechanism = msgspec.field(name="x-sasl-mechanism", default="PLAIN")
    consumer_group: str = msgspec.field(name="x-consumer-group", default="")
    """Of Kafka: under which name the place in the reply topic is kept; one per workspace when not said."""
