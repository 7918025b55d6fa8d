"""Kafka: one topic to send to, one to read replies from. The guard checks every address, advertised brokers included.

Kafka keeps the offsets in a reply topic under a consumer group of this workspace; partitions are assigned, not negotiated,
so that replies are read at once and several processes do not wait for one another. An offset is committed only when
everything before it was settled. One table maps the library's errors to error classes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.drivers import load_driver
from ferrule.infra.network.guard import Forbidden
from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.identity import CloudIdentity
from ferrule.runtime.executors.queue.channel import QueueMessage, QueueSettings, ReceivedMessage
from ferrule.runtime.executors.queue.kafka_brokers import GuardedDialer, KafkaTopic, named_tls
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.executors.waits import seconds_left

_REFUSED: tuple[ErrorClass, str | None] = ("credential_missing", "credential_refused")
_DENIED: tuple[ErrorClass, str | None] = ("permission_denied", "upstream_denied")
_TABLE: dict[str, tuple[ErrorClass, str | None]] = {
    "AuthenticationFailedError": _REFUSED,
    "SaslAuthenticationFailed": _REFUSED,
    "UnsupportedSaslMechanismError": ("setup_required", "sasl_mechanism"),
    "AuthenticationMethodNotSupported": ("setup_required", "sasl_mechanism"),
    "IllegalSaslStateError": ("setup_required", "security_protocol"),
    "TopicAuthorizationFailedError": _DENIED,
    "GroupAuthorizationFailedError": _DENIED,
    "ClusterAuthorizationFailedError": _DENIED,
    "TransactionalIdAuthorizationFailed": _DENIED,
    "MessageSizeTooLargeError": ("invalid_arguments", "message_too_large"),
    "RecordListTooLargeError": ("invalid_arguments", "message_too_large"),
    "RecordTooLargeError": ("invalid_arguments", "message_too_large"),
    "InvalidTopicError": ("setup_required", None),
    "UnknownTopicOrPartitionError": ("execution_failed", "not_found"),
    "PolicyViolationError": ("execution_failed", None),
    "QuotaViolationError": ("rate_limited", None),
    "RequestTimedOutError": ("timeout", None),
    "KafkaTimeoutError": ("timeout", None),
}
"""Error classes by exception type, parents included. Every other error means that the cluster is unavailable."""


def kafka_failure(what: str, broker: str, error: Exception) -> ExecutionFailed:
    """Translates an error of the library, or of a connection, into a failure of the call."""
    if isinstance(error, Forbidden):
        return ExecutionFailed(
            "policy_blocked", f"{what}: the Kafka cluster at {broker}: {error}", code="address_forbidden"
        )
    names = [kind.__name__ for kind in type(error).__mro__]
    error_class, code = next((_TABLE[name] for name in names if name in _TABLE), ("dependency_unavailable", None))
    if isinstance(error, TimeoutError):
        error_class = "timeout"
    return ExecutionFailed(
        error_class, f"{what}: Kafka at {broker}: {names[0]}", code=code, native_error_ref=f"kafka:{names[0]}"
    )


class OffsetTracker:
    """The settled and unsettled offsets of one consumer."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._open: dict[Any, OrderedDict[int, bool]] = {}
        self._assigned: set[Any] = set()

    async def assign(self, aiokafka: Any, partitions: list[Any]) -> None:
        """Reads these partitions from their committed offsets; those already assigned continue. Raises KafkaError."""
        if not partitions:
            raise aiokafka.errors.UnknownTopicOrPartitionError
        if set(partitions) != self._assigned:
            self._assigned = set(partitions)
            self._consumer.assign(partitions)

    def begin(self, partition: Any, offset: int) -> None:
        """Notes that a record was delivered."""
        self._open.setdefault(partition, OrderedDict())[offset] = False

    async def settle(self, partition: Any, offset: int) -> None:
        """Notes that a record was settled; commits the offset up to which every record is settled."""
        waiting = self._open.get(partition)
        if waiting is None or offset not in waiting:
            return
        waiting[offset] = True
        reached: int | None = None
        while waiting and waiting[first := next(iter(waiting))]:
            reached = first
            del waiting[first]
        if reached is not None:
            await self._consumer.commit({partition: reached + 1})


MAX_BYTES = 1_000_000
"""The default limit of brokers, less room for headers."""
_SECONDS = 30.0
_REFRESH_SECONDS = 60.0
"""How often a reply topic is checked for new partitions."""


class KafkaQueue:
    """A topic, and the topic of its replies."""

    max_bytes = MAX_BYTES
    is_repeatable = False

    def __init__(
        self,
        services: TransportServices,
        identity: CloudIdentity,
        settings: QueueSettings,
        tool_id: str,
        place: KafkaTopic,
        replies: KafkaTopic | None,
        group: Callable[[], str],
    ) -> None:
        """`group`: returns the consumer group of the reply topic; called when it is needed, as it may have to be created."""
        self._aiokafka = load_driver("aiokafka")
        self._guard = services.guard
        self._identity = identity
        self._settings = settings
        self._place = place
        self._replies = replies
        self._group = group
        self._what = f"the queue of {tool_id!r}"
        self._producer: Any = None
        self._is_start_committed = False
        self._lock = asyncio.Lock()
        self.host = f"kafka {place.brokers[0]}"

    async def send(self, message: QueueMessage, context: Context) -> JsonObject:
        """Sends a message, and waits until all in-sync replicas have it."""
        options = await self._options(context)
        async with self._translate_errors(context):
            producer = await self._start_producer(options, context)
            if message.wants_reply and self._replies is not None:
                await self._commit_start(options, context)
            said = message.attributes(self._replies.url if message.wants_reply and self._replies else "")
            async with asyncio.timeout(seconds_left(context, _SECONDS)):
                sent = await producer.send_and_wait(
                    self._place.topic,
                    message.body,
                    key=message.group.encode() or None,
                    headers=[(name, value.encode()) for name, value in said.items()],
                )
        return {"source": "kafka", "topic": sent.topic, "partition": sent.partition, "offset": sent.offset}

    async def probe(self, context: Context) -> str:
        """Fetches the metadata of the cluster and the topic."""
        options = await self._options(context)
        async with self._translate_errors(context), asyncio.timeout(seconds_left(context, _SECONDS)):
            producer = await self._start_producer(options, context)
            partitions = await producer.partitions_for(self._place.topic)
        return f"the topic {self._place.topic} with {len(partitions)} partitions answers at {self._place.brokers[0]}"

    async def arrivals(self) -> AsyncGenerator[ReceivedMessage, None]:
        """Yields the records of the reply topic from this workspace's committed offsets."""
        assert self._replies is not None
        context = Context("replies", "ferrule", None, "", run_id=f"replies {self._replies.url}")
        options = await self._options(context)
        async with self._translate_errors(context), self._consumer(options, context) as consumer:
            tracker = OffsetTracker(consumer)
            while True:
                await tracker.assign(self._aiokafka, await self._partitions(consumer))
                until = asyncio.get_running_loop().time() + _REFRESH_SECONDS
                while (left := until - asyncio.get_running_loop().time()) > 0:
                    found = await consumer.getmany(timeout_ms=max(int(left * 1000), 1), max_records=100)
                    for partition, records in found.items():
                        for record in records:
                            tracker.begin(partition, record.offset)
                            yield _read_record(record, partial(tracker.settle, partition, record.offset))

    async def aclose(self) -> None:
        """Closes the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def _commit_start(self, options: JsonObject, context: Context) -> None:
        """Commits the end of the reply topic before the first message, so that its reply is found even if this process ends."""
        if self._is_start_committed:
            return
        async with self._consumer(options, context) as consumer:
            partitions = await self._partitions(consumer)
            consumer.assign(partitions)
            unread = [one for one in partitions if await consumer.committed(one) is None]
            if unread:
                await consumer.commit(await consumer.end_offsets(unread))
        self._is_start_committed = True

    async def _partitions(self, consumer: Any) -> list[Any]:
        assert self._replies is not None
        await consumer._client.add_topic(self._replies.topic)
        found = consumer.partitions_for_topic(self._replies.topic) or ()
        return [self._aiokafka.TopicPartition(self._replies.topic, number) for number in sorted(found)]

    @asynccontextmanager
    async def _consumer(self, options: JsonObject, context: Context) -> AsyncIterator[Any]:
        assert self._replies is not None
        dialer = self._dialer(options, context)
        first = await self._check_login(dialer, self._replies, options)
        consumer = self._aiokafka.AIOKafkaConsumer(
            bootstrap_servers=first,
            group_id=self._group(),
            enable_auto_commit=False,
            # A partition that is added later has no offset yet: its replies count from the first one on.
            auto_offset_reset="earliest",
            **options,
        )
        dialer.over(consumer._client)
        try:
            await consumer.start()
            await dialer.demand_cluster(consumer._client)
            yield consumer
        finally:
            await consumer.stop()

    async def _start_producer(self, options: JsonObject, context: Context) -> Any:
        dialer = self._dialer(options, context)
        async with self._lock:
            if self._producer is None:
                first = await self._check_login(dialer, self._place, options)
                producer = self._aiokafka.AIOKafkaProducer(
                    bootstrap_servers=first, acks="all", max_request_size=2 * MAX_BYTES, **options
                )
                dialer.over(producer.client)
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._producer = producer
            # With each message: the cluster may advertise another broker by now.
            await dialer.demand_cluster(self._producer.client)
            return self._producer

    def _dialer(self, options: JsonObject, context: Context) -> GuardedDialer:
        return GuardedDialer(self._guard, is_confined=context.is_confined, tls=options.get("ssl_context"))

    async def _check_login(self, dialer: GuardedDialer, place: KafkaTopic, options: JsonObject) -> list[str]:
        """Connects to a broker once, since the library hides refused credentials in retries. Returns the bootstrap addresses."""
        refused: Exception = ConnectionError("no broker answers")
        first = await dialer.first(place)
        connect = load_driver("aiokafka.conn").create_conn
        for broker in first:
            address, _, port = broker.rpartition(":")
            try:
                connection = await connect(address.strip("[]"), int(port), **options)
            except (OSError, TimeoutError, self._aiokafka.errors.KafkaConnectionError) as error:
                refused = error
                continue
            connection.close()
            return first
        raise refused

    async def _options(self, context: Context) -> JsonObject:
        """Builds the connection options; fetches the credentials."""
        settings, username, password = self._settings, "", ""
        if self._identity.is_account:
            members = await self._identity.members(context, ("username", "password"))
            username, password = str(members["username"]), str(members["password"])
        protocol = settings.security_protocol or ("SASL_SSL" if username else "PLAINTEXT")
        options: JsonObject = {"client_id": "ferrule", "security_protocol": protocol, "request_timeout_ms": 20_000}
        if protocol.endswith("SSL"):
            options["ssl_context"] = named_tls()
        if protocol.startswith("SASL"):
            options |= {
                "sasl_mechanism": settings.sasl_mechanism,
                "sasl_plain_username": username,
                "sasl_plain_password": password,
            }
        return options

    @asynccontextmanager
    async def _translate_errors(self, context: Context) -> AsyncIterator[None]:
        try:
            yield
        except (OSError, TimeoutError, Forbidden, self._aiokafka.errors.KafkaError) as error:
            failed = kafka_failure(self._what, self._place.brokers[0], error)
            if failed.code == "credential_refused":
                # The producer keeps the credentials that it was made with.
                await self.aclose()
            raise self._identity.forget_if_refused(failed, context) from None


def _read_record(record: Any, settle: Any) -> ReceivedMessage:
    return ReceivedMessage(
        body=record.value or b"",
        attributes={name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None},
        deliveries=1,
        facts={"source": "kafka", "topic": record.topic, "partition": record.partition, "offset": record.offset},
        acknowledge=settle,
        release=settle,  # a topic has no redelivery; other consumers still find the record
    )
