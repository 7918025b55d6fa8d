"""The HTTP API of one process: finds the route, checks the request against it, and encodes replies and problems.

`servers/root` stands above it; routes stand below. It does not know what a route does.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.model.approval import Identity
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.background import Background
from ferrule.servers.api.openapi import openapi_document, reference_page
from ferrule.servers.api.replies import AnyReply, JsonReply, Problem, encode_reply, not_found, problem_of
from ferrule.servers.api.requests import choose_media_type
from ferrule.servers.api.route import ApiRoute, Router
from ferrule.servers.api.routes import ROUTES
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.auth.callers import Caller, Refused, has_scope
from ferrule.servers.edge import Edge
from ferrule.servers.root import OpenEndpoint, Response, encode_refusal, request_id_of

PREFIX = "/v1"
_OPEN_BYTES = 256 * 1024
"""Limit of a body that anybody may send, without a credential."""
_log = logging.getLogger("ferrule.serve")
_NO_SNIFFING: Header = (b"x-content-type-options", b"nosniff")
_ANYBODY = Caller(Identity("anybody", "http", frozenset()))


class HttpEndpoint:
    """The endpoint of everything below `/v1`."""

    scope: str | None = None
    """None: each route names its own scopes."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._router = Router(ROUTES)
        self._background = Background(edge.settings.limits.streams)
        edge.closing.append(self._background.aclose)

    def open_paths(self) -> dict[str, OpenEndpoint]:
        """Returns the paths that need no credential."""
        routes = {f"{PREFIX}{route.path}": self.respond_to_anybody for route in ROUTES if route.is_open}
        pages = {"/openapi.json": openapi_document, "/docs": reference_page}
        return {**{f"{PREFIX}{path}": self._open_page(page) for path, page in pages.items()}, **routes}

    def _open_page(self, page: Callable[[HttpRequest], HttpAnswer]) -> OpenEndpoint:
        def respond(request: HttpRequest) -> HttpAnswer:
            request_id = request_id_of(request, self._edge)
            try:
                answer = page(request)
            except Problem as problem:
                answer = problem.answer(request_id)
            _add_headers(answer, request_id)
            return answer

        return respond

    def respond_to_anybody(self, request: HttpRequest) -> Response:
        """Answers a request without a credential."""
        return self.respond(request, _ANYBODY)

    def respond(self, request: HttpRequest, caller: Caller) -> Response:
        """Answers a request of an authenticated caller; returns something to await where it has to wait."""
        request_id, route = request_id_of(request, self._edge), None
        answer: HttpAnswer | HttpStream
        try:
            ask = self._check(request, caller, request_id)
            if isinstance(ask, HttpAnswer):
                answer = ask
            else:
                route, replied = ask.route, self._serve(ask)
                if not isinstance(replied, _REPLIED):
                    return self._finish(ask, replied)
                answer = _encode(replied, request, route)
        except (Problem, FerruleError) as error:
            answer = self._encode_error(error, request, request_id)
        _add_headers(answer, request_id)
        return answer

    async def _finish(self, ask: Ask, replied: Awaitable[AnyReply]) -> HttpAnswer | HttpStream:
        answer: HttpAnswer | HttpStream
        try:
            answer = _encode(await replied, ask.request, ask.route)
        except (Problem, FerruleError) as error:
            answer = self._encode_error(error, ask.request, ask.request_id)
        _add_headers(answer, ask.request_id)
        return answer

    def refuse_method(self, request: HttpRequest) -> None:
        """Returns None: the route of each path decides which methods it takes."""

    def encode_refusal(self, refused: Refused, request_id: str) -> HttpAnswer:
        """Returns a refusal as problem details."""
        return encode_refusal(refused, request_id)

    def _encode_error(self, error: Problem | FerruleError, request: HttpRequest, request_id: str) -> HttpAnswer:
        problem = error if isinstance(error, Problem) else problem_of(error)
        if isinstance(error, FerruleError) and (problem is None or problem.status >= 500):
            _log.error("%s %r could not be answered (request %s): %s", request.method, request.path, request_id, error)
        return (problem or _BROKEN).answer(request_id)

    def reply(self, request: HttpRequest, caller: Caller) -> AnyReply | Awaitable[AnyReply]:
        """Answers a request with a value instead of bytes, for the console; returns something to await where it has to
        wait.

        Raises Problem, Refused and FerruleError.
        """
        ask = self._check(request, caller, request_id_of(request, self._edge))
        return ask if isinstance(ask, HttpAnswer) else self._serve(ask)

    def _check(self, request: HttpRequest, caller: Caller, request_id: str) -> Ask | HttpAnswer:
        """Returns the request with its route after checking its head; the answer itself for OPTIONS, which needs no
        route.
        """
        match = self._router.find(request.path.removeprefix(PREFIX))
        if match is None:
            raise not_found("there is nothing at this path; /v1/docs tells what there is")
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return HttpAnswer(204, b"", [(b"allow", _list_methods(match.routes))])
        route = match.routes.get(method)
        if route is None:
            raise _refuse_method(request, match.routes)
        _require_scope(route, caller)
        if choose_media_type(request, route.produces) is None:
            raise Problem(406, "not_acceptable", f"this is given as {' or '.join(route.produces)}")
        ask = Ask(request, caller, self._edge, self._background, route, match.parts, request_id)
        ask.read_head()
        return ask

    def _serve(self, ask: Ask) -> AnyReply | Awaitable[AnyReply]:
        """Reads the body and calls the route."""
        most = self._edge.settings.limits.body_bytes
        body = ask.request.read(min(most, _OPEN_BYTES) if ask.route.is_open and ask.route.body is not None else most)
        return self._serve_body(ask, body) if isinstance(body, bytes) else self._serve_later(ask, body)

    async def _serve_later(self, ask: Ask, body: Awaitable[bytes]) -> AnyReply:
        return await resolve(self._serve_body(ask, await body))

    def _serve_body(self, ask: Ask, body: bytes) -> AnyReply | Awaitable[AnyReply]:
        ask.read_body(body, self._edge.settings.limits.depth)
        return ask.route.serve(ask)


_REPLIED = (JsonReply, HttpAnswer, HttpStream)
_BROKEN = Problem(500, "internal_error", "the server failed; its log tells why")


def _encode(replied: AnyReply, request: HttpRequest, route: ApiRoute) -> HttpAnswer | HttpStream:
    return encode_reply(replied, request, is_tagged=route.is_tagged) if isinstance(replied, JsonReply) else replied


def _add_headers(answer: HttpAnswer | HttpStream, request_id: str) -> None:
    """Adds the headers that every answer of the API has."""
    # nosniff: a browser must not run a tool's output as a script or a page.
    answer.headers += ((b"x-request-id", request_id.encode()), _NO_SNIFFING)


def _list_methods(routes: Mapping[str, ApiRoute]) -> bytes:
    methods = [*routes, *(["HEAD"] if "GET" in routes else []), "OPTIONS"]
    return ", ".join(methods).encode()


def _refuse_method(request: HttpRequest, routes: Mapping[str, ApiRoute]) -> Problem:
    detail = f"{request.method[:20]} cannot be done here; this path takes {' and '.join(routes)}"
    return Problem(405, "method_not_allowed", detail, headers=[(b"allow", _list_methods(routes))])


def _require_scope(route: ApiRoute, caller: Caller) -> None:
    """Raises Refused when the caller's credential is not enough for a route."""
    if route.scopes and not any(has_scope(caller, scope) for scope in route.scopes):
        reason = f"this takes a credential with the scope {' or '.join(route.scopes)}"
        raise Refused(403, reason, code="insufficient_scope", scopes=route.scopes)
    if route.is_for_workspace and caller.identity.tenant is not None:
        raise Refused(
            403, "this is about the whole workspace, and the credential is for one tenant", code="tenant_only"
        )
