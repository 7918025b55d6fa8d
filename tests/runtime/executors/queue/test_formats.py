"""Replies are plain or in an envelope, and tell of results or of errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.executors.queue.sqs_queues import Queues
from tests.runtime.executors.queue.tools import (
    calling,
    ended,
    parked,
)
from tests.spec.running_app import run_async


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
    @run_async
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
    @run_async
    async def story() -> None:
        async with calling(queues.ask(), env=queues.env) as app:
            waiting = await parked(app, "ask")
            said = {name: waiting.invocation_id if value == "ID" else value for name, value in body.items()}
            queues.answer(said, waiting.invocation_id if is_beside else "")
            assert (await ended(app, waiting.invocation_id)).structured_content == {"text": "ok"}

    story()


@run_async
async def test_a_reply_that_its_schema_does_not_allow_is_a_failure(queues: Queues) -> None:
    async with calling(queues.ask(), env=queues.env) as app:
        waiting = await parked(app, "ask")
        queues.answer({"text": 7}, waiting.invocation_id)
        result = await ended(app, waiting.invocation_id)
        assert result.error is not None
        assert result.error.error_code == "result_mapping_failed"
