"""The console of one process: signs people in, finds their page, and says in one way what went wrong.

Nothing here decides what somebody may see or do. The credential in the cookie goes through the same gate as everybody's, and
pages ask the HTTP API.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import parse_qsl, quote

from ferrule.access import Access
from ferrule.errors import FerruleError
from ferrule.servers.asgi import EVENTS, NO_CACHE, Answer, ClientGone, Header, Request, Stream, TooLarge
from ferrule.servers.callers import Caller, Refused
from ferrule.servers.console.api import Api
from ferrule.servers.console.entry import BASE
from ferrule.servers.console.live import Live
from ferrule.servers.console.pages import PAGES
from ferrule.servers.console.rendering import rendered
from ferrule.servers.console.sign_in import Cookies
from ferrule.servers.console.static import static_file
from ferrule.servers.console.view import HTML, NO_STORE, View
from ferrule.servers.edge import Edge
from ferrule.servers.http.endpoint import HttpEndpoint
from ferrule.servers.http.problems import Problem, problem_of
from ferrule.servers.http.route import Router

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_GUARDS: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_FORM_BYTES = 4 * 1024**2
_FORM = "application/x-www-form-urlencoded"
_log = logging.getLogger("ferrule.serve")


class ConsoleEndpoint:
    """Everything below `/console`."""

    def __init__(self, edge: Edge, api: HttpEndpoint) -> None:
        self._edge = edge
        self._api = api
        self._access = Access(edge.app.root)
        self._cookies = Cookies(
            edge.app.services.sealing.secret,
            str(edge.app.root),
            is_secure=edge.settings.public_url.startswith("https:"),
        )
        self._router = Router(PAGES)
        self._live = Live(edge)
        self._shared: dict[str, Any] = {}

    async def __call__(self, request: Request) -> Answer | Stream:
        """Answer one request of anybody."""
        path = request.path.removeprefix(BASE)
        if path.startswith("/static/"):
            answer: Answer | Stream = static_file(request, path.removeprefix("/static/")) or Answer(404)
        else:
            answer = await self._guarded(request, path)
        answer.headers += _GUARDS
        return answer

    async def _guarded(self, request: Request, path: str) -> Answer | Stream:
        try:
            match path:
                case "/login":
                    return await self._login(request)
                case "/logout":
                    return await self._logout(request)
                case _:
                    return await self._answer(request, path)
        except (ClientGone, TooLarge):
            raise
        except Refused as refused:
            if refused.status == 401:
                return _to_login(request)
            return _wrong(request, refused.status, refused.reason)
        except Problem as problem:
            return _wrong(request, problem.status, problem.detail)
        except FerruleError as error:
            known = problem_of(error)
            if known is None or known.status >= 500:
                _log.error("%s %r could not be answered: %s", request.method, request.path, error)
            return _wrong(request, *((known.status, known.detail) if known else (500, _BROKEN)))
        except Exception:
            _log.exception("%s %r could not be answered", request.method, request.path)
            return _wrong(request, 500, _BROKEN)

    async def _answer(self, request: Request, path: str) -> Answer | Stream:
        cookie = self._cookies.cookie_in(request)
        caller = await self._caller(request, cookie)
        if path == "/live":
            return Stream(200, self._live.listen(), [EVENTS, NO_CACHE])
        match = self._router.find(path)
        if match is None:
            raise Problem(404, "not_found", "There is no such page.")
        page = match.routes.get("GET" if request.method == "HEAD" else request.method)
        if page is None:
            raise Problem(405, "method_not_allowed", "That cannot be done here.")
        api = Api(self._api, request, caller)
        proof = self._cookies.proof(cookie)
        view = View(request, caller, api, self._edge, match.parts, proof, self._shared)
        if page.method != "GET":
            await self._read(view, cookie)
        return await page.serve(view)

    async def _caller(self, request: Request, cookie: str) -> Caller:
        """Who looks. The credential of a cookie is put where every other is. Raises Refused."""
        credential = self._cookies.credential(cookie) if cookie else None
        if credential is not None:
            kept = [pair for pair in request.headers if pair[0] != b"authorization"]
            request.headers = [*kept, (b"authorization", f"Bearer {credential}".encode("latin-1", "replace"))]
        else:  # a cookie is the only way in: what a browser adds by itself is not
            request.headers = [pair for pair in request.headers if pair[0] != b"authorization"]
        return await self._edge.gate.caller(request)

    async def _read(self, view: View, cookie: str) -> None:
        """What changes something comes from one of our own pages. Raises Refused and Problem."""
        kind = (view.request.header(b"content-type") or "").partition(";")[0].strip().lower()
        if kind != _FORM:
            raise Problem(415, "unsupported_media_type", f"Forms are sent as {_FORM}.")
        try:
            await view.read_form(min(_FORM_BYTES, self._edge.settings.limits.body_bytes))
        except ValueError:
            raise Problem(400, "malformed_request", "The form cannot be read.") from None
        given = view.request.header(b"x-ferrule-proof") or view.said("proof")
        if not self._cookies.is_proof(cookie, given):
            raise Refused(403, "This page is too old, or was not ours. Load it again, then do it again.")

    # Signing in and out

    async def _login(self, request: Request) -> Answer:
        said = _pairs(request.query)
        if request.method == "POST":
            said |= _pairs(await request.body(_FORM_BYTES))
            credential: str | None = said.get("token", "").strip()
        else:
            credential = self._access.redeemed(said["code"]) if said.get("code") else None
        there = said.get("next", "")
        if credential is None and "code" not in said:
            return self._form(there)
        if credential:
            try:
                request.headers = [pair for pair in request.headers if pair[0] != b"authorization"]
                request.headers.append((b"authorization", f"Bearer {credential}".encode("latin-1")))
                await self._edge.gate.caller(request)
            except (Refused, UnicodeError):
                credential = None
        if not credential:
            wrong = "That link was used already, or is too old." if "code" in said else "That token is not valid here."
            return self._form(there, wrong, status=401)
        target = there if there.startswith(f"{BASE}/") and "\\" not in there else f"{BASE}/"
        return Answer(303, b"", [(b"location", _ascii(target)), self._cookies.made(credential), NO_STORE])

    def _form(self, there: str, wrong: str = "", *, status: int = 200) -> Answer:
        values = {"next": there, "wrong": wrong, "workspace": self._edge.app.name}
        return Answer(status, rendered("login.html", values), [HTML, NO_STORE])

    async def _logout(self, request: Request) -> Answer:
        if request.method != "POST":
            raise Problem(405, "method_not_allowed", "Signing out takes the button.")
        return Answer(303, b"", [(b"location", f"{BASE}/login".encode()), self._cookies.ended(), NO_STORE])


_BROKEN = "The server failed; its log tells why."


def _to_login(request: Request) -> Answer:
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    address = b"%s/login?next=%s" % (BASE.encode(), _ascii(f"{request.path}{query}", safe="/"))
    if request.header(b"hx-request") == "true":
        return Answer(401, b"", [(b"hx-redirect", b"%s/login" % BASE.encode()), NO_STORE])
    if request.method not in ("GET", "HEAD") or request.path == f"{BASE}/live":
        return Answer(401, b"", [NO_STORE])
    return Answer(303, b"", [(b"location", address), NO_STORE])


def _wrong(request: Request, status: int, detail: str) -> Answer:
    """What went wrong, as a page, or as the part of one that was asked for."""
    is_part = request.header(b"hx-request") == "true"
    said = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "?", "!")) else ".")
    values = {"status": status, "detail": said}
    return Answer(status, rendered("problem_part.html" if is_part else "problem.html", values), [HTML, NO_STORE])


def _pairs(query: bytes) -> dict[str, str]:
    return dict(parse_qsl(query.decode("utf-8", "replace"), max_num_fields=20))


def _ascii(text: str, safe: str = "/?&=%~:@!$'()*+,;") -> bytes:
    """An address as a header may hold it."""
    return quote(text, safe=safe).encode("ascii")
