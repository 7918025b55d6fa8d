"""A task on a queue: put there once with its correlation id, answered by the reply queue or in the inbox (AML-21)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.model.result import Pending, Result
from tests.driven import driven
from tests.runtime.executors.human.human_tool import POLICY, person
from tests.runtime.executors.queue.sqs_queues import Queues, attribute
from tests.runtime.executors.queue.sqs_queues import queues as queues
from tests.runtime.executors.queue.tools import calling, ended, parked, queue_tool


def _task(queues: Queues, **said: Any) -> str:
    more = {"response_queue_url": queues.replies, "x-assignees": ["ben"], **said}
    more = {name: value for name, value in more.items() if value is not None}
    return queue_tool("review", "aws", queues.jobs, kind="human", **more)


@driven
async def test_the_task_is_put_on_the_queue_and_the_reply_is_the_answer(queues: Queues) -> None:
    async with calling(_task(queues), env=queues.env, policy=POLICY) as app:
        waiting = await parked(app, "review", {"text": "what?"})
        message = queues.taken()
        told = json.loads(message["Body"])
        assert attribute(message, "correlation_id") == told["invocation_id"] == waiting.invocation_id
        assert attribute(message, "reply_to") == queues.replies
        assert (told["input"], told["callback"], told["assignees"]) == ({"text": "what?"}, None, ["ben"])
        queues.answer({"text": "so"}, waiting.invocation_id)
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "so"}


@driven
async def test_the_inbox_works_too_and_then_the_reply_comes_too_late(queues: Queues) -> None:
    async with calling(_task(queues), env=queues.env, policy=POLICY) as app:
        waiting = await parked(app, "review")
        answered = await person(app, "ben").answer(waiting.invocation_id, {"text": "mine"})
        assert isinstance(answered.result, Result)
        channel = f"queue:{queues.replies}"
        assert await app.deliver(waiting.invocation_id, {"body": {"text": "late"}}, channel) == "duplicate"
        assert answered.result.structured_content == {"text": "mine"}


@pytest.mark.parametrize("body", [{"text": 7}, "so", None, {"error": "no"}])
@driven
async def test_a_reply_that_is_no_answer_is_refused_and_the_task_stands(queues: Queues, body: Any) -> None:
    async with calling(_task(queues), env=queues.env, policy=POLICY, tends=False) as app:
        waiting = await parked(app, "review")
        before = len(await app.store.rows_of(waiting.invocation_id))
        channel = f"queue:{queues.replies}"
        assert await app.deliver(waiting.invocation_id, {"body": body, "native": {"id": "1"}}, channel) == "refused"
        assert len(await app.store.rows_of(waiting.invocation_id)) == before
        assert isinstance(await app.result(waiting.invocation_id), Pending)


@driven
async def test_people_and_programs_may_answer_by_the_same_queue(queues: Queues) -> None:
    async with calling(_task(queues), queues.ask(), env=queues.env, policy=POLICY) as app:
        task, call = await parked(app, "review"), await parked(app, "ask")
        queues.answer({"text": "program"}, call.invocation_id)
        queues.answer({"text": "person"}, task.invocation_id)
        assert (await ended(app, call.invocation_id)).structured_content == {"text": "program"}
        assert (await ended(app, task.invocation_id)).structured_content == {"text": "person"}


@driven
async def test_a_queue_without_replies_carries_a_token(queues: Queues) -> None:
    async with calling(_task(queues, response_queue_url=None), env=queues.env, policy=POLICY) as app:
        waiting = await parked(app, "review")
        told = json.loads(queues.taken()["Body"])
        assert await app.answer_callback(told["callback"]["token"], {"text": "by token"}) == "taken"
        assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "by token"}
