"""The application of a process: admits requests, passes them to the endpoint of the path, answers `/health` and `/ready`.

`/health` says that the process lives; `/ready` says whether it can be given work, for load balancers. Above it stand
`servers/http1`, or any ASGI server, and `servers/serving`, which joins the endpoints of a workspace; below it the gate of
`servers/auth`. It knows no protocol above HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from math import ceil
from typing import Protocol, TypeAlias

import msgspec

from ferrule.infra.tasks import resolve
from ferrule.runtime.policy.load import RefusingPolicy
from ferrule.servers.asgi import (
    JSON,
    ClientGone,
    Header,
    HttpAnswer,
    HttpRequest,
    HttpStream,
    Receive,
    Scope,
    Send,
    TooLarge,
)
from ferrule.servers.auth.callers import Caller, Refused, has_scope, require_scopes
from ferrule.servers.auth.hosts import answer_preflight
from ferrule.servers.auth.metadata import WELL_KNOWN
from ferrule.servers.edge import Edge

_log = logging.getLogger("ferrule.serve")
_READING = "GET, HEAD, OPTIONS"
_REQUEST_ID = re.compile(rb"[!-~]{1,128}")
_NO_SNIFFING: Header = (b"x-content-type-options", b"nosniff")

Response: TypeAlias = HttpAnswer | HttpStream | Awaitable[HttpAnswer | HttpStream]
"""An answer, or something to await for one."""
OpenEndpoint: TypeAlias = Callable[[HttpRequest], Response]
"""Answers requests of anybody: health, metadata. It authenticates nobody, or in a way of its own."""


class Endpoint(Protocol):
    """Answers requests of callers that the gate let in."""

    @property
    def scope(self) -> str | None:
        """The scope that every request needs. None: the endpoint asks for what each operation needs."""

    def respond(self, request: HttpRequest, caller: Caller) -> Response:
        """Answers a request; returns something to await where it has to wait. Raises Refused, TooLarge and ClientGone."""

    def refuse_method(self, request: HttpRequest) -> HttpAnswer | None:
        """Returns the answer to an HTTP method that is not served here, whoever asks; None for one that is."""

    def encode_refusal(self, refused: Refused, request_id: str) -> HttpAnswer:
        """Writes a refusal in the words of the endpoint's protocol. The root adds the headers that all refusals have."""


class _Open:
    """An endpoint without the gate before it."""

    __slots__ = ("respond",)

    def __init__(self, respond: OpenEndpoint) -> None:
        self.respond = respond


class Root:
    """Host and Origin first, then who calls, then the endpoint that the path belongs to."""

    def __init__(
        self, edge: Edge, endpoints: Mapping[str, Endpoint], open_endpoints: Mapping[str, OpenEndpoint]
    ) -> None:
        """`endpoints`: by path; one that ends in `/` takes everything below it."""
        self._edge = edge
        metadata = edge.gate.metadata.answer
        opened = {WELL_KNOWN: metadata, f"{WELL_KNOWN}/": metadata, **open_endpoints}
        self._exact = {path: one for path, one in endpoints.items() if not path.endswith("/")}
        self._open = {path: _Open(one) for path, one in opened.items() if not path.endswith("/") or path == "/"}
        self._below: list[tuple[str, Endpoint | _Open]] = [
            *((path, _Open(one)) for path, one in opened.items() if path.endswith("/") and path != "/"),
            *((path, one) for path, one in endpoints.items() if path.endswith("/")),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request of an ASGI server."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            return
        response = self.respond(HttpRequest(scope, receive, send))
        answer = response if isinstance(response, HttpAnswer) else await response
        if answer is not None:
            await answer.send(send)

    def respond(self, request: HttpRequest) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream | None]:
        """Answers one request, whatever goes wrong with it; returns something to await where it has to wait, which gives None
        when the client went away."""
        for_browsers: tuple[Header, ...] = ()
        response: Response | None
        try:
            for_browsers = self._edge.gate.admit(request)
            # Browsers send preflights without a credential, so they are answered before anybody asks for one.
            asked = answer_preflight(request) if for_browsers and request.method == "OPTIONS" else None
            response = asked or self._route(request)
        except Exception as error:
            response = self._explain(request, error)
        if isinstance(response, HttpAnswer):
            # On refusals too: without these headers a page cannot read why it was refused.
            if for_browsers:
                response.headers.extend(for_browsers)
            return response
        return self._finish(request, response, for_browsers)

    async def _finish(
        self,
        request: HttpRequest,
        response: HttpStream | Awaitable[HttpAnswer | HttpStream] | None,
        for_browsers: tuple[Header, ...],
    ) -> HttpAnswer | HttpStream | None:
        """Waits for the answer that `respond` could not give at once."""
        answer: HttpAnswer | HttpStream | None
        try:
            answer = response if response is None or isinstance(response, HttpStream) else await response
        except Exception as error:
            answer = self._explain(request, error)
        if answer is not None:
            answer.headers.extend(for_browsers)
        return answer

    def _route(self, request: HttpRequest) -> Response:
        endpoint = self._exact.get(request.path) or self._find(request.path)
        if endpoint is None:
            raise Refused(404, "there is nothing at this path; /v1/docs tells what there is", code="not_found")
        if isinstance(endpoint, _Open):
            return endpoint.respond(request)
        refused = endpoint.refuse_method(request)
        if refused is not None:
            return refused
        caller = self._edge.gate.caller(request)
        if isinstance(caller, Caller):
            return _ask(endpoint, request, caller)
        return _ask_later(endpoint, request, caller)

    def _find(self, path: str) -> Endpoint | _Open | None:
        found = self._exact.get(path) or self._open.get(path)
        if found is None:
            found = next((one for base, one in self._below if path.startswith(base)), None)
        return found or self._exact.get(path.rstrip("/"))

    def _explain(self, request: HttpRequest, error: Exception) -> HttpAnswer | None:
        """Writes what a client is told that is not let in, or not answered; None for one that went away."""
        if isinstance(error, ClientGone):
            return None
        request_id = request_id_of(request, self._edge)
        if isinstance(error, TooLarge):
            error = Refused(413, "the body has more bytes than are taken here", code="too_large")
        elif not isinstance(error, Refused):
            # A mistake of ours: the client learns that there was one, the log what it was.
            _log.error("%s %r could not be answered (request %s)", request.method, request.path, request_id,
                       exc_info=error)  # fmt: skip
            error = Refused(500, "the server failed; its log tells why", code="internal_error")
        self._edge.refusals.report(error.detail, error.code)
        if error.scopes and not error.challenge:
            error.challenge = self._edge.gate.challenge(request, error.scopes)
        endpoint = self._find(request.path)
        # In the words of the path's protocol: an MCP client can show a JSON-RPC error, not problem details.
        encode = encode_refusal if endpoint is None or isinstance(endpoint, _Open) else endpoint.encode_refusal
        answer = encode(error, request_id)
        answer.headers += (*_headers_of(error), (b"x-request-id", request_id.encode()))
        return answer


def _ask(endpoint: Endpoint, request: HttpRequest, caller: Caller) -> Response:
    scope = endpoint.scope
    if scope is not None and not has_scope(caller, scope):
        require_scopes(caller, scope)
    return endpoint.respond(request, caller)


async def _ask_later(endpoint: Endpoint, request: HttpRequest, caller: Awaitable[Caller]) -> HttpAnswer | HttpStream:
    return await resolve(_ask(endpoint, request, await caller))


def request_id_of(request: HttpRequest, edge: Edge) -> str:
    """The id a request came with, if it can be used; else a new one."""
    given = request.all_headers(b"x-request-id")
    if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return edge.app.new_id("req")


def problem(status: int, code: str, detail: str, **more: object) -> HttpAnswer:
    """Problem details (RFC 9457)."""
    body = {"type": f"https://ferrule.dev/problems/{code}", "title": code.replace("_", " "), "status": status,
            "code": code, "detail": detail, **more}  # fmt: skip
    return HttpAnswer(status, msgspec.json.encode(body), [(b"content-type", b"application/problem+json")])


def encode_refusal(refused: Refused, request_id: str) -> HttpAnswer:
    """Writes a refusal as problem details."""
    answer = problem(refused.status, refused.code, refused.reason, request_id=request_id)
    answer.headers.append(_NO_SNIFFING)
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

    def respond(request: HttpRequest) -> Response:
        if request.method == "OPTIONS":
            return HttpAnswer(204, b"", [(b"allow", _READING.encode())])
        if request.method not in ("GET", "HEAD"):
            reason = f"{request.method[:20]} cannot be done here; this path takes GET"
            raise Refused(405, reason, code="method_not_allowed", allow=_READING)
        return read(request)

    return respond


def health(request: HttpRequest) -> HttpAnswer:
    """`GET /health`: the process lives."""
    return HttpAnswer(200, b'{"status":"ok"}', [JSON])


_SECONDS = 2.0


def readiness(edge: Edge) -> OpenEndpoint:
    """Ready means: the keys and the ledger can be read, the policy can be used, and the process is not about to stop."""

    async def ready(request: HttpRequest) -> HttpAnswer:
        problem = await _find_problem(edge)
        body = {"status": "ready"} if problem is None else {"status": "not ready", "reason": problem}
        return HttpAnswer(200 if problem is None else 503, msgspec.json.encode(body), [JSON])

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
