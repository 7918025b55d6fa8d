"""The console of one process: signs people in, finds their page, and turns every failure into a page.

It makes no access decisions: the cookie's credential passes the same gate as any other, and pages use the HTTP API.
"""

from __future__ import annotations

import logging
from math import ceil
from urllib.parse import parse_qsl

from ferrule.access.keys import Access
from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.model.value import JsonObject
from ferrule.servers.api.endpoint import HttpEndpoint
from ferrule.servers.api.replies import Problem, problem_of
from ferrule.servers.api.route import Router
from ferrule.servers.asgi import EVENTS, NO_CACHE, ClientGone, Header, HttpAnswer, HttpRequest, HttpStream, TooLarge
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.console.api import Api
from ferrule.servers.console.entry import BASE, GUARDS
from ferrule.servers.console.live import LiveUpdates
from ferrule.servers.console.pages import PAGES
from ferrule.servers.console.rendering import render, static_file
from ferrule.servers.console.sign_in import Cookies
from ferrule.servers.console.view import HTML, NO_STORE, ConsoleView, quote_for_header
from ferrule.servers.edge import Edge

_FORM_BYTES = 4 * 1024**2
_LOGIN_BYTES = 32 * 1024
"""Limit of the sign-in form, which anybody may send."""
_FORM = "application/x-www-form-urlencoded"
_OWN_SITES = ("same-origin", "none")
_log = logging.getLogger("ferrule.serve")


class ConsoleEndpoint:
    """The endpoint of everything below `/console`."""

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
        self._live = LiveUpdates(edge)
        self._shared: JsonObject = {}

    async def __call__(self, request: HttpRequest) -> HttpAnswer | HttpStream:
        """Answers one request, with or without a credential."""
        path = request.path.removeprefix(BASE)
        if path.startswith("/static/"):
            answer: HttpAnswer | HttpStream = static_file(request, path.removeprefix("/static/")) or HttpAnswer(404)
        else:
            answer = await self._respond(request, path)
            answer.headers = [_disarm(header) for header in answer.headers]
        # Headers may repeat what tools and clients wrote, and a line break there would begin another header.
        if not all(map(_is_one_line, answer.headers)):
            _log.error("%s %r would have been answered with a header of several lines", request.method, request.path)
            answer = _show_error(request, 500, _BROKEN)
        answer.headers += GUARDS
        return answer

    async def _respond(self, request: HttpRequest, path: str) -> HttpAnswer | HttpStream:
        try:
            self._require_same_origin(request)
            match path:
                case "/login":
                    return await self._sign_in(request)
                case "/logout":
                    return await self._sign_out(request)
                case _:
                    return await self._answer_page(request, path)
        except ClientGone:
            raise
        except TooLarge:
            return _show_error(request, 413, "The request is too large.")
        except Refused as refused:
            if refused.status == 401:
                return _redirect_to_login(request)
            return _show_error(request, refused.status, refused.reason, refused.retry_after)
        except Problem as problem:
            return _show_error(request, problem.status, problem.detail)
        except FerruleError as error:
            known = problem_of(error)
            if known is None or known.status >= 500:
                _log.error("%s %r could not be answered: %s", request.method, request.path, error)
            return _show_error(request, *((known.status, known.detail) if known else (500, _BROKEN)))
        except Exception:
            _log.exception("%s %r could not be answered", request.method, request.path)
            return _show_error(request, 500, _BROKEN)

    def _require_same_origin(self, request: HttpRequest) -> None:
        """Raises Refused for requests from other sites. They may link to the console and no more, even those that
        `origins` lets call the API.
        """
        # `admit` gives headers only to pages of other origins that may call the API.
        is_foreign = bool(self._edge.gate.admit(request))
        if request.method not in ("GET", "HEAD"):
            is_foreign |= (request.header(b"sec-fetch-site") or "none") not in _OWN_SITES
        if is_foreign:
            raise Refused(403, "Pages of other sites may not use the console.")

    async def _answer_page(self, request: HttpRequest, path: str) -> HttpAnswer | HttpStream:
        cookie = self._cookies.cookie_in(request)
        caller = await self._find_caller(request, cookie)
        if path == "/live" and request.method == "GET":
            return HttpStream(200, await self._live.listen(caller, request), [EVENTS, NO_CACHE])
        match = self._router.find(path)
        if match is None:
            raise Problem(404, "not_found", "There is no such page.")
        page = match.routes.get("GET" if request.method == "HEAD" else request.method)
        if page is None:
            raise Problem(405, "method_not_allowed", "This page does not support that action.")
        api = Api(self._api, request, caller)
        proof = self._cookies.proof(cookie)
        try:
            view = ConsoleView(request, caller, api, self._edge, match.parts, proof, self._shared)
        except ValueError:
            raise Problem(400, "malformed_request", "The address has too many parameters.") from None
        if page.method != "GET":
            await self._read_form(view, cookie)
        return await page.serve(view)

    async def _find_caller(self, request: HttpRequest, cookie: str) -> Caller:
        """Returns the signed-in caller, after moving the cookie's credential to `Authorization`. Raises Refused."""
        credential = self._cookies.credential(cookie) if cookie else None
        if credential is not None:
            kept = [pair for pair in request.headers if pair[0] != b"authorization"]
            request.replace_headers([*kept, (b"authorization", f"Bearer {credential}".encode("latin-1", "replace"))])
        else:  # only the cookie counts: a browser may add an Authorization header by itself
            request.replace_headers([pair for pair in request.headers if pair[0] != b"authorization"])
        return await resolve(self._edge.gate.caller(request))

    async def _read_form(self, view: ConsoleView, cookie: str) -> None:
        """Reads a form that changes something, if it is from one of our own pages. Raises Refused and Problem."""
        _require_form(view.request)
        try:
            await view.read_form(min(_FORM_BYTES, self._edge.settings.limits.body_bytes))
        except ValueError:
            raise Problem(400, "malformed_request", "The form cannot be read.") from None
        given = view.request.header(b"x-ferrule-proof") or view.field("proof")
        if not self._cookies.is_proof(cookie, given):
            raise Refused(403, "This page has expired. Reload it and try again.")

    # Signing in and out

    async def _sign_in(self, request: HttpRequest) -> HttpAnswer:
        fields = _parse_pairs(request.query)
        if request.method == "POST":
            _require_form(request)
            fields |= _parse_pairs(await resolve(request.read(_LOGIN_BYTES)))
        elif request.method not in ("GET", "HEAD"):
            raise Problem(405, "method_not_allowed", "This page does not support that action.")
        there, code = fields.get("next", ""), fields.get("code", "")
        if request.method != "POST" and (not code or not _is_opened_by_person(request)):
            return self._show_login(there, code=code)
        credential = self._access.redeem_code(code) if code else fields.get("token", "").strip()
        if not credential or not await self._is_accepted(request, credential):
            wrong = "This link was already used or has expired." if code else "This token is not valid here."
            return self._show_login(there, wrong, status=401)
        target = there if _is_page(there) else f"{BASE}/"
        return HttpAnswer(
            303, b"", [(b"location", quote_for_header(target)), self._cookies.make_sign_in(credential), NO_STORE]
        )

    async def _is_accepted(self, request: HttpRequest, credential: str) -> bool:
        """Returns True for a credential that the gate accepts. Raises Refused when the gate cannot decide now."""
        try:
            kept = [pair for pair in request.headers if pair[0] != b"authorization"]
            request.replace_headers([*kept, (b"authorization", f"Bearer {credential}".encode("latin-1"))])
            await resolve(self._edge.gate.caller(request))
        except UnicodeError:
            return False
        except Refused as refused:
            if refused.status not in (400, 401, 403):
                raise
            return False
        return True

    def _show_login(self, there: str, wrong: str = "", *, code: str = "", status: int = 200) -> HttpAnswer:
        values = {
            "next": there if _is_page(there) else "",
            "wrong": wrong,
            "code": code,
            "workspace": self._edge.app.name,
        }
        return HttpAnswer(status, render("login.html", values), [HTML, NO_STORE])

    async def _sign_out(self, request: HttpRequest) -> HttpAnswer:
        if request.method != "POST":
            raise Problem(405, "method_not_allowed", "Use the button to sign out.")
        return HttpAnswer(303, b"", [(b"location", f"{BASE}/login".encode()), self._cookies.make_sign_out(), NO_STORE])


_BROKEN = "The server failed; its log has the reason."


def _require_form(request: HttpRequest) -> None:
    """Raises Problem for a body that none of our forms sends."""
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise Problem(415, "unsupported_media_type", f"Send the form as {_FORM}.")


def _is_opened_by_person(request: HttpRequest) -> bool:
    """Returns True when a person opened a sign-in link themselves.

    A link on another site's page takes the press of a button, so that nobody is signed in as another person without
    knowing; a prefetch must not use up the code.
    """
    is_ahead = "prefetch" in (request.header(b"sec-purpose") or request.header(b"purpose") or "")
    is_ours = (request.header(b"sec-fetch-site") or "none") in _OWN_SITES
    return request.method == "GET" and is_ours and not is_ahead


def _is_page(address: str) -> bool:
    """Returns True for an address of the console, so that nobody is redirected elsewhere."""
    path = address.partition("?")[0]
    return (
        path.startswith(f"{BASE}/")
        and not {".", ".."} & set(path.split("/"))
        and address.isprintable()
        and "\\" not in path
    )


def _disarm(header: Header) -> Header:
    """Returns the header with scripts and styles as plain bytes: no output of a tool may be loaded as one."""
    is_code = header[0] == b"content-type" and any(word in header[1].lower() for word in (b"script", b"css", b"wasm"))
    return (b"content-type", b"application/octet-stream") if is_code else header


def _is_one_line(header: Header) -> bool:
    return not any(byte in header[0] + header[1] for byte in b"\r\n\0")


def _redirect_to_login(request: HttpRequest) -> HttpAnswer:
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    address = b"%s/login?next=%s" % (BASE.encode(), quote_for_header(f"{request.path}{query}", safe="/"))
    if request.header(b"hx-request") == "true":
        return HttpAnswer(401, b"", [(b"hx-redirect", b"%s/login" % BASE.encode()), NO_STORE])
    if request.method not in ("GET", "HEAD") or request.path == f"{BASE}/live":
        return HttpAnswer(401, b"", [NO_STORE])
    return HttpAnswer(303, b"", [(b"location", address), NO_STORE])


def _show_error(request: HttpRequest, status: int, detail: str, retry_after: float | None = None) -> HttpAnswer:
    """Returns an error page, or the error as a part of a page for htmx."""
    is_part = request.header(b"hx-request") == "true"
    text = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "?", "!")) else ".")
    values = {"status": status, "detail": text}
    answer = HttpAnswer(status, render("problem_part.html" if is_part else "problem.html", values), [HTML, NO_STORE])
    if retry_after is not None:
        answer.headers.append((b"retry-after", str(max(1, ceil(retry_after))).encode()))
    return answer


def _parse_pairs(query: bytes) -> dict[str, str]:
    """Returns the fields of a form. Raises Problem when there are too many."""
    try:
        return dict(parse_qsl(query.decode("utf-8", "replace"), max_num_fields=20))
    except ValueError:
        raise Problem(400, "malformed_request", "The form cannot be read.") from None
