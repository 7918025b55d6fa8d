"""One request of a signed-in person: what is asked for, what was sent, and where the answer leads."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.approval import ADMIN, CALL, Identity
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import Caller
from ferrule.servers.console.view import ConsoleView, quote_for_header, why_closed
from tests.driven import driven


def view(
    *scopes: str,
    query: bytes = b"",
    body: bytes = b"",
    tenant: str | None = None,
    headers: dict[str, str] | None = None,
) -> ConsoleView:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"method": "GET", "path": "/console/", "query_string": query, "headers": pairs}
    caller = Caller(Identity("ann", "here", frozenset(scopes or (CALL,)), tenant=tenant))
    nothing: Any = None
    return ConsoleView(HttpRequest(scope, receive), caller, nothing, nothing, {}, "proof", {})


@pytest.mark.parametrize(
    ("query", "headers", "is_json"),
    [
        (b"format=json", {}, True),
        (b"format=html", {}, False),
        (b"", {"accept": "application/json"}, True),
        (b"", {"accept": "text/html, application/json"}, False),
    ],
)
def test_the_twin_of_a_page_is_asked_for_by_its_address_or_by_accepting_nothing_else(
    query: bytes, headers: dict[str, str], is_json: bool
) -> None:
    assert view(query=query, headers=headers).wants_json is is_json


@driven
async def test_a_form_keeps_every_value_and_gives_the_first_with_plain_line_ends() -> None:
    here = view(body=b"why=one%0D%0Atwo&why=three&empty=")
    await here.read_form(1000)
    assert (here.field("why"), here.field("empty", "x"), here.field("none", "x")) == ("one\ntwo", "", "x")
    assert here.form["why"] == ["one\ntwo", "three"]


def test_a_part_of_a_page_goes_on_elsewhere_by_a_header_of_its_own() -> None:
    whole, part = view().redirect("/console/inbox"), view(headers={"hx-request": "true"}).redirect("/console/inbox")
    assert (whole.status, dict(whole.headers)[b"location"]) == (303, b"/console/inbox")
    assert (part.status, dict(part.headers)[b"hx-redirect"]) == (204, b"/console/inbox")


@pytest.mark.parametrize("address", ["/a\r\nset-cookie: x", "/ü", "/a b", "/\ud800"])
def test_whatever_stands_in_an_address_it_is_one_line_of_a_header(address: str) -> None:
    written = quote_for_header(address)
    assert not {b"\r", b"\n", b" "} & {written[at : at + 1] for at in range(len(written))} and written.isascii()


def test_what_is_about_everybody_is_for_who_administers_the_whole_workspace() -> None:
    assert why_closed(view(ADMIN)) == ""
    assert "the scope admin" in why_closed(view())
    assert "the tenant acme" in why_closed(view(ADMIN, tenant="acme"))
