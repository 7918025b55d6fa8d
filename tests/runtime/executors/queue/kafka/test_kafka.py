"""Kafka, against the mock cluster of librdkafka: real brokers' protocol, in memory, on loopback."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition  # type: ignore[import-untyped, unused-ignore]

from ferrule.contracts.executor import ExecutionFailed
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.runtime.approval.key import ApprovalKey
from tests.runtime.executors.queue.tools import account, calling, direct, ended, parked, probed, queue_tool, run
from tests.spec.running_app import run_async

_numbers = itertools.count()
_QUIET = {"log_level": 0, "error_cb": lambda error: None}


class Cluster:
    """Two brokers in memory."""

    def __init__(self) -> None:
        self._mock = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 2, **_QUIET})
        brokers = self._mock.list_topics(timeout=10).brokers.values()
        self.brokers = ",".join(f"127.0.0.1:{broker.port}" for broker in brokers)
        self._client = {"bootstrap.servers": self.brokers, **_QUIET}
        self.producer = Producer(self._client)
        self.jobs, self.replies = self.topic("jobs"), self.topic("replies")

    def topic(self, name: str) -> str:
        made = f"{name}-{next(_numbers)}"
        self.producer.list_topics(made, timeout=10)
        return made

    def taken(self, count: int = 1) -> list[Any]:
        """The first messages of the jobs."""
        consumer = Consumer({**self._client, "group.id": f"worker-{next(_numbers)}", "auto.offset.reset": "earliest"})
        partitions = consumer.list_topics(self.jobs, timeout=10).topics[self.jobs].partitions
        consumer.assign([TopicPartition(self.jobs, number, 0) for number in partitions])
        found: list[Any] = []
        for _ in range(100):
            found += consumer.consume(count - len(found), timeout=0.2)
            if len(found) == count:
                break
        consumer.close()
        return found

    def answer(self, value: Any, correlation: str, **headers: str) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        said = {"correlation_id": correlation, **headers}
        self.producer.produce(self.replies, body, headers=[(name, text.encode()) for name, text in said.items()])
        assert self.producer.flush(10) == 0

    def ask(self, **said: Any) -> str:
        said.setdefault("response_queue_url", self.replies)
        return queue_tool("ask", "kafka", f"kafka://{self.brokers}/{self.jobs}", **said)


@pytest.fixture(scope="module")
def shared() -> Cluster:
    return Cluster()


@pytest.fixture
def cluster(shared: Cluster) -> Iterator[Cluster]:
    """The cluster with topics that nobody used before."""
    shared.jobs, shared.replies = shared.topic("jobs"), shared.topic("replies")
    yield shared


@run_async
async def test_a_message_goes_to_its_topic_with_its_correlation(cluster: Cluster) -> None:
    tool = queue_tool("fire", "kafka", f"kafka://{cluster.brokers}/{cluster.jobs}", **{"x-group-by": "group"})
    async with calling(tool) as app:
        result = await run(app, "fire", {"text": "hello", "group": "bern"})
        assert result.error is None
        (message,) = cluster.taken()
        headers = dict(message.headers())
        assert json.loads(message.value()) == {"text": "hello", "group": "bern"}
        assert headers["correlation_id"].decode() == result.invocation_id
        assert message.key() == b"bern"
        accepted: Any = result.structured_content
        assert (accepted["topic"], accepted["partition"], accepted["offset"]) == (
            cluster.jobs,
            message.partition(),
            message.offset(),
        )


@run_async
async def test_a_reply_finds_its_parked_call_and_what_lay_there_before_does_not_matter(cluster: Cluster) -> None:
    for number in range(20):
        cluster.answer({"text": "somebody else's"}, f"inv_of_another_workspace_{number}")
    async with calling(cluster.ask()) as app:
        waiting = await parked(app, "ask")
        (message,) = cluster.taken()
        assert dict(message.headers())["reply_to"].decode().endswith(f"/{cluster.replies}")
        cluster.answer({"text": "not for us"}, "inv_of_another_workspace")
        cluster.answer({"text": "done"}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "done"}


@run_async
async def test_a_reply_that_came_while_no_process_was_there_is_not_lost(cluster: Cluster) -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with calling(cluster.ask(), store=store, key=key) as app:
        waiting = await parked(app, "ask")
    cluster.answer({"text": "while you slept"}, waiting.invocation_id)
    async with calling(cluster.ask(), store=store, key=key) as app:
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "while you slept"}


@run_async
async def test_poison_in_a_topic_does_not_stop_it(cluster: Cluster, tmp_path: Path) -> None:
    async with calling(cluster.ask(), aside=tmp_path) as app:
        waiting = await parked(app, "ask")
        cluster.answer(b"\xff\xfe not json", waiting.invocation_id)
        cluster.answer({"text": "well"}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "well"}
    (file,) = tmp_path.glob("*.json")
    record = json.loads(file.read_text())
    assert "no JSON" in record["reason"]
    assert record["native"]["topic"] == cluster.replies


@run_async
async def test_avro_goes_out_and_comes_back(cluster: Cluster) -> None:
    fastavro = pytest.importorskip("fastavro")
    import io  # noqa: PLC0415

    request = {"type": "record", "name": "Ask", "fields": [{"name": "text", "type": "string"}]}
    reply = {"type": "record", "name": "Said", "fields": [{"name": "text", "type": "string"}]}
    said = {"message_format": "avro", "x-avro-schema": request, "x-avro-reply-schema": json.dumps(reply)}
    async with calling(cluster.ask(**said)) as app:
        waiting = await parked(app, "ask", {"text": "grüezi"})
        (message,) = cluster.taken()
        assert fastavro.schemaless_reader(io.BytesIO(message.value()), request) == {"text": "grüezi"}
        assert dict(message.headers())["content_type"] == b"avro/binary"
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, reply, {"text": "adieu"})
        cluster.answer(buffer.getvalue(), waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "adieu"}
        other = await parked(app, "ask", {"text": "x"})
        cluster.answer(b"\x7f\x00", other.invocation_id)
        result = await ended(app, other.invocation_id)
        assert result.error is not None
        assert result.error.error_code == "reply_unreadable"


@run_async
async def test_brokers_are_judged_before_they_are_dialled(cluster: Cluster) -> None:
    async with calling(cluster.ask(), allow=()) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")


@run_async
async def test_brokers_that_a_cluster_advertises_are_judged_too(cluster: Cluster) -> None:
    first, second = cluster.brokers.split(",")
    tool = queue_tool("fire", "kafka", f"kafka://{first}/{cluster.jobs}")
    async with calling(tool, allow=(first,)) as app:  # the second is advertised, and not listed
        result = await run(app, "fire")
        assert result.error is not None, f"{second} leads some partitions"
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")


@run_async
async def test_credentials_that_a_broker_cannot_take(cluster: Cluster) -> None:
    """The mock brokers know no SASL: what is asked of them is refused, and the password is told nobody."""
    said = {"credentials": account(), "x-security-protocol": "SASL_PLAINTEXT"}
    env = {"ACCOUNT": json.dumps({"username": "u", "password": "pass-canary-1"})}
    async with calling(cluster.ask(**said), env=env) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert "pass-canary-1" not in str(result)
    async with calling(cluster.ask(**said), env={"ACCOUNT": json.dumps({"username": "u"})}) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_shape")


@run_async
async def test_nobody_there() -> None:
    async with calling(queue_tool("fire", "kafka", "kafka://127.0.0.1:1/jobs")) as app:
        result = await run(app, "fire")
        assert result.error is not None
        assert result.error.error_class == "dependency_unavailable"


@run_async
async def test_a_probe_tells_the_topic(cluster: Cluster) -> None:
    async with calling(cluster.ask()) as app:
        assert cluster.jobs in await probed(app, "ask")


@run_async
async def test_a_message_that_is_too_large_is_refused_before_it_is_sent(cluster: Cluster) -> None:
    async with calling(cluster.ask()) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "ask", {"text": "x" * 1_000_001})
        assert (caught.value.error_class, caught.value.code) == ("invalid_arguments", "message_too_large")
