"""Who may call over OXP (OXP-43 to OXP-47)."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from ferrule.access.keys import OWNER_FILE, Access
from ferrule.errors import SettingsError
from ferrule.model.serving import OxpSettings, ServeSettings
from ferrule.servers.auth.refusals import RefusalLog
from tests.servers.oxp.oxp_server import OxpTestServer, running_oxp_server
from tests.servers.oxp.written import definition

SECRET = "a-shared-secret-of-more-than-32-bytes-for-tests"
ENV = "OXP_TEST_JWT_SECRET"
FEW = [definition("Doorbell.Ring@0.1.0")]


def settings(*auth: Any, **more: Any) -> ServeSettings:
    return ServeSettings(oxp=OxpSettings(auth=auth, **more))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxpTestServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENV, SECRET)
        ways = settings("api-key", "jwt", "bearer", jwt_secret_env=ENV, jwt_audiences=("here",))
        with running_oxp_server(tmp_path_factory.mktemp("oxp"), ways) as made:
            yield made


def signed(claims: dict[str, Any], secret: str = SECRET, algorithm: str = "HS256") -> dict[str, str]:
    return {"Authorization": f"Bearer {jwt.encode(claims, secret, algorithm)}"}


def soon(seconds: float = 60) -> int:
    return int(time.time() + seconds)


def unsigned(claims: dict[str, Any], head: dict[str, Any]) -> dict[str, str]:
    parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in (head, claims)]
    return {"Authorization": f"Bearer {'.'.join(parts)}."}


def test_health_needs_no_credential(guarded: OxpTestServer) -> None:
    """OXP-19, OXP-46"""
    assert guarded.ask("GET", "/oxp/health").status == 200


@pytest.mark.parametrize("path", ["/", "/oxp"])
def test_health_can_only_be_read(tmp_path: Path, path: str) -> None:
    """OXP-19, OXP-25: at the root of the port, too."""
    with running_oxp_server(tmp_path, settings("api-key", path=path), definitions=FEW, tools=[]) as made:
        health = f"{path.rstrip('/')}/health"
        assert made.ask("GET", health).status == 200
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            reply = made.ask(method, health)
            assert (reply.status, "GET" in reply.headers["allow"]) == (405, True)


@pytest.mark.parametrize("path", ["/oxp/tools", "/oxp/tools/call"])
def test_without_a_credential_the_answer_is_401_before_anything_else(guarded: OxpTestServer, path: str) -> None:
    """OXP-20, OXP-24, OXP-47: also for a body that would be refused."""
    method = "GET" if path.endswith("tools") else "POST"
    reply = guarded.ask(method, path, b"nonsense", {"Content-Type": "text/plain"})
    assert reply.status == 401
    assert "www-authenticate" in reply.headers
    assert reply.json()["message"]


@pytest.mark.parametrize(
    ("ways", "message", "challenge"),
    [
        (("api-key",), "OXP-API-Key: …", 'OXP-API-Key realm="oxp"'),
        (("bearer",), "Authorization: Bearer …", 'Bearer realm="oxp"'),
        (("api-key", "jwt"), "OXP-API-Key: …", 'OXP-API-Key realm="oxp"'),
        (("api-key", "bearer"), "OXP-API-Key: … or Authorization: Bearer …", 'Bearer realm="oxp", OXP-API-Key realm="oxp"'),
    ],
)  # fmt: skip
def test_a_401_says_which_headers_count(tmp_path: Path, ways: tuple[str, ...], message: str, challenge: str) -> None:
    """OXP-46, OXP-47: and never what is wrong with a credential."""
    with running_oxp_server(tmp_path, settings(*ways), definitions=FEW, tools=[]) as made:
        none = made.ask("GET", "/oxp/tools")
        assert (none.status, none.json()["message"]) == (401, f"a credential is needed: {message}")
        assert none.headers["www-authenticate"] == challenge
        shown = [{"OXP-API-Key": "wrong"}] if "api-key" in ways else []
        shown += [{"Authorization": "Bearer wrong"}] if "bearer" in ways else []
        for headers in shown:
            wrong = made.ask("GET", "/oxp/tools", headers=headers)
            assert (wrong.status, wrong.headers["www-authenticate"]) == (401, challenge)
            assert wrong.json()["message"] == f"the credential is not valid here; this takes {message}"
        other = {"Authorization": "Bearer x"} if "bearer" not in ways else {"Authorization": "Basic x"}
        assert made.ask("GET", "/oxp/tools", headers=other).json() == none.json(), (
            "a header that does not count is none"
        )


def test_a_key_of_the_workspace_comes_in(guarded: OxpTestServer) -> None:
    """OXP-44"""
    key = guarded.stand.read_token()
    assert guarded.ask("GET", "/oxp/tools", headers={"OXP-API-Key": key}).status == 200
    reply = guarded.call({"OXP-API-Key": key}, tool_id="Doorbell.Ring")
    assert reply.json()["result"]["success"] is True


@pytest.mark.parametrize("key", ["", "wrong", "frl_00000000_nothing", "\u00e9"])
def test_a_wrong_key_does_not(guarded: OxpTestServer, key: str) -> None:
    """OXP-44"""
    assert guarded.ask("GET", "/oxp/tools", headers={"OXP-API-Key": key}).status == 401


def test_a_wrong_key_is_not_made_good_by_a_right_token(guarded: OxpTestServer) -> None:
    """OXP-44"""
    both = {"OXP-API-Key": "wrong", "Authorization": f"Bearer {guarded.stand.read_token()}"}
    assert guarded.ask("GET", "/oxp/tools", headers=both).status == 401


def test_a_token_that_may_not_call_does_not_come_in(tmp_path: Path) -> None:
    """OXP-47: whoever only approves makes no calls."""
    with running_oxp_server(tmp_path, settings("api-key"), definitions=FEW, tools=[]) as made:
        access = Access(made.stand.app.root)
        owner = access.local_owner()
        _, secret = access.add(owner, "grace", ["approve"])
        assert made.ask("GET", "/oxp/tools", headers={"OXP-API-Key": secret}).status == 401
        assert made.stand.read_token(OWNER_FILE)


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"exp": 60}, 200),
        ({"exp": 60, "aud": "here"}, 200),
        ({"exp": 60, "aud": ["there", "here"]}, 200),
        ({"exp": 890}, 200),
        ({"exp": 1200}, 401),
        ({"exp": -1}, 401),
        ({"exp": 60, "aud": "there"}, 401),
        ({"exp": 60, "aud": []}, 401),
        ({"exp": 60, "aud": 5}, 401),
        ({}, 401),
        ({"exp": 60, "nbf": 30}, 401),
    ],
)  # fmt: skip
def test_signed_tokens(guarded: OxpTestServer, claims: dict[str, Any], status: int) -> None:
    """OXP-45"""
    told = {name: soon(value) if name in ("exp", "nbf") else value for name, value in claims.items()}
    assert guarded.ask("GET", "/oxp/tools", headers=signed(told)).status == status


def test_only_one_algorithm_counts(guarded: OxpTestServer) -> None:
    """OXP-45: nothing unsigned, and nothing signed in another way with the same secret."""
    claims = {"exp": soon()}
    shown = [
        unsigned(claims, {"alg": "none", "typ": "JWT"}),
        unsigned(claims, {"alg": "HS256"}),
        signed(claims, SECRET + SECRET, "HS384"),
        signed(claims, SECRET + SECRET, "HS512"),
        signed(claims, "another-secret-of-more-than-32-bytes-for-tests"),
        {"Authorization": "Bearer a.b.c"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic dTpw"},
    ]
    assert [guarded.ask("GET", "/oxp/tools", headers=headers).status for headers in shown] == [401] * len(shown)


def test_the_log_tells_why_a_credential_is_refused(guarded: OxpTestServer, caplog: pytest.LogCaptureFixture) -> None:
    """OXP-47: once a minute for each reason, and whoever is refused learns nothing of it."""
    access = Access(guarded.stand.app.root)
    owner = access.local_owner()
    revoked, secret = access.add(owner, "bob", ["call"])
    access.revoke(owner, revoked.id)
    _, approves = access.add(owner, "grace", ["approve"])
    guarded.stand.edge.refusals = RefusalLog()
    shown = [
        ({"OXP-API-Key": secret}, f"the key {revoked.id} of bob, which was revoked"),
        ({"Authorization": f"Bearer {secret}"}, f"the key {revoked.id} of bob, which was revoked"),
        ({"OXP-API-Key": approves}, "grace by token:"),
        (signed({"exp": soon(-5)}), "a token of the shared secret: it has expired"),
        (signed({"exp": soon(), "aud": "there"}), "its aud is none of [serve.oxp] jwt_audiences"),
        (signed({"exp": soon(7200)}), "it ends later than [serve.oxp] jwt_max_seconds allows"),
        (signed({"exp": soon(), "sub": "group:all"}), "its sub is no name"),
    ]
    with caplog.at_level(logging.WARNING, "ferrule.serve"):
        for headers, why in shown:
            replies = [guarded.ask("GET", "/oxp/tools", headers=headers) for _ in range(2)]
            assert {reply.status for reply in replies} == {401}
            assert {reply.json()["message"].partition(";")[0] for reply in replies} == {
                "the credential is not valid here"
            }
            assert caplog.text.count(why) == 1, why
        guarded.ask("GET", "/oxp/tools")
    assert len(caplog.records) == len(shown) - 1
    assert not any(word in caplog.text for word in (secret, approves, SECRET))


def test_nothing_that_is_written_in_a_token_gets_into_the_log(
    guarded: OxpTestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-47: whoever has no credential forges no line, and does not silence the refusals of others."""
    guarded.stand.edge.refusals = RefusalLog()
    with caplog.at_level(logging.WARNING, "ferrule.serve"):
        for number in range(70):
            head = {"alg": "HS256", "crit": [f"{number}\n2026-01-01 WARNING refused: forged\x1b[31m"]}
            assert guarded.ask("GET", "/oxp/tools", headers=unsigned({"exp": soon()}, head)).status == 401
        assert guarded.ask("POST", "/mcp", b"{}", {"Authorization": "Bearer frl_0000_nothing"}).status == 401
    assert "forged" not in caplog.text and len(caplog.records) == 2
    assert "a token of the shared secret: it is no JWT" in caplog.messages[0]
    assert "no key of this workspace" in caplog.messages[1]


def test_a_signed_token_says_who_calls(guarded: OxpTestServer) -> None:
    """OXP-45"""
    reply = guarded.call(signed({"exp": soon(), "sub": "ada"}), tool_id="Users.Whoami", context={"user_id": "ada"})
    assert reply.json()["result"]["value"] == "ada"


def test_several_ways_are_open_at_once(guarded: OxpTestServer) -> None:
    """OXP-46"""
    key = guarded.stand.read_token()
    ways = [{"OXP-API-Key": key}, {"Authorization": f"Bearer {key}"}, signed({"exp": soon()})]
    assert [guarded.ask("GET", "/oxp/tools", headers=way).status for way in ways] == [200, 200, 200]


def test_a_way_that_is_not_open_does_not_count(tmp_path: Path) -> None:
    """OXP-46"""
    with running_oxp_server(tmp_path, settings("api-key"), definitions=FEW, tools=[]) as made:
        key = made.stand.read_token()
        assert made.ask("GET", "/oxp/tools", headers={"OXP-API-Key": key}).status == 200
        assert made.ask("GET", "/oxp/tools", headers={"Authorization": f"Bearer {key}"}).status == 401
        assert made.ask("GET", "/oxp/tools", headers=signed({"exp": soon()})).status == 401


def test_without_authentication_headers_are_not_even_read(tmp_path: Path) -> None:
    """OXP-43"""
    with running_oxp_server(tmp_path, settings("none"), definitions=FEW, tools=[]) as made:
        for headers in ({}, {"Authorization": "\u00e9"}, {"OXP-API-Key": "wrong"}, {"Authorization": "Bearer expired"}):
            assert made.ask("GET", "/oxp/tools", headers=headers).status == 200


def test_a_secret_that_is_named_and_not_set_keeps_the_server_from_starting(tmp_path: Path) -> None:
    """OXP-45"""
    named = settings("jwt", jwt_secret_env="OXP_TEST_NOT_SET")
    with (
        pytest.raises(SettingsError, match="OXP_TEST_NOT_SET"),
        running_oxp_server(tmp_path, named, definitions=FEW, tools=[]),
    ):
        pass


def test_a_way_in_without_its_secret_is_told_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """OXP-45, OXP-46: where it is the only one, nobody could come in."""
    with (
        pytest.raises(SettingsError, match="jwt_secret_env"),
        running_oxp_server(tmp_path, settings("jwt"), definitions=FEW, tools=[]),
    ):
        pass
    with running_oxp_server(tmp_path, settings("jwt", "api-key"), definitions=FEW, tools=[]):
        assert "jwt_secret_env" in caplog.text
    caplog.clear()
    with running_oxp_server(tmp_path, ServeSettings(), definitions=FEW, tools=[]):
        assert "jwt_secret_env" not in caplog.text


def test_a_key_where_keys_do_not_count_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OXP-46"""
    monkeypatch.setenv(ENV, SECRET)
    with running_oxp_server(tmp_path, settings("jwt", jwt_secret_env=ENV), definitions=FEW, tools=[]) as made:
        stray = {"OXP-API-Key": made.stand.read_token()}
        assert made.ask("GET", "/oxp/tools", headers=stray).status == 401
        assert made.ask("GET", "/oxp/tools", headers={**stray, **signed({"exp": soon()})}).status == 200


def test_a_short_secret_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """OXP-44, OXP-45"""
    monkeypatch.setenv(ENV, "short")
    with running_oxp_server(tmp_path, settings("jwt", jwt_secret_env=ENV), definitions=FEW, tools=[]) as made:
        claims = {"exp": soon()}
        with pytest.warns(Warning, match="key"):
            shown = signed(claims, "short")
        assert made.ask("GET", "/oxp/tools", headers=shown).status == 200
    assert "fewer than 32 bytes" in caplog.text


def test_a_credential_that_speaks_only_for_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """OXP-40: `users = "own"` lets nobody name another user."""
    with running_oxp_server(tmp_path, settings("api-key", users="own")) as made:
        key = {"OXP-API-Key": made.stand.read_token()}
        assert made.call(key, tool_id="Users.Whoami", context={"user_id": "ada"}).status == 400
        assert "refused: agents on behalf of 'ada', which [serve.oxp] users" in caplog.text
        own = made.call(key, tool_id="Users.Whoami", context={"user_id": "agents"})
        assert own.json()["result"]["value"] == "agents"
