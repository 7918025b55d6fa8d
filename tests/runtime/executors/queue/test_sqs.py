"""SQS, against moto's: messages with their correlation, acknowledgements, replies to parked calls."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.replies import Deliveries
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.receiver import Fate
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.result import Pending, Result
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.executors.queue.channel import Message
from ferrule.runtime.executors.queue.sqs import SqsQueue
from tests.infra.clouds.amazon import KEYS, REGION, Amazon, amazon
from tests.runtime.executors.queue.tools import (
    account,
    calling,
    direct,
    ended,
    eventually,
    parked,
    probed,
    queue_tool,
    refs,
    run,
)
from tests.spec.scene import played


class Queues:
    """Two queues, and somebody who works on one and answers by the other."""

    def __init__(self, aws: Amazon) -> None:
        self.aws = aws
        self.sqs = aws.client("sqs")
        self.jobs = self.made("jobs")
        self.replies = self.made("replies")
        self.env = {**KEYS, "AWS_REGION": REGION}

    def made(self, name: str, **attributes: str) -> str:
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def taken(self, queue: str | None = None) -> dict[str, Any]:
        found = self.sqs.receive_message(
            QueueUrl=queue or self.jobs, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=2
        )
        message: dict[str, Any] = found["Messages"][0]
        self.sqs.delete_message(QueueUrl=queue or self.jobs, ReceiptHandle=message["ReceiptHandle"])
        return message

    def answer(self, body: Any, correlation: str = "", **attributes: str) -> None:
        said = {**attributes, **({"correlation_id": correlation} if correlation else {})}
        self.sqs.send_message(
            QueueUrl=self.replies,
            MessageBody=body if isinstance(body, str) else json.dumps(body),
            MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in said.items()},
        )

    def left(self) -> int:
        """How many replies are still there, seen or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.replies, AttributeNames=names)["Attributes"]
        return sum(map(int, found.values()))

    def ask(self, **said: Any) -> str:
        return queue_tool("ask", "aws", self.jobs, response_queue_url=self.replies, **said)


@pytest.fixture
def queues() -> Iterator[Queues]:
    with amazon() as aws:
        yield Queues(aws)


def attribute(message: dict[str, Any], name: str) -> str:
    return str(message["MessageAttributes"][name]["StringValue"])


@played
async def test_a_queue_without_replies_gives_an_acknowledgement_that_no_schema_binds(queues: Queues) -> None:
    """AML-51"""
    async with calling(queue_tool("fire", "aws", queues.jobs), env=queues.env) as app:
        result = await run(app, "fire", {"text": "hello"})
        assert result.status == "succeeded"
        message = queues.taken()
        assert result.structured_content == {
            "status": "accepted",
            "invocation_id": result.invocation_id,
            "message_id": message["MessageId"],
            "request_id": result.structured_content["request_id"],
        }
        assert json.loads(message["Body"]) == {"text": "hello"}
        assert attribute(message, "correlation_id") == result.invocation_id
        assert "reply_to" not in message["MessageAttributes"]
        (ref,) = await refs(app, result.invocation_id)
        assert (ref["source"], ref["message_id"]) == ("aws_sqs", message["MessageId"])


@played
async def test_a_reply_finds_its_parked_call(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        first, second = await parked(app, "ask", {"text": "1"}), await parked(app, "ask", {"text": "2"})
        messages = [queues.taken(), queues.taken()]
        assert {attribute(message, "reply_to") for message in messages} == {queues.replies}
        queues.answer({"text": "two"}, second.invocation_id)
        queues.answer({"text": "one"}, first.invocation_id)
        assert (await ended(app, first.invocation_id)).structured_content == {"text": "one"}
        assert (await ended(app, second.invocation_id)).structured_content == {"text": "two"}
        await eventually(lambda: queues.left() == 0)
        assert [ref["source"] for ref in await refs(app, first.invocation_id)] == ["aws_sqs", "aws_sqs"]


@played
async def test_a_reply_that_came_while_no_process_was_there_ends_the_call_in_the_next_one(queues: Queues) -> None:
    store, key = MemoryStore(), ApprovalKey.in_memory()
    async with calling(queues.ask(), env=queues.env, store=store, key=key) as app:
        waiting = await parked(app, "ask")
    queues.answer({"text": "while you slept"}, waiting.invocation_id)
    queues.answer({"text": "once more"}, waiting.invocation_id)
    async with calling(queues.ask(), env=queues.env, store=store, key=key) as app:
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "while you slept"}
        await eventually(lambda: queues.left() == 0)  # the duplicate is ignored, and gone
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "while you slept"}


@played
async def test_duplicate_replies_change_nothing(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting, other = await parked(app, "ask"), await parked(app, "ask")
        for text in ("first", "second", "third"):
            queues.answer({"text": text}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).status == "succeeded"
        await eventually(lambda: queues.left() == 0)
        rows = await app.store.rows_of(waiting.invocation_id)
        assert sum(row.kind == "answered" for row in rows) == 1
        assert isinstance(await app.result(other.invocation_id), Pending)


@played
async def test_a_reply_quicker_than_the_parked_row_is_not_lost(queues: Queues) -> None:
    delivering: list[str] = []
    deliver, send = Deliveries.deliver, SqsQueue.send

    async def told(deliveries: Deliveries, invocation_id: str, value: Any, channel: str) -> Fate:
        delivering.append(invocation_id)
        return await deliver(deliveries, invocation_id, value, channel)

    async def answered_at_once(queue: SqsQueue, message: Message, context: Context) -> dict[str, Any]:
        sent = await send(queue, message, context)
        if json.loads(message.body)["text"] == "quick":
            queues.answer({"text": "quicker"}, message.invocation_id)
            await eventually(lambda: message.invocation_id in delivering)  # before the call is parked
        return sent

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Deliveries, "deliver", told)
        patched.setattr(SqsQueue, "send", answered_at_once)
        async with calling(queues.ask(), env=queues.env) as app:
            await parked(app, "ask", {"text": "slow"})  # so that somebody listens
            waiting = await parked(app, "ask", {"text": "quick"})
            assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "quicker"}
            await eventually(lambda: queues.left() == 0)


@pytest.mark.parametrize(
    ("reply", "attributes", "expected"),
    [
        ({"error": {"class": "rate_limited", "message": "later", "retry_after": 7}}, {}, ("rate_limited", 7.0)),
        ({"error": "it broke"}, {}, ("execution_failed", None)),
        ({"error": {"class": "unknown_tool", "message": "hm", "code": "E42"}}, {}, ("execution_failed", None)),
        ({"why": "no"}, {"status": "error"}, ("execution_failed", None)),
    ],
)
def test_a_reply_that_tells_of_an_error_is_a_failure(
    queues: Queues, reply: Any, attributes: dict[str, str], expected: tuple[str, float | None]
) -> None:
    @played
    async def story() -> None:
        async with calling(queues.ask(), env=queues.env) as app:
            waiting = await parked(app, "ask")
            queues.answer(reply, waiting.invocation_id, **attributes)
            result = await ended(app, waiting.invocation_id)
            assert result.error is not None
            assert (result.error.error_class, result.error.retry_after) == expected
            assert result.error.error_code == "reply_error"
            assert str(result.error.native_error_ref).startswith("queue:")
            assert "broke" not in result.error.message

    story()


@pytest.mark.parametrize(
    ("body", "is_beside"),
    [
        ({"text": "ok"}, True),
        ({"correlation_id": "ID", "text": "ok"}, False),
        ({"correlation_id": "ID", "result": {"text": "ok"}}, False),
        ({"result": {"text": "ok"}}, True),
        ({"result": {"text": "ok"}, "error": None}, True),
    ],
)
def test_replies_are_plain_or_in_an_envelope(queues: Queues, body: dict[str, Any], is_beside: bool) -> None:
    @played
    async def story() -> None:
        async with calling(queues.ask(), env=queues.env) as app:
            waiting = await parked(app, "ask")
            said = {name: waiting.invocation_id if value == "ID" else value for name, value in body.items()}
            queues.answer(said, waiting.invocation_id if is_beside else "")
            assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "ok"}

    story()


@played
async def test_a_reply_that_its_schema_does_not_allow_is_a_failure(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting = await parked(app, "ask")
        queues.answer({"text": 7}, waiting.invocation_id)
        result = await ended(app, waiting.invocation_id)
        assert result.error is not None
        assert result.error.error_code == "result_mapping_failed"


@played
async def test_poison_is_set_aside_with_its_reason_and_others_get_through(queues: Queues, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    async with calling(queues.ask(), env=queues.env, aside=aside) as app:
        waiting = await parked(app, "ask")
        queues.answer("not json at all {", waiting.invocation_id)
        queues.answer({"text": "who is this for?"})
        queues.answer({"text": "the real one"}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "the real one"}
        await eventually(lambda: queues.left() == 0)
    kept = {json.loads(file.read_text())["reason"]: json.loads(file.read_text()) for file in aside.glob("*.json")}
    assert len(kept) == 2
    unread = next(record for reason, record in kept.items() if "no JSON" in reason)
    assert base64.b64decode(unread["body_base64"]) == b"not json at all {"
    assert unread["channel"] == f"queue:{queues.replies}"
    assert any("names no call" in reason for reason in kept)
    assert {file.stat().st_mode & 0o777 for file in aside.glob("*.json")} == {0o600}


@played
async def test_a_person_cannot_answer_in_the_place_of_the_queue(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting = await parked(app, "ask")
        assert await app.deliver(waiting.invocation_id, {"body": {"text": "x"}}, "queue:elsewhere") == "refused"
        assert isinstance(await app.result(waiting.invocation_id), Pending)


@played
async def test_a_call_that_waits_for_its_reply_can_be_canceled(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting = await parked(app, "ask")
        told = await app.cancel(waiting.invocation_id, by="ann")
        assert told is not None
        assert told.outcome == "canceled"
        queues.answer({"text": "too late"}, waiting.invocation_id)
        other = await parked(app, "ask")
        queues.answer({"text": "in time"}, other.invocation_id)
        assert (await ended(app, other.invocation_id)).status == "succeeded"
        await eventually(lambda: queues.left() == 0)


@played
async def test_fifo_queues_get_a_group_and_a_deduplication_id(queues: Queues) -> None:
    fifo = queues.made("jobs.fifo", FifoQueue="true")
    async with calling(queue_tool("fire", "aws", fifo, **{"x-group-by": "group"}), env=queues.env) as app:
        await run(app, "fire", {"text": "a", "group": "bern"}, idempotency_key="order-7")
        message = queues.taken(fifo)
        assert message["Attributes"]["MessageGroupId"] == "bern"
        assert message["Attributes"]["MessageDeduplicationId"] == "order-7"
        result = await run(app, "fire", {"text": "b"})
        message = queues.taken(fifo)
        assert message["Attributes"]["MessageGroupId"] == "fire"
        assert message["Attributes"]["MessageDeduplicationId"] == result.invocation_id


@played
async def test_a_message_that_is_too_large_is_refused_before_it_is_sent(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", queues.jobs), env=queues.env) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "fire", {"text": "x" * 1_048_500})  # what stands beside the body counts, too
        assert (caught.value.error_class, caught.value.code) == ("invalid_arguments", "message_too_large")
        assert "Messages" not in queues.sqs.receive_message(QueueUrl=queues.jobs)


@played
async def test_queues_are_named_by_url_or_arn(queues: Queues) -> None:
    env = {**queues.env, "AWS_ENDPOINT_URL": queues.aws.url}
    names = [f"https://sqs.{REGION}.amazonaws.com/123456789012/jobs", f"arn:aws:sqs:{REGION}:123456789012:jobs"]
    async with calling(*(queue_tool(f"queue-{n}", "aws", name) for n, name in enumerate(names)), env=env) as app:
        for number in range(len(names)):
            assert (await run(app, f"queue-{number}")).status == "succeeded"
            assert queues.taken()["Body"] == '{"text":"x"}'


@played
async def test_a_service_account_signs_and_a_wrong_shape_is_told(queues: Queues) -> None:
    """AML-68"""
    keys = {"access_key_id": "AKIAOTHER", "secret_access_key": "s3cret-of-the-account", "region": REGION}
    tool = queue_tool("fire", "aws", queues.jobs, credentials=account())
    async with calling(tool, env={"ACCOUNT": json.dumps(keys)}) as app:
        assert (await run(app, "fire")).status == "succeeded"
    async with calling(tool, env={"ACCOUNT": json.dumps({"access_key_id": "AKIAOTHER"})}) as app:
        result = await run(app, "fire")
        assert result.error is not None
        assert result.error.error_class == "credential_missing"
        assert "secret_access_key" in result.error.message


@played
async def test_a_queue_that_is_not_there(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", queues.jobs + "-gone"), env=queues.env) as app:
        result = await run(app, "fire")
        assert result.error is not None
        assert result.error.native_error_ref is not None
        assert (
            "QueueDoesNotExist" in result.error.native_error_ref or "NonExistentQueue" in result.error.native_error_ref
        )
        with pytest.raises(ExecutionFailed):
            await probed(app, "fire")


@played
async def test_a_probe_misses_the_queue_for_replies(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        told = await probed(app, "ask")
        assert "jobs answers" in told and "replies answers" in told
        queues.sqs.delete_queue(QueueUrl=queues.replies)
        with pytest.raises(ExecutionFailed, match=r"jobs answers, but not the one for replies.*replies.*DoesNotExist"):
            await probed(app, "ask")


@played
async def test_a_probe_looks_and_sends_nothing(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", queues.jobs), env=queues.env) as app:
        assert "jobs" in await probed(app, "fire")
        assert "Messages" not in queues.sqs.receive_message(QueueUrl=queues.jobs)


@played
async def test_a_confined_agent_sends_only_to_listed_hosts(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", f"https://sqs.{REGION}.amazonaws.com/1/jobs"), env=queues.env) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "fire", {"text": "x"}, is_confined=True)
        assert (caught.value.error_class, caught.value.code) == ("policy_blocked", "address_forbidden")


@pytest.mark.parametrize("url", ["not a url", "https://sqs.eu-west-1.amazonaws.com/", "arn:aws:sns:eu-west-1:1:topic"])
def test_what_names_no_queue_is_a_matter_of_setup(url: str) -> None:
    @played
    async def story() -> None:
        async with calling(queue_tool("fire", "aws", url), tends=False) as app:
            result = await run(app, "fire")
            assert isinstance(result, Result)
            assert result.error is not None
            assert result.error.error_class == "setup_required"

    story()
