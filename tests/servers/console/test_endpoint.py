"""What every answer of the console has in common, and what it does with requests that no page of ours makes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from ferrule.errors import LedgerUnavailable
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.console import endpoint as module
from ferrule.servers.console.pages import PAGES
from ferrule.servers.console.rendering import _files
from ferrule.servers.console.view import ConsolePage, ConsoleView
from tests.driven import driven
from tests.servers.console.browsing import FORM, signed_in, text_of
from tests.servers.local_server import Reply, running_server

GUARDS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def demand_guarded(reply: Reply) -> None:
    policy = reply.headers["content-security-policy"]
    parts = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert parts["default-src"] == "'none'" and parts["frame-ancestors"] == "'none'" and parts["base-uri"] == "'none'"
    assert parts["script-src"] == parts["style-src"] == parts["connect-src"] == parts["form-action"] == "'self'"
    assert "unsafe" not in policy
    assert {name: reply.headers[name] for name in GUARDS} == GUARDS


def filled(path: str) -> str:
    """A path of a route with something in its braces."""
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


@driven
async def test_no_page_is_shown_to_whoever_is_not_signed_in(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        assert len(PAGES) > 8
        for page in PAGES:
            path = f"/console{filled(page.path)}"
            reply = await stand.ask(page.method, path, b"a=b" if page.method != "GET" else b"", {"Content-Type": FORM})
            assert (reply.status, reply.body) == (303 if page.method == "GET" else 401, b""), path
            demand_guarded(reply)
            part = await stand.ask(page.method, path, headers={"HX-Request": "true", "Content-Type": FORM})
            assert (part.status, part.body, part.headers["hx-redirect"]) == (401, b"", "/console/login")
            assert part.headers["cache-control"] == "no-store"


@driven
async def test_every_answer_is_guarded(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        answers = [
            await person.see("/"),
            await person.see("/?format=json"),
            await person.see("/nothing"),
            await person.see("/parts/waiting", hx_request="true"),
            await person.see("/parts/jump?q=x", hx_request="true"),
            await person.see("/static/console.css"),
            await person.see("/static/nothing.css"),
            await person.see("/login"),
            await stand.ask("GET", "/console/"),
            await stand.ask("GET", "/console"),
            await stand.ask("GET", "/"),
            await stand.ask("POST", "/console/login", b"token=x", {"Content-Type": FORM}),
            await stand.ask("POST", "/console/login", b"x" * 100_000, {"Content-Type": FORM}),
            await stand.ask("DELETE", "/console/inbox", headers={"Cookie": person.cookie}),
            await person.send("/nothing", {}),
        ]
        for reply in answers:
            demand_guarded(reply)
        statuses = [reply.status for reply in answers]
        assert statuses == [200, 200, 404, 200, 200, 200, 404, 200, 303, 303, 303, 401, 413, 405, 404]


@driven
async def test_pages_are_kept_by_nobody_and_files_by_everybody(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        assert (await person.see("/")).headers["cache-control"] == "no-store"
        assert (await person.see("/?format=json")).headers["cache-control"] == "no-store"
        file = await stand.ask("GET", "/console/static/console.js?v=1")
        assert "immutable" in file.headers["cache-control"]
        assert (await stand.ask("HEAD", "/console/static/console.js")).status == 200
        assert (await stand.ask("POST", "/console/static/console.js", b"x")).status == 404


@driven
@pytest.mark.parametrize(
    "name",
    ["../endpoint.py", "..%2fendpoint.py", "%2e%2e/endpoint.py", "....//endpoint.py", "/etc/passwd", "..\\endpoint.py",
     "console.js/", "console.js%00", "", ".", "vendor", "vendor/", "CONSOLE.JS", "__init__.py", "vendor/../console.js"],
)  # fmt: skip
async def test_only_files_that_ship_are_given(tmp_path: Path, name: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        reply = await stand.ask("GET", f"/console/static/{name}")
        assert (reply.status, reply.body) == (404, b"")
        assert name not in _files()


@driven
async def test_head_is_answered_as_get(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        for path in ("/", "/inbox", "/login", "/static/tokens.css"):
            assert (await stand.ask("HEAD", f"/console{path}", headers={"Cookie": person.cookie})).status == 200
        assert (await stand.ask("HEAD", "/console/live", headers={"Cookie": person.cookie})).status == 404


# Forms. A page of its own stands for all of them.


async def _done(view: ConsoleView) -> HttpAnswer:
    return view.redirect(view.field("to", "/console/"))


async def _told(view: ConsoleView) -> HttpAnswer:
    return HttpAnswer(200, repr(sorted(view.form.items())).encode())


async def _split(view: ConsoleView) -> HttpAnswer:
    return HttpAnswer(200, b"", [(b"hx-push-url", view.field("to").encode())])


async def _given(view: ConsoleView) -> HttpAnswer:
    return HttpAnswer(200, b"alert(1)", [(b"content-type", view.field("to").encode())])


async def _broken(view: ConsoleView) -> HttpAnswer:
    raise RuntimeError("the secret is swordfish")


async def _lost(view: ConsoleView) -> HttpAnswer:
    raise LedgerUnavailable("the ledger cannot be read")


MORE = (
    ConsolePage("POST", "/acts/done", _done),
    ConsolePage("POST", "/acts/told", _told),
    ConsolePage("POST", "/acts/split", _split),
    ConsolePage("POST", "/acts/given", _given),
    ConsolePage("GET", "/acts/broken", _broken),
    ConsolePage("GET", "/acts/lost", _lost),
)


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES", (*PAGES, *MORE))


@driven
@pytest.mark.usefixtures("acts")
async def test_a_form_needs_the_proof_of_a_page_of_the_same_person(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person, other = await signed_in(stand), await signed_in(stand)
        assert (await person.send("/acts/done", {})).status == 303
        for wrong in ("", "0" * 64, await other.proof(), "é"):
            refused = await person.send("/acts/done", {}, proof=wrong)
            assert refused.status == 403 and "Reload it" in text_of(refused)
        mine = await person.proof()
        assert (await person.send("/acts/done", {}, proof="", x_ferrule_proof=mine)).status == 303
        assert (await person.send("/acts/done", {}, proof=mine, x_ferrule_proof="wrong")).status == 403
        body = f"proof={mine}".encode()
        without = await stand.ask("POST", "/console/acts/done", body, {"Content-Type": FORM})
        assert without.status == 401


@driven
@pytest.mark.usefixtures("acts")
async def test_a_form_comes_from_our_own_pages(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://localhost:1"},
                        {"sec_fetch_site": "cross-site"},
                        {"sec_fetch_site": "same-site"}):  # fmt: skip
            assert (await person.send("/acts/done", {}, **headers)).status == 403, headers
        own = {"origin": "http://localhost:8787", "sec_fetch_site": "same-origin"}
        assert (await person.send("/acts/done", {}, **own)).status == 303


@driven
@pytest.mark.usefixtures("acts")
@pytest.mark.parametrize("kind", ["text/plain", "application/json", "multipart/form-data; boundary=x", "", "x/y"])
async def test_a_form_is_sent_as_one(tmp_path: Path, kind: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        body = f"proof={await person.proof()}".encode()
        reply = await stand.ask("POST", "/console/acts/done", body, {"Content-Type": kind, "Cookie": person.cookie})
        assert reply.status == 415
        demand_guarded(reply)


@driven
@pytest.mark.usefixtures("acts")
async def test_forms_that_nobody_would_fill_in(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        proof = await person.proof()
        headers = {"Content-Type": f"{FORM}; charset=utf-8", "Cookie": person.cookie, "X-Ferrule-Proof": proof}

        async def sent(body: bytes) -> Reply:
            return await stand.ask("POST", "/console/acts/told", body, headers)

        assert (await sent(b"a=" + b"x" * (5 * 1024**2))).status == 413
        assert (await sent(b"&".join(b"a%d=" % n for n in range(6000)))).status == 400
        assert (await sent(b"a=\xff\xfe")).status == 400
        assert (await sent(b"a=%ff%fe")).status == 200
        assert (await sent(b"a=1&a=2&b=%0D%0Ax&=&%00=%00")).body == (
            b"[('', ['']), ('\\x00', ['\\x00']), ('a', ['1', '2']), ('b', ['\\nx'])]"
        )
        for reply in (await sent(b"&" * 100_000), await sent(b"=" * 100_000), await sent(b"%" * 100_000)):
            assert reply.status in (200, 400)


@driven
@pytest.mark.usefixtures("acts")
@pytest.mark.parametrize(
    "to", ["/console/\r\nSet-Cookie: a=b", "/console/x\ny", "/console/\x00", "/console/é\r\n\r\n<script>"]
)
async def test_no_address_breaks_out_of_its_header(tmp_path: Path, to: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        plain = await person.send("/acts/done", {"to": to})
        part = await person.send("/acts/done", {"to": to}, hx_request="true")
        assert plain.status == 303 and part.status == 204
        for value in (plain.headers["location"], part.headers["hx-redirect"]):
            assert value == quote(to.replace("\r\n", "\n"), safe="/:=") and value.isascii() and value.isprintable()
        split = await person.send("/acts/split", {"to": to})
        assert split.status == 500 and "hx-push-url" not in split.headers


@driven
@pytest.mark.usefixtures("acts")
async def test_only_files_of_ours_can_be_loaded_as_scripts_and_styles(tmp_path: Path) -> None:
    """Whatever a tool says its output is: our pages' policy lets scripts of this very server in."""
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        for kind in (
            "text/javascript",
            "application/javascript; x=y",
            "Text/ECMAScript",
            "text/css",
            "application/wasm",
        ):
            given = await person.send("/acts/given", {"to": kind})
            assert given.headers["content-type"] == "application/octet-stream"
            demand_guarded(given)
        assert (await person.send("/acts/given", {"to": "image/png"})).headers["content-type"] == "image/png"
        assert "javascript" in (await person.see("/static/console.js")).headers["content-type"]


@driven
@pytest.mark.usefixtures("acts")
async def test_a_mistake_of_ours_tells_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        page = await person.see("/acts/broken")
        assert page.status == 500 and b"swordfish" not in page.body and b"Traceback" not in page.body
        assert "swordfish" in caplog.text
        part = await person.see("/acts/broken", hx_request="true")
        assert part.status == 500 and b"<html" not in part.body
        assert (await person.see("/acts/lost")).status in (500, 503)
        demand_guarded(page)


@driven
async def test_addresses_that_say_too_much(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        many = "&".join(f"a{n}=1" for n in range(200))
        assert (await person.see(f"/?{many}")).status == 400
        for odd in (
            "/?a=%ff",
            "/?%00",
            "/?" + "&" * 90,
            "/%00",
            "/invocations/%2e%2e",
            "/inbox/" + "x" * 3000,
            "/catalog/../../x",
        ):
            assert (await person.see(odd)).status in (200, 303, 400, 403, 404), odd


@driven
async def test_the_twin_of_a_page_is_an_address(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        page = (await person.see('/inbox?x="><script>alert(1)</script>&format=html')).body.decode()
        assert "<script>alert" not in page
        assert 'href="/console/inbox?x=' in page


def test_nothing_in_a_template_is_marked_safe_or_inline() -> None:
    """One text that is not escaped is enough; so is one script that the policy has to let in."""
    folder = Path(module.__file__).parent / "templates"
    for file in sorted(folder.rglob("*.html")):
        text = file.read_text()
        for wrong in (
            "|safe",
            "| safe",
            "autoescape",
            " style=",
            " onclick",
            " onload",
            " onerror",
            "javascript:",
            "<style",
            "hx-on",
            "js:",
        ):
            assert wrong not in text, f"{file.name}: {wrong}"
        assert "<script>" not in text, file.name
        for piece in text.split("<form")[1:]:
            form = piece.partition("</form>")[0]
            if 'method="post"' in form.lower() and not re.search("/console/log(in|out)", form):
                assert "proven()" in text or 'name="proof"' in text, f"{file.name}: a form without a proof"
