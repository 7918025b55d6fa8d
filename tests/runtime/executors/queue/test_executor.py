"""Calls by message queues: an acknowledgement, or a call that waits for its reply and for nobody else."""

from __future__ import annotations

import json

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.result import Pending
from tests.runtime.executors.queue.sqs_queues import Queues, attribute
from tests.runtime.executors.queue.tools import (
    calling,
    ended,
    eventually,
    parked,
    probed,
    queue_tool,
    refs,
    run,
)
from tests.spec.running_app import run_async


@run_async
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


@run_async
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


@run_async
async def test_a_person_cannot_answer_in_the_place_of_the_queue(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting = await parked(app, "ask")
        assert await app.deliver(waiting.invocation_id, {"body": {"text": "x"}}, "queue:elsewhere") == "refused"
        assert isinstance(await app.result(waiting.invocation_id), Pending)


@run_async
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


@run_async
async def test_a_probe_misses_the_queue_for_replies(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        told = await probed(app, "ask")
        assert "jobs answers" in told and "replies answers" in told
        queues.sqs.delete_queue(QueueUrl=queues.replies)
        with pytest.raises(ExecutionFailed, match=r"jobs answers, but not the one for replies.*replies.*DoesNotExist"):
            await probed(app, "ask")
