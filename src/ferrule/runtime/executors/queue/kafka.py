"""Kafka: one topic to send to, one to read replies from. Whom the client dials is judged first, advertised brokers included.

The place in a reply topic is kept by Kafka under the name of a consumer group that this workspace has for itself; partitions are
assigned, not negotiated, so that replies are read at once and several processes do not wait for one another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from ferrule.contracts.executor import Context
from ferrule.infra.drivers import load_driver
from ferrule.infra.network.guard import Forbidden
from ferrule.runtime.executors.identity import Identity
from ferrule.runtime.executors.queue.channel import Arrived, Message
from ferrule.runtime.executors.queue.kafka_dial import Dialling, named_tls
from ferrule.runtime.executors.queue.kafka_failures import kafka_failure
from ferrule.runtime.executors.queue.kafka_place import KafkaPlace
from ferrule.runtime.executors.queue.kafka_progress import Progress
from ferrule.runtime.executors.queue.settings import QueueSettings
from ferrule.runtime.executors.surroundings import Surroundings
from ferrule.runtime.executors.waits import seconds_left

MAX_BYTES = 1_000_000
"""What brokers take unless they were told otherwise, less what stands beside the body."""
_SECONDS = 30.0
_REFRESH_SECONDS = 60.0
"""How often a reply topic is looked at for new partitions."""


class KafkaQueue:
    """A topic, and the topic of its replies."""

    max_bytes = MAX_BYTES
    is_repeatable = False

    def __init__(
        self,
        around: Surroundings,
        identity: Identity,
        settings: QueueSettings,
        tool_id: str,
        place: KafkaPlace,
        replies: KafkaPlace | None,
        group: Callable[[], str],
    ) -> None:
        """`group`: the name under which the place in the reply topic is kept; asked for when it is needed."""
        self._aiokafka = load_driver("aiokafka")
        self._guard = around.guard
        self._identity = identity
        self._settings = settings
        self._place = place
        self._replies = replies
        self._group = group
        self._what = f"the queue of {tool_id!r}"
        self._producer: Any = None
        self._is_marked = False
        self._lock = asyncio.Lock()
        self.host = f"kafka {place.brokers[0]}"

    async def send(self, message: Message, context: Context) -> dict[str, Any]:
        """Produce, and wait until every replica that has to has it."""
        options = await self._options(context)
        async with self._translated(context):
            producer = await self._started(options, context)
            if message.wants_reply and self._replies is not None:
                await self._mark(options, context)
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
        """The cluster's and the topic's metadata."""
        options = await self._options(context)
        async with self._translated(context), asyncio.timeout(seconds_left(context, _SECONDS)):
            producer = await self._started(options, context)
            partitions = await producer.partitions_for(self._place.topic)
        return f"the topic {self._place.topic} with {len(partitions)} partitions answers at {self._place.brokers[0]}"

    async def arrivals(self) -> AsyncGenerator[Arrived, None]:
        """The records of the reply topic from where this workspace was."""
        assert self._replies is not None
        context = Context("replies", "ferrule", None, "", run_id=f"replies {self._replies.url}")
        options = await self._options(context)
        async with self._translated(context), self._consumer(options, context) as consumer:
            progress = Progress(consumer)
            while True:
                await progress.assign(self._aiokafka, await self._partitions(consumer))
                until = asyncio.get_running_loop().time() + _REFRESH_SECONDS
                while (left := until - asyncio.get_running_loop().time()) > 0:
                    found = await consumer.getmany(timeout_ms=max(int(left * 1000), 1), max_records=100)
                    for partition, records in found.items():
                        for record in records:
                            progress.begin(partition, record.offset)
                            yield _arrived(record, partial(progress.done, partition, record.offset))

    async def aclose(self) -> None:
        """Close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def _mark(self, options: dict[str, Any], context: Context) -> None:
        """Before the first message: this workspace reads the reply topic from here on, whatever becomes of this process."""
        if self._is_marked:
            return
        async with self._consumer(options, context) as consumer:
            partitions = await self._partitions(consumer)
            consumer.assign(partitions)
            unread = [one for one in partitions if await consumer.committed(one) is None]
            if unread:
                await consumer.commit(await consumer.end_offsets(unread))
        self._is_marked = True

    async def _partitions(self, consumer: Any) -> list[Any]:
        assert self._replies is not None
        await consumer._client.add_topic(self._replies.topic)
        found = consumer.partitions_for_topic(self._replies.topic) or ()
        return [self._aiokafka.TopicPartition(self._replies.topic, number) for number in sorted(found)]

    @asynccontextmanager
    async def _consumer(self, options: dict[str, Any], context: Context) -> AsyncIterator[Any]:
        assert self._replies is not None
        dialling = self._dialling(options, context)
        first = await self._knock(dialling, self._replies, options)
        consumer = self._aiokafka.AIOKafkaConsumer(
            bootstrap_servers=first,
            group_id=self._group(),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **options,
        )
        dialling.over(consumer._client)
        try:
            await consumer.start()
            await dialling.demand_cluster(consumer._client)
            yield consumer
        finally:
            await consumer.stop()

    async def _started(self, options: dict[str, Any], context: Context) -> Any:
        dialling = self._dialling(options, context)
        async with self._lock:
            if self._producer is None:
                first = await self._knock(dialling, self._place, options)
                producer = self._aiokafka.AIOKafkaProducer(
                    bootstrap_servers=first, acks="all", max_request_size=2 * MAX_BYTES, **options
                )
                dialling.over(producer.client)
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._producer = producer
            await dialling.demand_cluster(self._producer.client)
            return self._producer

    def _dialling(self, options: dict[str, Any], context: Context) -> Dialling:
        return Dialling(self._guard, is_confined=context.is_confined, tls=options.get("ssl_context"))

    async def _knock(self, dialling: Dialling, place: KafkaPlace, options: dict[str, Any]) -> list[str]:
        """Connect to a broker once, to learn what the library keeps to itself: refused credentials. Gives whom to ask first."""
        refused: Exception = ConnectionError("no broker answers")
        first = await dialling.first(place)
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

    async def _options(self, context: Context) -> dict[str, Any]:
        """How to connect. Credentials are read here, before anything else happens."""
        settings, username, password = self._settings, "", ""
        if self._identity.is_account:
            members = await self._identity.members(context, ("username", "password"))
            username, password = str(members["username"]), str(members["password"])
        protocol = settings.security_protocol or ("SASL_SSL" if username else "PLAINTEXT")
        options: dict[str, Any] = {"client_id": "ferrule", "security_protocol": protocol, "request_timeout_ms": 20_000}
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
    async def _translated(self, context: Context) -> AsyncIterator[None]:
        try:
            yield
        except (OSError, TimeoutError, Forbidden, self._aiokafka.errors.KafkaError) as error:
            failed = kafka_failure(self._what, self._place.brokers[0], error)
            if failed.code == "credential_refused":
                await self.aclose()
            raise self._identity.told(failed, context) from None


def _arrived(record: Any, done: Any) -> Arrived:
    return Arrived(
        body=record.value or b"",
        attributes={name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None},
        deliveries=1,
        facts={"source": "kafka", "topic": record.topic, "partition": record.partition, "offset": record.offset},
        done=done,
        leave=done,  # the topic keeps it for whoever else reads it
    )
