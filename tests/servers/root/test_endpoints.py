"""Endpoints behind the root: who reaches them, and what becomes of whatever they answer or raise, at once or later."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ferrule.model.approval import ADMIN
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import JSON, ClientGone, Header, HttpAnswer, HttpRequest, HttpStream, TooLarge
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.root import Response, Root
from tests.driven import driven
from tests.servers.local_server import running_server

PAGE = "https://app.example"


class FakeEndpoint:
    """Answers with what it is told to, and writes refusals as a text of its own."""

    scope: str | None = None

    def __init__(self) -> None:
        self.answer: Callable[[], Response] = lambda: HttpAnswer(200, b"fine")
        self.callers: list[Caller] = []

    def respond(self, request: HttpRequest, caller: Caller) -> Response:
        self.callers.append(caller)
        return self.answer()

    def refuse_method(self, request: HttpRequest) -> HttpAnswer | None:
        return HttpAnswer(405, b"", [(b"allow", b"POST")]) if request.method == "DELETE" else None

    def encode_refusal(self, refused: Refused, request_id: str) -> HttpAnswer:
        return HttpAnswer(refused.status, f"fake: {refused.code}".encode(), [JSON])


def ask(method: str = "POST", *headers: Header, path: str = "/fake") -> HttpRequest:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b""}

    scope = {"method": method, "path": path, "headers": [(b"host", b"localhost"), *headers]}
    return HttpRequest(scope, receive)


@asynccontextmanager
async def behind(folder: Path, settings: ServeSettings | None = None) -> AsyncIterator[tuple[Root, FakeEndpoint]]:
    async with running_server(folder, settings=settings) as stand:
        endpoint = FakeEndpoint()
        yield Root(stand.edge, {"/fake": endpoint}, {}), endpoint


async def settle(response: HttpAnswer | Awaitable[HttpAnswer | HttpStream | None]) -> HttpAnswer | None:
    answer = response if isinstance(response, HttpAnswer) else await response
    assert not isinstance(answer, HttpStream)
    return answer


def raising(error: Exception, *, is_later: bool) -> Callable[[], Response]:
    """An endpoint's work that fails: before it has to wait, or while it waits."""

    def now() -> Response:
        raise error

    async def later() -> HttpAnswer:
        raise error

    return later if is_later else now


@driven
async def test_a_request_that_nothing_waits_for_is_answered_without_awaiting(tmp_path: Path) -> None:
    async with behind(tmp_path) as (root, endpoint):
        answer = root.respond(ask())
        assert isinstance(answer, HttpAnswer) and answer.body == b"fine"
        assert len(endpoint.callers) == 1


@driven
@pytest.mark.parametrize("is_later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (Refused(429, "later", retry_after=3.2), 429, b"fake: too_many_requests"),
        (TooLarge(), 413, b"fake: too_large"),
        (RuntimeError("a mistake of ours"), 500, b"fake: internal_error"),
    ],
    ids=["refused", "too large", "broken"],
)
async def test_a_refusal_is_written_by_the_endpoint_and_completed_by_the_root(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception, status: int, body: bytes, is_later: bool
) -> None:
    async with behind(tmp_path) as (root, endpoint):
        endpoint.answer = raising(error, is_later=is_later)
        with caplog.at_level(logging.ERROR, "ferrule.serve"):
            answer = await settle(root.respond(ask("POST", (b"x-request-id", b"mine"))))
    assert answer is not None
    headers = dict(answer.headers)
    assert (answer.status, answer.body, headers[b"x-request-id"]) == (status, body, b"mine")
    assert headers.get(b"retry-after") == (b"4" if status == 429 else None)
    assert bool(caplog.records) is (status == 500)


@driven
@pytest.mark.parametrize("is_later", [False, True], ids=["at once", "later"])
async def test_a_client_that_went_away_is_answered_nothing(tmp_path: Path, is_later: bool) -> None:
    async with behind(tmp_path) as (root, endpoint):
        endpoint.answer = raising(ClientGone(), is_later=is_later)
        assert await settle(root.respond(ask())) is None


@driven
async def test_the_scope_of_an_endpoint_is_demanded_before_it_is_asked(tmp_path: Path) -> None:
    async with behind(tmp_path) as (root, endpoint):
        endpoint.scope = ADMIN
        answer = await settle(root.respond(ask()))
        assert answer is not None
        assert (answer.status, answer.body) == (403, b"fake: insufficient_scope")
        assert b"www-authenticate" in dict(answer.headers)
        assert not endpoint.callers


@driven
async def test_a_method_that_is_not_served_is_refused_whoever_asks(tmp_path: Path) -> None:
    async with behind(tmp_path, ServeSettings(auth=True)) as (root, endpoint):
        refused, unknown = await settle(root.respond(ask("DELETE"))), await settle(root.respond(ask()))
        assert refused is not None and unknown is not None
        assert (refused.status, unknown.status, unknown.body) == (405, 401, b"fake: unauthenticated")
        assert not endpoint.callers


@driven
async def test_a_request_for_another_host_is_refused_in_the_words_of_its_endpoint(tmp_path: Path) -> None:
    async with behind(tmp_path) as (root, endpoint):
        request = ask()
        request.headers = [(b"host", b"evil.example")]
        answer = root.respond(request)
        assert isinstance(answer, HttpAnswer)
        assert (answer.status, answer.body) == (421, b"fake: wrong_host")
        assert not endpoint.callers


@driven
@pytest.mark.parametrize("is_later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("is_refused", [False, True], ids=["answered", "refused"])
async def test_a_page_of_an_allowed_origin_may_read_every_answer(
    tmp_path: Path, is_later: bool, is_refused: bool
) -> None:
    async def fine() -> HttpAnswer:
        return HttpAnswer(200, b"fine")

    async with behind(tmp_path, ServeSettings(auth=False, origins=(PAGE,))) as (root, endpoint):
        if is_refused:
            endpoint.answer = raising(Refused(403, "no"), is_later=is_later)
        elif is_later:
            endpoint.answer = fine
        answer = await settle(root.respond(ask("POST", (b"origin", PAGE.encode()))))
        assert answer is not None
        assert [value for name, value in answer.headers if name == b"access-control-allow-origin"] == [PAGE.encode()]


@driven
async def test_the_gate_admits_a_request_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fine() -> HttpAnswer:
        return HttpAnswer(200, b"fine")

    async with running_server(tmp_path) as stand:
        endpoint, admitted = FakeEndpoint(), list[HttpRequest]()
        admit = stand.edge.gate.admit

        def count(request: HttpRequest) -> tuple[Header, ...]:
            admitted.append(request)
            return admit(request)

        monkeypatch.setattr(stand.edge.gate, "admit", count)
        root = Root(stand.edge, {"/fake": endpoint}, {})
        root.respond(ask())
        endpoint.answer = fine
        await settle(root.respond(ask()))
        assert len(admitted) == 2
