"""The HTTP API of one process: finds the route, checks what is asked against it, and says in one way what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping

from ferrule.errors import FerruleError
from ferrule.model.approval import Identity
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.background import Background
from ferrule.servers.api.openapi import openapi_document, reference_page
from ferrule.servers.api.replies import Problem, Replied, Reply, not_found, problem_of, written
from ferrule.servers.api.requests import accepted, body_of, pairs_of, query_of
from ferrule.servers.api.route import Route, Router
from ferrule.servers.api.routes import ROUTES
from ferrule.servers.asgi import Answer, ClientGone, Header, Request, Stream, TooLarge, resolve
from ferrule.servers.auth.callers import Caller, Refused, holds
from ferrule.servers.edge import Edge
from ferrule.servers.root import OpenEndpoint, refusal, request_id_of

PREFIX = "/v1"
_OPEN_BYTES = 256 * 1024
"""Of a body that anybody may send, without a credential."""
_log = logging.getLogger("ferrule.serve")
_NO_SNIFFING: Header = (b"x-content-type-options", b"nosniff")
_ANYBODY = Caller(Identity("anybody", "http", frozenset()))


class HttpEndpoint:
    """Everything below `/v1` that takes a credential."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._router = Router(ROUTES)
        self._background = Background(edge.settings.limits.streams)
        edge.closing.append(self._background.aclose)

    def open_paths(self) -> dict[str, OpenEndpoint]:
        """The paths that take no credential."""
        routes = {f"{PREFIX}{route.path}": self.open for route in ROUTES if route.is_open}
        pages = {"/openapi.json": openapi_document, "/docs": reference_page}
        return {**{f"{PREFIX}{path}": self._page(page) for path, page in pages.items()}, **routes}

    def _page(self, page: OpenEndpoint) -> OpenEndpoint:
        async def answer(request: Request) -> Answer | Stream:
            request_id = request_id_of(request, self._edge)
            return await self._told(request, page(request), request_id)

        return answer

    async def open(self, request: Request) -> Answer | Stream:
        """Answer one request of anybody."""
        return await self(request, _ANYBODY)

    async def __call__(self, request: Request, caller: Caller) -> Answer | Stream:
        """Answer one request of an authenticated caller."""
        request_id = request_id_of(request, self._edge)
        return await self._told(request, self._answer(request, caller, request_id), request_id)

    async def _told(self, request: Request, work: Awaitable[Answer | Stream], request_id: str) -> Answer | Stream:
        """An answer, whatever goes wrong with it."""
        try:
            answer = await work
        except ClientGone:
            raise
        except TooLarge:
            answer = Problem(413, "too_large", "the body has more bytes than are taken here").answer(request_id)
        except Problem as problem:
            answer = problem.answer(request_id)
        except Refused as refused:
            if refused.scopes and not refused.challenge:
                refused.challenge = self._edge.gate.challenge(request, refused.scopes)
            answer = refusal(refused, request_id)
        except FerruleError as error:
            answer = self._failed(error, request, request_id)
        except Exception:
            _log.exception("%s %r could not be answered (request %s)", request.method, request.path, request_id)
            answer = _broken(request_id)
        answer.headers += ((b"x-request-id", request_id.encode()), _NO_SNIFFING)
        return answer

    def _failed(self, error: FerruleError, request: Request, request_id: str) -> Answer:
        problem = problem_of(error)
        if problem is None or problem.status >= 500:
            _log.error("%s %r could not be answered (request %s): %s", request.method, request.path, request_id, error)
        return _broken(request_id) if problem is None else problem.answer(request_id)

    async def _answer(self, request: Request, caller: Caller, request_id: str) -> Answer | Stream:
        replied, is_tagged = await self._replied(request, caller, request_id)
        return written(replied, request, is_tagged=is_tagged) if isinstance(replied, Reply) else replied

    async def reply(self, request: Request, caller: Caller) -> Replied:
        """The same for whoever shows the answer here, as a value instead of bytes. Raises Problem, Refused and FerruleError."""
        return (await self._replied(request, caller, request_id_of(request, self._edge)))[0]

    async def _replied(self, request: Request, caller: Caller, request_id: str) -> tuple[Replied, bool]:
        """What a route says, and whether that carries an ETag."""
        match = self._router.find(request.path.removeprefix(PREFIX))
        if match is None:
            raise not_found("there is nothing at this path; /v1/docs tells what there is")
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return Answer(204, b"", [(b"allow", _allowed(match.routes))]), False
        route = match.routes.get(method)
        if route is None:
            raise _not_allowed(request, match.routes)
        _demand(route, caller)
        if accepted(request, route.produces) is None:
            raise Problem(406, "not_acceptable", f"this is given as {' or '.join(route.produces)}")
        ask = Ask(request, caller, self._edge, self._background, route, match.parts, request_id)
        await self._read(ask)
        return await route.serve(ask), route.is_tagged

    async def _read(self, ask: Ask) -> None:
        route, limits = ask.route, self._edge.settings.limits
        ask.pairs = pairs_of(ask.request.query)
        query = query_of(ask.pairs, route.query)
        for field in route.headers:
            ask.header(field)
        body = None
        if route.body is not None:
            body = await body_of(
                ask.request,
                route.body,
                limit=min(limits.body_bytes, _OPEN_BYTES) if route.is_open else limits.body_bytes,
                depth=limits.depth,
                is_optional=route.is_body_optional,
            )
        else:
            await resolve(ask.request.read(limits.body_bytes))  # what nobody asked for is not looked at
        ask.read(query, body)


def _allowed(routes: Mapping[str, Route]) -> bytes:
    methods = [*routes, *(["HEAD"] if "GET" in routes else []), "OPTIONS"]
    return ", ".join(methods).encode()


def _not_allowed(request: Request, routes: Mapping[str, Route]) -> Problem:
    detail = f"{request.method[:20]} cannot be done here; this path takes {' and '.join(routes)}"
    return Problem(405, "method_not_allowed", detail, headers=[(b"allow", _allowed(routes))])


def _demand(route: Route, caller: Caller) -> None:
    """Raises Refused when the caller's credential is not enough for a route."""
    if route.scopes and not any(holds(caller, scope) for scope in route.scopes):
        reason = f"this takes a credential with the scope {' or '.join(route.scopes)}"
        raise Refused(403, reason, code="insufficient_scope", scopes=route.scopes)
    if route.is_for_workspace and caller.identity.tenant is not None:
        raise Refused(
            403, "this is about the whole workspace, and the credential is for one tenant", code="tenant_only"
        )


def _broken(request_id: str) -> Answer:
    return Problem(500, "internal_error", "the server failed; its log tells why").answer(request_id)
