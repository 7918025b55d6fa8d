"""SQS, against moto's: messages with their correlation, acknowledgements, replies to parked calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.app.replies import ReplyDelivery
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.receiver import Fate
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.result import Result
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.executors.queue.channel import QueueMessage
from ferrule.runtime.executors.queue.sqs import SqsQueue
from tests.infra.clouds.amazon import REGION
from tests.runtime.executors.queue.sqs_queues import Queues
from tests.runtime.executors.queue.tools import (
    account,
    calling,
    direct,
    ended,
    eventually,
    parked,
    probed,
    queue_tool,
    run,
)
from tests.spec.running_app import run_async


@run_async
async def test_a_reply_that_came_while_no_process_was_there_ends_the_call_in_the_next_one(queues: Queues) -> None:
    store, key = MemoryStore(), ApprovalKey.generate()
    async with calling(queues.ask(), env=queues.env, store=store, key=key) as app:
        waiting = await parked(app, "ask")
    queues.answer({"text": "while you slept"}, waiting.invocation_id)
    queues.answer({"text": "once more"}, waiting.invocation_id)
    async with calling(queues.ask(), env=queues.env, store=store, key=key) as app:
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "while you slept"}
        await eventually(lambda: queues.left() == 0)  # the duplicate is ignored, and gone
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "while you slept"}


@run_async
async def test_a_reply_quicker_than_the_parked_row_is_not_lost(queues: Queues) -> None:
    delivering: list[str] = []
    deliver, send = ReplyDelivery.deliver, SqsQueue.send

    async def told(deliveries: ReplyDelivery, invocation_id: str, value: Any, channel: str) -> Fate:
        delivering.append(invocation_id)
        return await deliver(deliveries, invocation_id, value, channel)

    async def answered_at_once(queue: SqsQueue, message: QueueMessage, context: Context) -> dict[str, Any]:
        sent = await send(queue, message, context)
        if json.loads(message.body)["text"] == "quick":
            queues.answer({"text": "quicker"}, message.invocation_id)
            await eventually(lambda: message.invocation_id in delivering)  # before the call is parked
        return sent

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ReplyDelivery, "deliver", told)
        patched.setattr(SqsQueue, "send", answered_at_once)
        async with calling(queues.ask(), env=queues.env) as app:
            await parked(app, "ask", {"text": "slow"})  # so that somebody listens
            waiting = await parked(app, "ask", {"text": "quick"})
            assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "quicker"}
            await eventually(lambda: queues.left() == 0)


@run_async
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


@run_async
async def test_a_message_that_is_too_large_is_refused_before_it_is_sent(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", queues.jobs), env=queues.env) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "fire", {"text": "x" * 1_048_500})  # what stands beside the body counts, too
        assert (caught.value.error_class, caught.value.code) == ("invalid_arguments", "message_too_large")
        assert "Messages" not in queues.sqs.receive_message(QueueUrl=queues.jobs)


@run_async
async def test_queues_are_named_by_url_or_arn(queues: Queues) -> None:
    env = {**queues.env, "AWS_ENDPOINT_URL": queues.aws.url}
    names = [f"https://sqs.{REGION}.amazonaws.com/123456789012/jobs", f"arn:aws:sqs:{REGION}:123456789012:jobs"]
    async with calling(*(queue_tool(f"queue-{n}", "aws", name) for n, name in enumerate(names)), env=env) as app:
        for number in range(len(names)):
            assert (await run(app, f"queue-{number}")).status == "succeeded"
            assert queues.taken()["Body"] == '{"text":"x"}'


@run_async
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


@run_async
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


@run_async
async def test_a_probe_looks_and_sends_nothing(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", queues.jobs), env=queues.env) as app:
        assert "jobs" in await probed(app, "fire")
        assert "Messages" not in queues.sqs.receive_message(QueueUrl=queues.jobs)


@run_async
async def test_a_confined_agent_sends_only_to_listed_hosts(queues: Queues) -> None:
    async with calling(queue_tool("fire", "aws", f"https://sqs.{REGION}.amazonaws.com/1/jobs"), env=queues.env) as app:
        with pytest.raises(ExecutionFailed) as caught:
            await direct(app, "fire", {"text": "x"}, is_confined=True)
        assert (caught.value.error_class, caught.value.code) == ("policy_blocked", "address_forbidden")


@pytest.mark.parametrize("url", ["not a url", "https://sqs.eu-west-1.amazonaws.com/", "arn:aws:sns:eu-west-1:1:topic"])
def test_what_names_no_queue_is_a_matter_of_setup(url: str) -> None:
    @run_async
    async def story() -> None:
        async with calling(queue_tool("fire", "aws", url), tends=False) as app:
            result = await run(app, "fire")
            assert isinstance(result, Result)
            assert result.error is not None
            assert result.error.error_class == "setup_required"

    story()
