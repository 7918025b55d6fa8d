"""The OXP endpoint: its paths, and the order in which a request is checked (OXP-24, OXP-25).

The port's gate lets all requests through to here: `/health` needs no credential, and the other paths authenticate in
their own ways (`credentials`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from ferrule.infra.tasks import resolve
from ferrule.model.serving import OxpSettings
from ferrule.servers.asgi import JSON, ClientGone, HttpAnswer, HttpRequest, TooLarge
from ferrule.servers.auth.callers import Refused
from ferrule.servers.edge import Edge
from ferrule.servers.oxp.caller_tools import CallerToolsCache
from ferrule.servers.oxp.calls import OxpCalls
from ferrule.servers.oxp.credentials import OxpAuthenticator
from ferrule.servers.oxp.outcomes import encode_bad_request
from ferrule.servers.oxp.wire import OxpBadRequest, make_answer, read_call, read_list, require_json
from ferrule.servers.root import OpenEndpoint

VERSION = b"oxp-version"
_STATES = "/authorizations/"
_LONGEST_STATE = 256
_log = logging.getLogger("ferrule.oxp")

_Handle = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class OxpEndpoint:
    """The OXP paths of one process."""

    def __init__(self, edge: Edge) -> None:
        """Raises SettingsError."""
        self._edge = edge
        self._settings = edge.settings.oxp
        self._base = find_path_prefix(self._settings)
        self._door = OxpAuthenticator(edge)
        self._tools_cache = CallerToolsCache(edge.app)
        self._calling = OxpCalls(edge, self._tools_cache)
        self._table: dict[str, tuple[str, _Handle]] = {
            "/health": ("GET", self._answer_health),
            "/tools": ("GET", self._list_tools),
            "/tools/call": ("POST", self._call_tool),
        }

    def paths(self) -> dict[str, OpenEndpoint]:
        """Returns the paths to serve.

        At the root of the port it takes only its own paths and leaves the rest to the others, `/health` included, which
        means the same there.
        """
        if self._base:
            return {f"{self._base}/": self, self._base: self}
        return {path: self for path in (*self._table, _STATES) if path != "/health"}

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answers one request."""
        path = request.path[len(self._base) :]
        found = self._table.get(path)
        if found is None and path.startswith(_STATES) and path != _STATES:
            found = ("GET", self._answer_authorization)
        if found is None:
            return make_answer(404, {"message": "there is nothing at this path"})
        method, handle = found
        if request.method != method:
            return make_answer(405, {"message": f"this path takes {method}"}, ((b"allow", method.encode()),))
        try:
            return await handle(request)
        except OxpBadRequest as refusal:
            return encode_bad_request(refusal)
        except Refused as refused:
            self._edge.refusals.report(refused.detail, f"oxp {refused.code}")
            return _encode_refusal(refused)
        except TooLarge:
            return make_answer(413, {"message": "the body has more bytes than are taken here"})
        except ClientGone:
            raise
        except Exception:  # a bug of ours: the client learns that there was one, the log which
            _log.exception("%s %r could not be answered", request.method, path)
            return make_answer(500, {"message": "the server failed; its log tells why"})

    async def _answer_health(self, request: HttpRequest) -> HttpAnswer:
        """Answers without authentication (OXP-19)."""
        is_ready = not self._edge.app.services.live.is_closing
        return make_answer(200, {"status": "ok"}) if is_ready else make_answer(503, {"status": "stopping"})

    async def _list_tools(self, request: HttpRequest) -> HttpAnswer:
        caller = await self._door.caller(request)
        body = await resolve(request.read(self._edge.settings.limits.body_bytes))
        if body.strip():
            require_json(request.header(b"content-type"), is_optional=True)
        read_list(body, request.header(VERSION))
        tools = await self._calling.load_tools(caller)
        return HttpAnswer(200, tools.encode_listing(is_compat=self._settings.compat), [JSON])

    async def _call_tool(self, request: HttpRequest) -> HttpAnswer:
        caller = await self._door.caller(request)
        require_json(request.header(b"content-type"))
        body = await resolve(request.read(self._edge.settings.limits.body_bytes))
        call, is_bare = read_call(body, request.header(VERSION), is_compat=self._settings.compat)
        if is_bare:
            _log.warning("a call came without its envelope, as later drafts of the protocol have it")
        where = self._find_address(request)
        return await self._calling.answer(caller, call, lambda state: f"{where}{_STATES}{state}", is_bare=is_bare)

    async def _answer_authorization(self, request: HttpRequest) -> HttpAnswer:
        """Answers with the status of an authorization (OXP-41). Knowing its state is the credential; the answer holds
        nothing else.
        """
        state = request.path[len(self._base) + len(_STATES) :]
        if len(state) > _LONGEST_STATE or not state.isascii():
            return make_answer(404, {"message": "there is nothing at this path"})
        return make_answer(200, {"status": self._edge.app.authorizations.status(state)})

    def _find_address(self, request: HttpRequest) -> str:
        """Returns the address that clients reach this server at."""
        public = self._edge.settings.public_url.rstrip("/")
        host = request.header(b"host") or "localhost"
        own = f"{request.scope.get('scheme', 'http')}://{host}"
        return f"{public or own}{self._base}"


def find_path_prefix(settings: OxpSettings) -> str:
    """Returns the path prefix of OXP; empty at the root of the port."""
    return f"/{settings.path.strip('/')}".rstrip("/")


def _encode_refusal(refused: Refused) -> HttpAnswer:
    made = make_answer(refused.status, {"message": refused.reason})
    if refused.challenge:
        made.headers.append((b"www-authenticate", refused.challenge.encode("latin-1")))
    if refused.retry_after is not None:
        made.headers.append((b"retry-after", str(max(1, round(refused.retry_after))).encode()))
    return made
