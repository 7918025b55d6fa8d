"""One request of a signed-in person, and the ways to answer it with a page of the console.

A page is a path below `/console` and the function that answers there. Pages about the full workspace are only for
people who administer all of it, not one tenant; others see the reason. Every page stands above this module.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

import msgspec

from ferrule.infra.tasks import resolve
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.value import JsonObject
from ferrule.servers.asgi import JSON, Header, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.auth.callers import Caller, has_scope
from ferrule.servers.console.api import Api
from ferrule.servers.console.inbox.inbox_words import may_answer
from ferrule.servers.console.rendering import render
from ferrule.servers.edge import Edge

HTML: Header = (b"content-type", b"text/html; charset=utf-8")
NO_STORE: Header = (b"cache-control", b"no-store")
_MOST_MEMBERS = 5000
_LONGEST_NUMBER = 15
"""Digits. No row has a longer number, and `int` refuses texts of thousands of digits."""


class ConsoleView:
    """A request of a signed-in person, with the API as that person may use it."""

    def __init__(
        self,
        request: HttpRequest,
        caller: Caller,
        api: Api,
        edge: Edge,
        parts: dict[str, str],
        proof: str,
        shared: JsonObject,
    ) -> None:
        self.request = request
        self.caller = caller
        self.api = api
        self.edge = edge
        self.parts = parts
        """Values of the braces in the page's path."""
        self.proof = proof
        """The hidden field `proof` of every form that changes something."""
        self.shared = shared
        """Values that pages of this process keep between requests, each under its own name."""
        self.query = dict(parse_qsl(request.query.decode("utf-8", "replace"), max_num_fields=100))
        self.form: dict[str, list[str]] = {}
        """The fields of a submitted form."""

    @property
    def is_fragment(self) -> bool:
        """True when only a part of the page is requested (htmx)."""
        return self.request.header(b"hx-request") == "true"

    @property
    def wants_json(self) -> bool:
        """True for the JSON twin of a page: `?format=json`, or a client that accepts JSON alone."""
        return self.query.get("format") == "json" or self.request.header(b"accept") == "application/json"

    def number(self, name: str) -> int | None:
        """Returns a whole number of the address; None where it is missing, something else, or longer than any of ours."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else None

    def field(self, name: str, default: str = "") -> str:
        """Returns a field of the form, the first of its name."""
        return self.form.get(name, [default])[0]

    def may(self, scope: str) -> bool:
        """Returns True when the credential has the scope `call`, `approve` or `admin`."""
        return has_scope(self.caller, scope)

    async def read_form(self, limit: int) -> None:
        """Reads a submitted form. Raises TooLarge, ClientGone, ValueError."""
        body = await resolve(self.request.read(limit))
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_MEMBERS)
        for name, value in pairs:
            # Browsers send every line end of a form as CRLF.
            self.form.setdefault(name, []).append(value.replace("\r\n", "\n"))

    async def page(self, template: str, *, status: int = 200, **values: object) -> HttpAnswer:
        """Returns a full page from a template that extends `base.html`. `values` are JSON values: they are the page's
        twin.
        """
        if self.wants_json:
            return HttpAnswer(status, msgspec.json.encode(values), [JSON, NO_STORE])
        return HttpAnswer(status, render(template, {**values, **await self._frame_values()}), [HTML, NO_STORE])

    def fragment(
        self, template: str, *, status: int = 200, headers: tuple[Header, ...] = (), **values: object
    ) -> HttpAnswer:
        """Returns a part of a page."""
        common = {"proof": self.proof, "who": self.caller.identity.principal, **self._list_permissions()}
        return HttpAnswer(status, render(template, {**common, **values}), [HTML, NO_STORE, *headers])

    def redirect(self, address: str) -> HttpAnswer:
        """Redirects to another address of the console after a change."""
        if self.is_fragment:
            return HttpAnswer(204, b"", [(b"hx-redirect", quote_for_header(address)), NO_STORE])
        return HttpAnswer(303, b"", [(b"location", quote_for_header(address)), NO_STORE])

    async def count_waiting(self) -> int | None:
        """Returns how many calls wait for the reader; None for people without an inbox."""
        if not (self.may(APPROVE) or self.may(ADMIN)):
            return None
        return sum(may_answer(item) for item in (await self.api.get("/approvals"))["items"])

    def _list_permissions(self) -> dict[str, bool]:
        return {"may_call": self.may(CALL), "may_approve": self.may(APPROVE), "may_admin": self.may(ADMIN)}

    async def _frame_values(self) -> JsonObject:
        """Returns the values of the frame around every page."""
        identity = self.caller.identity
        return {
            "proof": self.proof,
            "workspace": self.edge.app.name,
            "where": "local" if not self.edge.settings.public_url else self.edge.settings.public_url,
            "who": identity.principal,
            "channel": identity.channel,
            "path": self.request.path,
            "twin": f"{quote(self.request.path)}?{_with_format(self.request.query)}",
            "waiting_count": await self.count_waiting(),
            "audit": self.shared.get("audit"),
            **self._list_permissions(),
        }


def quote_for_header(address: str, safe: str = "/?&=%#~:@!$'()*+,;") -> bytes:
    """Returns an address quoted for a header: whatever it contains, it stays one line."""
    return quote(address, safe=safe, errors="replace").encode("ascii")


def _with_format(query: bytes) -> str:
    kept = [each for each in query.decode("latin-1").split("&") if each and not each.startswith("format=")]
    return "&".join([*kept, "format=json"])


Serve = Callable[[ConsoleView], Awaitable[HttpAnswer | HttpStream]]


class ConsolePage(NamedTuple):
    """The page at one path below `/console`."""

    method: str
    path: str
    """With parts in braces: `/invocations/{invocation_id}`. A `{tool_id}` or `{tool}` at the end takes the rest of the
    path.
    """
    serve: Serve


def why_closed(view: ConsoleView) -> str:
    """Returns why the reader may not see pages about the full workspace; empty when they may."""
    if not view.may(ADMIN):
        return "This page requires a credential with the scope admin."
    tenant = view.caller.identity.tenant
    if tenant is not None:
        return f"This page covers the full workspace, and your credential is limited to the tenant {tenant}."
    return ""


def for_whole_workspace(title: str, about: str) -> Callable[[Serve], Serve]:
    """Restricts a page to people who administer the full workspace. Others see the reason, and what the page is about."""

    def wrap(serve: Serve) -> Serve:
        @wraps(serve)
        async def serve_guarded(view: ConsoleView) -> HttpAnswer | HttpStream:
            reason = why_closed(view)
            if not reason:
                return await serve(view)
            if view.is_fragment:
                return view.fragment("problem_part.html", status=403, detail=reason)
            return await view.page("policy_closed.html", status=403, title=title, about=about, reason=reason)

        return serve_guarded

    return wrap
