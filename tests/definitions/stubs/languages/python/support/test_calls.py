"""Calls of tools, with the answers of a server that a test plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support import calls, errors
from ferrule.definitions.stubs.languages.python.support.calls import Caller
from ferrule.definitions.stubs.languages.python.support.http import Answer, Request

DONE = {"invocation_id": "inv_1", "result": {"structured_content": {"a": 1}}}
WAITING = {"invocation_id": "inv_1", "state": "awaiting_approval", "message": "ask Ada"}


class Server:
    """Answers requests one after another, and keeps them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        monkeypatch.setattr(calls, "exchange", self.exchange)
        monkeypatch.setattr(calls, "_PAUSE_SECONDS", 0)

    @asynccontextmanager
    async def exchange(self, base_url: str, request: Request) -> AsyncIterator[Answer]:
        self.asked.append(request)
        said = self.answers.pop(0)
        is_stream = isinstance(said, list)
        text = (
            "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in said)
            if is_stream
            else json.dumps(said)
        )
        headers = {"content-type": "text/event-stream" if is_stream else "application/json"}
        yield Answer(200, headers, _whole(text.encode()))


async def _whole(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


def caller() -> Caller:
    return Caller("http://host/v1/", "secret")


def test_a_call_sends_the_arguments_and_gives_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, DONE)
    assert asyncio.run(caller().call("t", {"x": 1}, idempotency_key="k", run_id="r")) == {"a": 1}
    (request,) = server.asked
    assert (request.method, request.path, json.loads(request.body)) == (
        "POST",
        "/v1/calls",
        {"tool": "t", "arguments": {"x": 1}},
    )
    assert request.headers["Authorization"] == "Bearer secret"
    assert (request.headers["Idempotency-Key"], request.headers["Ferrule-Run"]) == ("k", "r")


def test_progress_is_told_while_the_call_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    progress = {"message": "half", "percent": 50, "total_steps": 2}
    Server(monkeypatch, [("call", {"invocation_id": "inv_1"}), ("progress", progress), ("result", DONE)])
    assert asyncio.run(caller().call("t", {}, on_progress=told.append)) == {"a": 1}
    assert [(each.message, each.percent, each.total_steps) for each in told] == [("half", 50.0, 2)]


def test_a_call_that_waits_for_a_person_is_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    Server(monkeypatch, WAITING)
    with pytest.raises(errors.PendingError, match="ask Ada") as caught:
        asyncio.run(caller().call("t", {}))
    assert caught.value.awaits_approval and caught.value.invocation_id == "inv_1"


def test_who_wants_to_wait_asks_again_until_the_call_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, [("waiting", WAITING)], WAITING, DONE)
    assert asyncio.run(caller().call("t", {}, wait_seconds=30)) == {"a": 1}
    assert [request.method for request in server.asked] == ["POST", "GET", "GET"]
    assert server.asked[1].path == "/v1/calls/inv_1" and server.asked[1].headers["Prefer"] == "wait=20"


def test_an_earlier_result_is_asked_for_once_by_who_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, WAITING)
    with pytest.raises(errors.PendingError):
        asyncio.run(caller().result("inv/1"))
    (request,) = server.asked
    assert request.path == "/v1/calls/inv%2F1" and "Prefer" not in request.headers


def test_canceling_says_why_and_whether_it_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, {"is_acknowledged": True}, {})
    assert asyncio.run(caller().cancel("inv_1", "enough")) is True
    assert asyncio.run(caller().cancel("inv_1")) is False
    assert [(request.path, request.body) for request in server.asked] == [
        ("/v1/calls/inv_1/cancel", b'{"reason":"enough"}'),
        ("/v1/calls/inv_1/cancel", b"{}"),
    ]


def test_a_stream_that_ends_early_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Server(monkeypatch, [("call", {"invocation_id": "inv_1"})])
    with pytest.raises(errors.TransportError, match="before the call did"):
        asyncio.run(caller().call("t", {}))


def test_without_an_address_there_is_no_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FERRULE_URL", raising=False)
    with pytest.raises(ValueError, match="FERRULE_URL"):
        Caller()
