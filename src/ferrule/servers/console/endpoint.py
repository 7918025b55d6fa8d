"""The console of one process: signs people in, finds their page, and says in one way what went wrong.

Nothing here decides what somebody may see or do. The credential in the cookie goes through the same gate as everybody's, and
pages ask the HTTP API.
"""

from __future__ import annotations

import logging
from math import ceil
from typing import Any
from urllib.parse import parse_qsl

from ferrule.access.keys import Access
from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.servers.api.endpoint import HttpEndpoint
from ferrule.servers.api.replies import Problem, problem_of
from ferrule.servers.api.route import Router
from ferrule.servers.asgi import EVENTS, NO_CACHE, Answer, ClientGone, Header, Request, Stream, TooLarge
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.console.api import Api
from ferrule.servers.console.entry import BASE, GUARDS
from ferrule.servers.console.live import Live
from ferrule.servers.console.pages import PAGES
from ferrule.servers.console.rendering import rendered, static_file
from ferrule.servers.console.sign_in import Cookies
from ferrule.servers.console.view import HTML, NO_STORE, View, in_header
from ferrule.servers.edge import Edge

_FORM_BYTES = 4 * 1024**2
_LOGIN_BYTES = 32 * 1024
"""Of a form that anybody may send."""
_FORM = "application/x-www-form-urlencoded"
_OWN_SITES = ("same-origin", "none")
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
            answer.headers = [_inert(header) for header in answer.headers]
        if not all(map(_is_one_line, answer.headers)):
            _log.error("%s %r would have been answered with a header of several lines", request.method, request.path)
            answer = _wrong(request, 500, _BROKEN)
        answer.headers += GUARDS
        return answer

    async def _guarded(self, request: Request, path: str) -> Answer | Stream:
        try:
            self._demand_own(request)
            match path:
                case "/login":
                    return await self._login(request)
                case "/logout":
                    return await self._logout(request)
                case _:
                    return await self._answer(request, path)
        except ClientGone:
            raise
        except TooLarge:
            return _wrong(request, 413, "That is more than is taken here.")
        except Refused as refused:
            if refused.status == 401:
                return _to_login(request)
            return _wrong(request, refused.status, refused.reason, refused.retry_after)
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

    def _demand_own(self, request: Request) -> None:
        """Pages of other sites may link here, and nothing else: not those that `origins` lets call the API either. Raises
        Refused."""
        is_foreign = bool(self._edge.gate.admit(request))
        if request.method not in ("GET", "HEAD"):
            is_foreign |= (request.header(b"sec-fetch-site") or "none") not in _OWN_SITES
        if is_foreign:
            raise Refused(403, "Pages of other sites may not use the console.")

    async def _answer(self, request: Request, path: str) -> Answer | Stream:
        cookie = self._cookies.cookie_in(request)
        caller = await self._caller(request, cookie)
        if path == "/live" and request.method == "GET":
            return Stream(200, await self._live.listen(caller, request), [EVENTS, NO_CACHE])
        match = self._router.find(path)
        if match is None:
            raise Problem(404, "not_found", "There is no such page.")
        page = match.routes.get("GET" if request.method == "HEAD" else request.method)
        if page is None:
            raise Problem(405, "method_not_allowed", "That cannot be done here.")
        api = Api(self._api, request, caller)
        proof = self._cookies.proof(cookie)
        try:
            view = View(request, caller, api, self._edge, match.parts, proof, self._shared)
        except ValueError:
            raise Problem(400, "malformed_request", "The address says too many things.") from None
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
        return await resolve(self._edge.gate.caller(request))

    async def _read(self, view: View, cookie: str) -> None:
        """What changes something comes from one of our own pages. Raises Refused and Problem."""
        _demand_form(view.request)
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
            _demand_form(request)
            said |= _pairs(await resolve(request.read(_LOGIN_BYTES)))
        elif request.method not in ("GET", "HEAD"):
            raise Problem(405, "method_not_allowed", "That cannot be done here.")
        there, code = said.get("next", ""), said.get("code", "")
        if request.method != "POST" and (not code or not _is_opened(request)):
            return self._form(there, code=code)
        credential = self._access.redeemed(code) if code else said.get("token", "").strip()
        if not credential or not await self._is_good(request, credential):
            wrong = "That link was used already, or is too old." if code else "That token is not valid here."
            return self._form(there, wrong, status=401)
        target = there if _is_page(there) else f"{BASE}/"
        return Answer(303, b"", [(b"location", in_header(target)), self._cookies.made(credential), NO_STORE])

    async def _is_good(self, request: Request, credential: str) -> bool:
        """True for a credential that the gate takes. Raises Refused when the gate cannot tell."""
        try:
            request.headers = [pair for pair in request.headers if pair[0] != b"authorization"]
            request.headers.append((b"authorization", f"Bearer {credential}".encode("latin-1")))
            await resolve(self._edge.gate.caller(request))
        except UnicodeError:
            return False
        except Refused as refused:
            if refused.status not in (400, 401, 403):
                raise
            return False
        return True

    def _form(self, there: str, wrong: str = "", *, code: str = "", status: int = 200) -> Answer:
        values = {
            "next": there if _is_page(there) else "",
            "wrong": wrong,
            "code": code,
            "workspace": self._edge.app.name,
        }
        return Answer(status, rendered("login.html", values), [HTML, NO_STORE])

    async def _logout(self, request: Request) -> Answer:
        if request.method != "POST":
            raise Problem(405, "method_not_allowed", "Signing out takes the button.")
        return Answer(303, b"", [(b"location", f"{BASE}/login".encode()), self._cookies.ended(), NO_STORE])


_BROKEN = "The server failed; its log tells why."


def _demand_form(request: Request) -> None:
    """Raises Problem for a body that no form of ours sends."""
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise Problem(415, "unsupported_media_type", f"Forms are sent as {_FORM}.")


def _is_opened(request: Request) -> bool:
    """True when a person opened a link that signs them in by itself. One on somebody else's page takes a press of a button, so
    that nobody is signed in as another without knowing; what only looks ahead uses nothing up."""
    is_ahead = "prefetch" in (request.header(b"sec-purpose") or request.header(b"purpose") or "")
    is_ours = (request.header(b"sec-fetch-site") or "none") in _OWN_SITES
    return request.method == "GET" and is_ours and not is_ahead


def _is_page(address: str) -> bool:
    """True for an address of the console: nobody is sent elsewhere."""
    path = address.partition("?")[0]
    return (
        path.startswith(f"{BASE}/")
        and not {".", ".."} & set(path.split("/"))
        and address.isprintable()
        and "\\" not in path
    )


def _inert(header: Header) -> Header:
    """Scripts and styles of pages are files of ours: nothing that a tool gave back, or anybody sent, can be loaded as one."""
    is_code = header[0] == b"content-type" and any(word in header[1].lower() for word in (b"script", b"css", b"wasm"))
    return (b"content-type", b"application/octet-stream") if is_code else header


def _is_one_line(header: Header) -> bool:
    return not any(byte in header[0] + header[1] for byte in b"\r\n\0")


def _to_login(request: Request) -> Answer:
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    address = b"%s/login?next=%s" % (BASE.encode(), in_header(f"{request.path}{query}", safe="/"))
    if request.header(b"hx-request") == "true":
        return Answer(401, b"", [(b"hx-redirect", b"%s/login" % BASE.encode()), NO_STORE])
    if request.method not in ("GET", "HEAD") or request.path == f"{BASE}/live":
        return Answer(401, b"", [NO_STORE])
    return Answer(303, b"", [(b"location", address), NO_STORE])


def _wrong(request: Request, status: int, detail: str, retry_after: float | None = None) -> Answer:
    """What went wrong, as a page, or as the part of one that was asked for."""
    is_part = request.header(b"hx-request") == "true"
    said = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "?", "!")) else ".")
    values = {"status": status, "detail": said}
    answer = Answer(status, rendered("problem_part.html" if is_part else "problem.html", values), [HTML, NO_STORE])
    if retry_after is not None:
        answer.headers.append((b"retry-after", str(max(1, ceil(retry_after))).encode()))
    return answer


def _pairs(query: bytes) -> dict[str, str]:
    """Raises Problem when there are too many."""
    try:
        return dict(parse_qsl(query.decode("utf-8", "replace"), max_num_fields=20))
    except ValueError:
        raise Problem(400, "malformed_request", "The form cannot be read.") from None
