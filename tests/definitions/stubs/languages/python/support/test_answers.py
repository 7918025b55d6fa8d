"""What the answers of a server mean: the value of a call, its error, how far it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support import errors
from ferrule.definitions.stubs.languages.python.support.answers import (
    has_ended,
    object_of,
    plain_value,
    progress_of,
    told,
    typed_value,
)
from ferrule.definitions.stubs.languages.python.support.http import Answer
from ferrule.definitions.stubs.languages.python.support.shapes import Codec, Types


def test_a_text_is_json_only_where_the_output_takes_nothing_else() -> None:
    def state(text: str) -> dict[str, Any]:
        return {"result": {"content": [{"type": "text", "text": text}]}}

    number: Codec[Any] = Codec(Types('{"type": "integer"}', '{"A": {"kind": "alias", "shape": "int"}}'), "A")
    assert typed_value(state("7"), number) == 7
    with pytest.raises(errors.TransportError, match="must be integer"):
        typed_value(state("x"), number)
    assert plain_value(state("7")) == "7"
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert plain_value({"result": {"content": [image]}}) == [image]
    empty = {"type": "text", "text": "The tool gave nothing.", "empty": True}
    assert plain_value({"result": {"content": [empty]}}) is None


def answer(status: int, body: object, **headers: str) -> Answer:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield json.dumps(body).encode()

    return Answer(status, headers, pieces())


def test_a_refused_request_is_an_error_that_says_when_to_come_back() -> None:
    refused = answer(429, {"detail": "slow down", "code": "rate"}, **{"retry-after": "3"})
    with pytest.raises(errors.RequestRefusedError, match="slow down") as caught:
        asyncio.run(told(refused))
    error = caught.value
    assert (error.code, error.status, error.retry_after_seconds, error.is_retryable) == ("rate", 429, 3.0, True)
    with pytest.raises(errors.RequestRefusedError) as caught:
        asyncio.run(told(answer(401, {"title": "who are you"})))
    assert not caught.value.is_retryable


def test_a_result_is_told_whatever_its_status() -> None:
    assert asyncio.run(told(answer(422, {"result": {}}))) == {"result": {}, "http_status": 422}


def test_a_failed_call_has_the_error_of_its_class() -> None:
    error = {"error_class": "rate_limited", "error_code": "quota", "message": "later"}
    state = {"invocation_id": "inv_1", "http_status": 429, "result": {"is_error": True, "error": error}}
    with pytest.raises(errors.RateLimitedError, match="later") as caught:
        plain_value(state)
    assert (caught.value.code, caught.value.invocation_id, caught.value.status) == ("quota", "inv_1", 429)
    with pytest.raises(errors.CallError, match="the call failed"):
        plain_value({"result": {"is_error": True, "error": {"error_class": "of tomorrow"}}})


def test_a_call_without_a_result_is_pending() -> None:
    assert not has_ended({"result": None})
    with pytest.raises(errors.PendingError, match="has not ended"):
        plain_value({"state": "running"})


@pytest.mark.parametrize("data", [b"no", b"[1]"])
def test_what_is_no_object_is_no_answer(data: bytes) -> None:
    with pytest.raises(errors.TransportError, match="did not answer"):
        object_of(data)


def test_progress_takes_what_it_knows_and_keeps_the_rest() -> None:
    data = {"message": None, "percent": 5, "current_step": 2, "total_steps": "many", "more": 1}
    found = progress_of(data)
    assert (found.message, found.percent, found.current_step, found.total_steps) == ("", 5.0, "2", None)
    assert found.details == data
