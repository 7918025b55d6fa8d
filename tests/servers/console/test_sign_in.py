"""Who gets into the console, how long, and who does not."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from ferrule.access.keys import AGENT_FILE, CODE_SECONDS, KEYS_FOLDER, OWNER_FILE, SIGN_IN_FOLDER, Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.console.sign_in import LIFE_SECONDS, Cookies
from tests.driven import driven
from tests.servers.console.browsing import FORM, Person, signed_in, text_of
from tests.servers.local_server import InProcessServer, Reply, running_server

OWN = "http://localhost:8787"


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def value_of(header: tuple[bytes, bytes]) -> str:
    return header[1].decode().partition(";")[0].partition("=")[2]


async def sign_in(stand: InProcessServer, form: dict[str, str], **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await stand.ask("POST", "/console/login", urlencode(form).encode(), {"Content-Type": FORM, **named})


# The cookie


def test_a_cookie_is_ours_alone_and_for_a_while() -> None:
    clock = Clock(1000.0)
    cookies = Cookies(b"secret", "/shop", is_secure=False, clock=clock)
    made = value_of(cookies.make_sign_in("frl_ada"))
    assert cookies.credential(made) == "frl_ada"
    assert Cookies(b"secret", "/bank", is_secure=False, clock=clock).credential(made) is None
    assert Cookies(b"other secret", "/shop", is_secure=False, clock=clock).credential(made) is None
    clock.now += LIFE_SECONDS
    assert cookies.credential(made) is None


def test_a_cookie_that_was_touched_is_worth_nothing() -> None:
    cookies = Cookies(b"secret", "/shop", is_secure=False)
    made = value_of(cookies.make_sign_in("frl_ada"))
    for at in range(len(made)):
        other = "A" if made[at] != "A" else "B"
        changed = made[:at] + other + made[at + 1 :]
        assert cookies.credential(changed) is None
    for wrong in ("", "=", "x", made[:-8], made + made, "ä", "\x00", "A" * 9000, made[16:]):
        assert cookies.credential(wrong) is None


def test_no_two_cookies_are_alike_and_none_shows_the_credential() -> None:
    cookies = Cookies(b"secret", "/shop", is_secure=False)
    assert cookies.make_sign_in("frl_ada") != cookies.make_sign_in("frl_ada")
    assert b"frl_ada" not in cookies.make_sign_in("frl_ada")[1]


def test_a_cookie_is_kept_from_scripts_and_from_other_sites() -> None:
    plain = Cookies(b"s", "/shop", is_secure=False).make_sign_in("x")[1].decode()
    assert {"HttpOnly", "SameSite=Lax", "Path=/console", f"Max-Age={LIFE_SECONDS}"} <= set(plain.split("; "))
    assert "Secure" not in plain.split("; ")
    assert "Secure" in Cookies(b"s", "/shop", is_secure=True).make_sign_in("x")[1].decode().split("; ")


@pytest.mark.parametrize(
    "others", ["a[b]=1; {}; c=d", '{}; x={{"a": "b c"}}', "=; ;;{};", "bad name=1; {}", "a=b; {}; a=b"]
)
def test_cookies_of_other_programs_on_this_host_keep_nobody_out(others: str) -> None:
    cookies = Cookies(b"s", "/shop", is_secure=False)
    made = cookies.make_sign_in("frl_ada")[1].decode().partition(";")[0]
    request = HttpRequest({"method": "GET", "path": "/", "headers": [(b"cookie", others.format(made).encode())]}, None)  # type: ignore[arg-type]  # never read
    assert cookies.credential(cookies.cookie_in(request)) == "frl_ada"


def test_the_proof_of_a_page_belongs_to_one_cookie() -> None:
    cookies = Cookies(b"s", "/shop", is_secure=False)
    one, other = value_of(cookies.make_sign_in("x")), value_of(cookies.make_sign_in("x"))
    assert cookies.is_proof(one, cookies.proof(one))
    assert not cookies.is_proof(one, cookies.proof(other))
    assert not cookies.is_proof(one, "")
    assert not cookies.is_proof(one, "é\ud800")


# Signing in with a token


@driven
async def test_a_token_signs_in_and_signing_out_takes_the_cookie_away(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        person = await signed_in(stand)
        assert (await person.see("/")).status == 200
        left = await person.stand.ask("POST", "/console/logout", b"", {"Cookie": person.cookie})
        assert (left.status, left.headers["location"]) == (303, "/console/login")
        assert "Max-Age=0" in left.headers["set-cookie"]
        assert (await person.see("/logout")).status == 405


@driven
@pytest.mark.parametrize("token", ["", "x", "frl_nobody", "Bearer x", "a b", "ключ", "\x00", "x" * 2000])
async def test_what_is_no_token_signs_nobody_in(tmp_path: Path, token: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        reply = await sign_in(stand, {"token": token})
        assert reply.status == 401 and "set-cookie" not in reply.headers
        assert "not valid here" in text_of(reply)
        assert len(token) < 8 or token not in reply.body.decode()


@driven
async def test_the_form_says_where_a_token_is(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        assert stand.owner()
        said = text_of(await stand.ask("GET", "/console/login"))
        assert "or the owner's key in .ferrule/keys/owner.token of the workspace" in said
        assert (tmp_path / ".ferrule/keys/owner.token").read_text().strip() == stand.owner()


@driven
async def test_the_form_is_small_and_a_form(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        assert (await sign_in(stand, {"token": "x" * 100_000})).status == 413
        assert (await sign_in(stand, {str(n): "x" for n in range(30)})).status == 400
        plain = await stand.ask("POST", "/console/login", b"token=x", {"Content-Type": "text/plain"})
        assert plain.status == 415
        assert (await stand.ask("PUT", "/console/login")).status == 405
        many = "&".join(f"q{n}=1" for n in range(30))
        assert (await stand.ask("GET", f"/console/login?{many}")).status == 400


@driven
async def test_keys_that_cannot_be_read_are_no_wrong_token(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        owner = stand.owner()
        file = tmp_path / KEYS_FOLDER / "tokens.json"
        file.write_text("{")
        reply = await sign_in(stand, {"token": owner})
        assert reply.status == 503 and "cannot be checked" in text_of(reply)


@driven
async def test_a_revoked_key_shows_nothing_at_the_next_request(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        access = Access(tmp_path)
        token, secret = access.add(access.local_owner(), "mara", [APPROVE])
        person = await signed_in(stand, secret)
        assert (await person.see("/inbox")).status == 200
        proof = await person.proof()
        access.revoke(access.local_owner(), token.id)
        await asyncio.sleep(0.05)  # how often the gate looks at the keys
        seen = await person.see("/inbox")
        assert (seen.status, seen.body) == (303, b"")
        part = await person.see("/parts/waiting", hx_request="true")
        assert (part.status, part.body, part.headers["hx-redirect"]) == (401, b"", "/console/login")
        assert (await person.send("/inbox", {}, proof=proof)).status == 401
        assert (await person.see("/live")).status == 401


@driven
async def test_an_expired_key_shows_nothing(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        access = Access(tmp_path)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        _, secret = access.add(access.local_owner(), "mara", [APPROVE], limits=KeyLimits(expires=moment))
        person = await signed_in(stand, secret)
        async with asyncio.timeout(10):
            while (await person.see("/inbox")).status == 200:
                await asyncio.sleep(0.1)
        assert (await person.see("/inbox")).status == 303


@driven
async def test_the_agents_token_signs_in_and_sees_only_its_own(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        agent = await signed_in(stand, stand.read_token(AGENT_FILE))
        page = await agent.see("/")
        assert page.status == 200
        assert b"/console/parts/waiting" not in page.body  # how many wait is not for whoever cannot answer
        assert b">0<" not in (await agent.see("/parts/waiting", hx_request="true")).body


@driven
async def test_who_belongs_to_a_tenant_is_not_shown_the_workspace(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        access = Access(tmp_path)
        _, secret = access.add(access.local_owner(), "tia", [CALL, APPROVE, ADMIN], limits=KeyLimits(tenant="acme"))
        person = await signed_in(stand, secret)
        assert (await person.see("/")).status == 200
        assert (await person.see("/audit")).status in (200, 403)
        assert (await person.see("/parts/jump?q=x", hx_request="true")).status in (200, 403)


@driven
async def test_without_authentication_everybody_is_the_local_agent(tmp_path: Path) -> None:
    async with running_server(tmp_path, settings=ServeSettings(auth=False)) as stand:
        page = await stand.ask("GET", "/console/")
        assert page.status == 200 and "local" in text_of(page)
        assert (await stand.ask("GET", "/console/live", headers={"Origin": "https://evil.example"})).status == 403
        unproven = await stand.ask("POST", "/console/inbox", b"a=b", {"Content-Type": FORM})
        assert unproven.status in (403, 405)


@driven
async def test_a_credential_in_a_header_is_no_way_in(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        reply = await stand.ask("GET", "/console/", headers={"Authorization": f"Bearer {stand.owner()}"})
        assert reply.status == 303 and reply.headers["location"].startswith("/console/login")


# Where one goes on


@driven
@pytest.mark.parametrize(
    "there",
    [
        "//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/console/", "https:/console/",
        "javascript:alert(1)", "/console", "/v1/openapi.json", "/console/../v1/tools",
        "/console/./x", "/console/..\\..\\x", "/console//\\evil",
        "console/inbox", " /console/", "/console/\r\nSet-Cookie: a=b", "/console/\tx", "/console/\x00", "data:text/html,x", "",
    ],
)  # fmt: skip
async def test_nobody_is_sent_elsewhere_after_signing_in(tmp_path: Path, there: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        reply = await sign_in(stand, {"token": stand.owner(), "next": there})
        assert (reply.status, reply.headers["location"]) == (303, "/console/")
        shown = await stand.ask("GET", f"/console/login?next={quote(there)}")
        assert re.search(r'name="next" value=""', shown.body.decode())


@driven
async def test_one_goes_on_where_one_wanted_to(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        asked = await stand.ask("GET", "/console/invocations?status=failed&tool=a%2Fb%20c")
        assert asked.status == 303
        where = asked.headers["location"]
        assert where == "/console/login?next=/console/invocations%3Fstatus%3Dfailed%26tool%3Da%252Fb%2520c"
        form = (await stand.ask("GET", where)).body.decode()
        there = re.search(r'name="next" value="([^"]*)"', form)
        assert there is not None
        reply = await sign_in(stand, {"token": stand.owner(), "next": there[1].replace("&amp;", "&")})
        assert reply.headers["location"] == "/console/invocations?status=failed&tool=a%2Fb%20c"
        for_nobody = await stand.ask("GET", "/console/caf%C3%A9\r\nx")
        assert "\n" not in for_nobody.headers["location"]


# Links that sign in


def codes(folder: Path) -> list[Path]:
    return sorted((folder / KEYS_FOLDER / SIGN_IN_FOLDER).iterdir())


@driven
async def test_a_link_signs_in_once(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        code = Access(tmp_path).make_sign_in_code()
        first = await stand.ask("GET", f"/console/login?code={code}")
        assert (first.status, first.headers["location"]) == (303, "/console/")
        person = Person(stand, first.headers["set-cookie"].partition(";")[0])
        assert (await person.see("/")).status == 200
        again = await stand.ask("GET", f"/console/login?code={code}")
        assert again.status == 401 and "set-cookie" not in again.headers
        assert "already used" in text_of(again)
        assert codes(tmp_path) == []


@driven
async def test_a_link_on_a_page_of_another_site_takes_a_press_of_a_button(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        code = Access(tmp_path).make_sign_in_code()
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        shown = await stand.ask("GET", f"/console/login?code={code}", headers=headers)
        assert shown.status == 200 and "set-cookie" not in shown.headers
        assert f'name="code" value="{code}"' in shown.body.decode()
        pressed = await sign_in(stand, {"code": code}, Origin=OWN, Sec_Fetch_Site="same-origin")
        assert pressed.status == 303 and "set-cookie" in pressed.headers


@driven
async def test_what_only_looks_ahead_uses_no_link_up(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        code = Access(tmp_path).make_sign_in_code()
        address = f"/console/login?code={code}"
        assert (await stand.ask("HEAD", address)).status == 200
        assert (await stand.ask("GET", address, headers={"Sec-Purpose": "prefetch;prerender"})).status == 200
        assert (await stand.ask("GET", address)).status == 303


@driven
@pytest.mark.parametrize("code", ["x", "../owner.token", "..", "/etc/passwd", "\x00", "é", "x" * 4000])
async def test_what_is_no_code_opens_nothing(tmp_path: Path, code: str) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        stand.owner()
        reply = await stand.ask("GET", f"/console/login?code={quote(code)}")
        assert reply.status == 401 and "set-cookie" not in reply.headers


def test_a_code_is_over_after_a_while_and_is_tidied_away(tmp_path: Path) -> None:
    access = Access(tmp_path)
    late = access.make_sign_in_code()
    old = time.time() - CODE_SECONDS
    for file in codes(tmp_path):
        os.utime(file, (old, old))
    assert access.redeem_code(late) is None
    forgotten = access.make_sign_in_code()
    for file in codes(tmp_path):
        os.utime(file, (old, old))
    good = access.make_sign_in_code()  # making another one tidies
    assert len(codes(tmp_path)) == 1
    assert access.redeem_code(forgotten) is None
    assert access.redeem_code(good) == (tmp_path / KEYS_FOLDER / OWNER_FILE).read_text().strip()


def test_codes_are_for_their_owner_to_read_and_not_stored_in_clear(tmp_path: Path) -> None:
    code = Access(tmp_path).make_sign_in_code()
    (file,) = codes(tmp_path)
    assert file.stat().st_mode & 0o077 == 0 and code not in file.name


def test_a_code_stands_for_the_token_in_the_environment(tmp_path: Path) -> None:
    access = Access(tmp_path)
    _, secret = access.add(access.local_owner(), "mara", [APPROVE])
    code = Access(tmp_path, {"FERRULE_TOKEN": secret}).make_sign_in_code()
    assert access.redeem_code(code) == secret


def test_of_many_processes_at_the_same_time_one_is_signed_in(tmp_path: Path) -> None:
    access = Access(tmp_path)
    program = (
        "import sys, pathlib, time\n"
        "from ferrule.access.keys import Access\n"
        "access, code = Access(sys.argv[1]), sys.argv[2]\n"
        "print(flush=True); sys.stdin.readline()\n"
        "print('in' if access.redeem_code(code) else 'out')\n"
    )
    code = access.make_sign_in_code()
    words = [sys.executable, "-c", program, str(tmp_path), code]
    rivals = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    for rival in rivals:
        assert rival.stdout is not None
        rival.stdout.readline()
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("\n")
        rival.stdin.flush()
    ends = sorted(rival.communicate(timeout=30)[0].strip() for rival in rivals)
    assert ends == ["in", *["out"] * 5]


# Other sites


@driven
async def test_no_other_site_signs_anybody_in_or_out(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        form = {"token": stand.owner()}
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:3000"},
                        {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}):  # fmt: skip
            assert (await sign_in(stand, form, **headers)).status == 403, headers
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            out = await stand.ask("POST", "/console/logout", b"", named)
            assert out.status == 403 and "set-cookie" not in out.headers
        assert (await sign_in(stand, form, Origin=OWN, Sec_Fetch_Site="same-origin")).status == 303


@driven
async def test_an_origin_that_may_call_the_api_may_not_use_the_console(tmp_path: Path) -> None:
    settings = ServeSettings(auth=True, origins=("https://app.example",))
    async with running_server(tmp_path, settings=settings) as stand:
        assert (await sign_in(stand, {"token": stand.owner()}, Origin="https://app.example")).status == 403
        person = await signed_in(stand)
        assert (await person.see("/", Origin="https://app.example")).status == 403
