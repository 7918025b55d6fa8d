"""The ASGI application of a process: admits requests, passes them to the server of the path, answers `/health` and `/ready`.

`/health` says that the process lives; `/ready` says whether it can be given work, for load balancers. Above it stands
`servers/serving`, which joins the servers of a workspace; below it the gate of `servers/auth`. It knows no protocol
above HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from math import ceil

import msgspec

from ferrule.model.approval import CALL
from ferrule.runtime.policy.load import RefusingPolicy
from ferrule.servers.asgi import (
    JSON,
    Answer,
    ClientGone,
    Header,
    Receive,
    Request,
    Scope,
    Send,
    Stream,
    TooLarge,
    resolve,
)
from ferrule.servers.auth.callers import Caller, Refused, demand, holds
from ferrule.servers.auth.hosts import preflight
from ferrule.servers.auth.metadata import WELL_KNOWN
from ferrule.servers.edge import Edge

_log = logging.getLogger("ferrule.serve")
_READING = "GET, HEAD, OPTIONS"
_REQUEST_ID = re.compile(rb"[!-~]{1,128}")

Endpoint = Callable[[Request, Caller], Awaitable[Answer | Stream]]
"""Answers requests of callers who were let in."""
CallAtOnce = Callable[[Request, Caller], Answer | Awaitable[Answer | Stream] | None]
"""What an endpoint answers without waiting for anything, or what is left to be awaited for it; None when nothing was done."""
OpenEndpoint = Callable[[Request], Awaitable[Answer | Stream]]
"""Answers requests of anybody: health, metadata. It authenticates nobody, or in a way of its own."""


class Root:
    """Host and Origin first, then who calls, then the server the path belongs to."""

    def __init__(self, edge: Edge, endpoints: dict[str, Endpoint], open_endpoints: dict[str, OpenEndpoint]) -> None:
        """`endpoints`: by path; one that ends in `/` takes everything below it."""
        self._edge = edge
        self._exact = {path: endpoint for path, endpoint in endpoints.items() if not path.endswith("/")}
        self._below = [(path, endpoint) for path, endpoint in endpoints.items() if path.endswith("/")]
        self._calls = endpoints.get(edge.settings.mcp.path)
        """Where everything takes the call scope; other servers ask for what each operation needs."""
        self._calls_path = edge.settings.mcp.path
        self._calls_at_once: CallAtOnce | None = getattr(self._calls, "at_once", None)
        self._calls_refusal: Callable[[Refused], Answer] | None = getattr(self._calls, "refusal", None)
        open_endpoints = {
            WELL_KNOWN: edge.gate.metadata.answer,
            f"{WELL_KNOWN}/": edge.gate.metadata.answer,
            **open_endpoints,
        }
        self._open_below = [(path, one) for path, one in open_endpoints.items() if path.endswith("/") and path != "/"]
        self._open = {path: one for path, one in open_endpoints.items() if not path.endswith("/") or path == "/"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            return
        answer = await self.respond(Request(scope, receive, send))
        if answer is not None:
            await answer.send(send)

    def respond_now(self, request: Request) -> Answer | Awaitable[Answer | Stream | None] | None:
        """The answer to a call that nothing has to be waited for, or what is left to be awaited for it. None when nothing was
        done: then it is for `respond`, which also says what is wrong."""
        gate = self._edge.gate
        if self._calls_at_once is None or request.path != self._calls_path or request.method != "POST":
            return None
        try:
            caller = None if gate.admit(request) else gate.known(request)
            if caller is None or not holds(caller, CALL):
                return None
        except Refused:
            return None
        try:
            given = self._calls_at_once(request, caller)
        except Exception as error:
            given = _raised(error)
        return given if given is None or isinstance(given, Answer) else self.respond(request, given)

    async def respond(
        self, request: Request, begun: Awaitable[Answer | Stream] | None = None
    ) -> Answer | Stream | None:
        """The answer to one request, whatever goes wrong with it; None when its client went away. `begun`: what is left of it,
        for one that was let in and begun already."""
        for_browsers: Sequence[Header] = ()
        answer: Answer | Stream
        try:
            for_browsers = self._edge.gate.admit(request)
            asked = preflight(request) if for_browsers and request.method == "OPTIONS" else None
            answer = asked or await (self._answer(request) if begun is None else begun)
        except ClientGone:
            return None
        except Exception as error:
            answer = self._told(request, error)
        if for_browsers:
            answer.headers.extend(for_browsers)
        return answer

    def _told(self, request: Request, error: Exception) -> Answer:
        """What a client is told that is not let in, or not answered."""
        request_id = request_id_of(request, self._edge)
        if isinstance(error, TooLarge):
            error = Refused(413, "the body has more bytes than are taken here", code="too_large")
        elif not isinstance(
            error, Refused
        ):  # a mistake of ours: the client learns that there was one, the log what it was
            _log.error("%s %r could not be answered (request %s)", request.method, request.path, request_id,
                       exc_info=error)  # fmt: skip
            error = Refused(500, "the server failed; its log tells why", code="internal_error")
        self._edge.refusals.tell(error.detail, error.code)
        if error.scopes and not error.challenge:
            error.challenge = self._edge.gate.challenge(request, error.scopes)
        if self._calls_refusal is not None and request.path == self._calls_path:
            answer = self._calls_refusal(error)
            answer.headers += _headers_of(error)
        else:
            answer = refusal(error, request_id)
        answer.headers.append((b"x-request-id", request_id.encode()))
        return answer

    async def _answer(self, request: Request) -> Answer | Stream:
        path = request.path
        endpoint = self._exact.get(path)
        if endpoint is None:
            opened = self._open.get(path) or next(
                (one for base, one in self._open_below if path.startswith(base)), None
            )
            if opened is not None:
                return await opened(request)
            endpoint = next((one for base, one in self._below if path.startswith(base)), None)
        if endpoint is None:
            endpoint = self._exact.get(path.rstrip("/"))
        if endpoint is None:
            raise Refused(404, "there is nothing at this path; /v1/docs tells what there is", code="not_found")
        if request.method != "POST" and (refused := _refused_method(endpoint, request)) is not None:
            return refused
        caller = await resolve(self._edge.gate.caller(request))
        if endpoint is self._calls:
            demand(caller, CALL)
        return await endpoint(request, caller)


def request_id_of(request: Request, edge: Edge) -> str:
    """The id a request came with, if it can be used; else a new one."""
    given = request.all_headers(b"x-request-id")
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return edge.app.new_id("req")


async def _raised(error: Exception) -> Answer:
    raise error


def _refused_method(endpoint: Endpoint, request: Request) -> Answer | None:
    """What an endpoint answers that says by itself which methods it takes, whoever asks."""
    refuses: Callable[[Request], Answer | None] | None = getattr(endpoint, "refuses", None)
    return None if refuses is None else refuses(request)


def problem(status: int, code: str, detail: str, **more: object) -> Answer:
    """Problem details (RFC 9457)."""
    body = {"type": f"https://ferrule.dev/problems/{code}", "title": code.replace("_", " "), "status": status,
            "code": code, "detail": detail, **more}  # fmt: skip
    return Answer(status, msgspec.json.encode(body), [(b"content-type", b"application/problem+json")])


def refusal(refused: Refused, request_id: str) -> Answer:
    """What somebody is told who is not let in."""
    answer = problem(refused.status, refused.code, refused.reason, request_id=request_id)
    answer.headers += _headers_of(refused)
    return answer


def _headers_of(refused: Refused) -> list[Header]:
    headers: list[Header] = []
    if refused.challenge:
        headers.append((b"www-authenticate", refused.challenge.encode("latin-1")))
    if refused.retry_after is not None:
        headers.append((b"retry-after", str(max(1, ceil(refused.retry_after))).encode()))
    if refused.allow:
        headers.append((b"allow", refused.allow.encode()))
    return headers


def only_read(read: OpenEndpoint) -> OpenEndpoint:
    """An endpoint for anybody that takes no method but those that read."""

    async def answer(request: Request) -> Answer | Stream:
        if request.method == "OPTIONS":
            return Answer(204, b"", [(b"allow", _READING.encode())])
        if request.method not in ("GET", "HEAD"):
            reason = f"{request.method[:20]} cannot be done here; this path takes GET"
            raise Refused(405, reason, code="method_not_allowed", allow=_READING)
        return await read(request)

    return answer


async def health(request: Request) -> Answer:
    """`GET /health`: the process lives."""
    return Answer(200, b'{"status":"ok"}', [JSON])


_SECONDS = 2.0


def readiness(edge: Edge) -> OpenEndpoint:
    """Ready means: the keys and the ledger can be read, the policy can be used, and the process is not about to stop."""

    async def ready(request: Request) -> Answer:
        problem = await _find_problem(edge)
        body = {"status": "ready"} if problem is None else {"status": "not ready", "reason": problem}
        return Answer(200 if problem is None else 503, msgspec.json.encode(body), [JSON])

    return ready


async def _find_problem(edge: Edge) -> str | None:
    if edge.is_closing:
        return "stopping"
    if (problem := edge.gate.problem()) is not None:
        _log.warning("not ready: the keys cannot be read: %s", problem)
        return "the keys cannot be read"
    try:
        await asyncio.wait_for(edge.app.store.rows_before(None, 1), _SECONDS)
    except Exception as error:  # whatever it is, calls would meet it too; strangers are told no more than that
        _log.warning("not ready: the ledger cannot be read: %s", error)
        return "the ledger cannot be read"
    edge.app.generation()  # a mended policy counts from now on
    return "the policy cannot be used" if isinstance(edge.app.policy, RefusingPolicy) else None
