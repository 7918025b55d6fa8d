"""Access tokens of authorization servers: what counts, what does not, and whom each makes (MCP-268 to MCP-278, MCP-283)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from ferrule.access.keys import Access
from ferrule.infra.tasks import resolve
from ferrule.model.approval import ADMIN, APPROVE, CALL
from ferrule.model.serving import GrantSettings, JwtSettings, ServeSettings
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth import jwks
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.gate import GuardedGate
from tests.driven import driven
from tests.servers.issuer import RESOURCE, Issuer, issuing
from tests.servers.local_server import running_server

PUBLIC = "https://tools.example.com"


async def never() -> dict[str, object]:
    raise AssertionError("who calls is known before the body is read")


def bearing(token: str, *more: tuple[bytes, bytes]) -> HttpRequest:
    headers = [(b"host", b"tools.example.com"), (b"authorization", b"Bearer " + token.encode()), *more]
    return HttpRequest({"method": "POST", "path": "/mcp", "headers": headers}, never)


@asynccontextmanager
async def guarded(folder: Path, issuer: Issuer, *grants: GrantSettings, **said: Any) -> AsyncIterator[GuardedGate]:
    settings = ServeSettings(public_url=PUBLIC, jwt=JwtSettings(issuer=issuer.url, **said), grants=grants)
    gate = GuardedGate(settings, Access(folder))
    try:
        yield gate
    finally:
        await gate.aclose()


async def came(folder: Path, issuer: Issuer, token: str, **said: Any) -> Caller:
    async with guarded(folder, issuer, **said) as gate:
        caller = await resolve(gate.caller(bearing(token)))
        assert await resolve(gate.caller(bearing(token))) == caller
        return caller


@driven
async def test_a_good_token_makes_a_caller_of_its_own_kind(tmp_path: Path) -> None:
    async with issuing() as issuer:
        caller = await came(tmp_path, issuer, issuer.token(groups=["support", 5], client_id="desk"))
        identity = caller.identity
        assert identity.principal == f"{issuer.url}|ada"
        assert identity.channel == f"jwt:{issuer.url}|ada|desk"
        assert identity.scopes == {CALL} and identity.groups == {"support"}
        assert (caller.tenant, identity.tenant, caller.agent, caller.role) == ("default", "default", None, None)
        named = await came(tmp_path, issuer, issuer.token(), name="corp")
        assert named.identity.principal == "corp|ada"


@driven
async def test_the_next_token_of_a_client_is_the_same_channel_and_another_clients_is_not(tmp_path: Path) -> None:
    async with issuing() as issuer, guarded(tmp_path, issuer) as gate:
        first, again, other = [
            (await resolve(gate.caller(bearing(issuer.token(azp=client, jti=number))))).identity.channel
            for number, client in (("1", "desk"), ("2", "desk"), ("3", "phone"))
        ]
        assert first == again != other


BAD: dict[str, dict[str, Any]] = {
    "over": {"exp": 100},
    "without an end": {"exp": None},
    "an end that is no time": {"exp": "soon"},
    "an end that never comes": {"exp": float("inf")},
    "not yet": {"nbf": 32_503_680_000},
    "made in the future": {"iat": 32_503_680_000},
    "for another": {"aud": "https://other.example.com/mcp"},
    "for a neighbour": {"aud": "https://tools.example.com.evil.com/mcp"},
    "for a path of ours that is none": {"aud": "https://tools.example.com/mcp/x"},
    "for nobody": {"aud": None},
    "for an odd audience": {"aud": {"x": 1}},
    "by another issuer": {"iss": "https://evil.example.com"},
    "by nobody": {"iss": None},
    "without a subject": {"sub": None},
    "with an empty subject": {"sub": ""},
    "with a subject that breaks lines": {"sub": "ada\nroot"},
    "bound to a key": {"cnf": {"jkt": "x"}},
}


@pytest.mark.parametrize("case", list(BAD))
@driven
async def test_a_token_that_is_not_for_us_and_for_now_is_refused(tmp_path: Path, case: str) -> None:
    """MCP-270, MCP-273"""
    async with issuing() as issuer, guarded(tmp_path, issuer) as gate:
        with pytest.raises(Refused) as refused:
            await resolve(gate.caller(bearing(issuer.token(**BAD[case]))))
        assert refused.value.status == 401
        assert 'error="invalid_token"' in refused.value.challenge
        assert (
            'resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"'
            in refused.value.challenge
        )
        assert 'scope="call"' in refused.value.challenge


@driven
async def test_a_little_difference_of_clocks_is_forgiven(tmp_path: Path) -> None:
    now = int(time.time())
    async with issuing() as issuer, guarded(tmp_path, issuer) as gate:
        await resolve(gate.caller(bearing(issuer.token(exp=now - 10, iat=now + 10, nbf=now + 10))))
        with pytest.raises(Refused):
            await resolve(gate.caller(bearing(issuer.token(exp=now - 60))))


@driven
async def test_every_address_of_ours_is_an_audience_and_a_configured_one_is_the_only(tmp_path: Path) -> None:
    async with issuing() as issuer:
        async with guarded(tmp_path, issuer) as gate:
            for audience in (RESOURCE, PUBLIC, PUBLIC + "/", ["https://other.example.com", RESOURCE]):
                await resolve(gate.caller(bearing(issuer.token(aud=audience))))
        async with guarded(tmp_path, issuer, audience="urn:tools") as gate:
            await resolve(gate.caller(bearing(issuer.token(aud="urn:tools"))))
            with pytest.raises(Refused):
                await resolve(gate.caller(bearing(issuer.token())))


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def forged(issuer: Issuer, header: dict[str, Any], signature: bytes = b"") -> str:
    """A token whose header says this, put together by hand."""
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@driven
async def test_signatures_that_prove_nothing_are_refused(tmp_path: Path) -> None:
    """Neither no algorithm, nor a public key used as a secret, nor somebody else's key, nor one that the token brings."""
    async with issuing() as issuer, guarded(tmp_path, issuer) as gate:
        own = issuer.keys["first"]
        assert isinstance(own, ec.EllipticCurvePrivateKey)
        stranger = ec.generate_private_key(ec.SECP256R1())
        good = issuer.token()
        head, body, signature = good.split(".")
        shared = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
        confused = forged(issuer, {"alg": "HS256", "kid": "first"})
        unsigned = confused.rpartition(".")[0]
        mac = base64.urlsafe_b64encode(shared.sign(unsigned.encode(), pem(own))).rstrip(b"=").decode()
        tokens = [
            forged(issuer, {"alg": "none"}),
            forged(issuer, {"alg": "None", "kid": "first"}),
            f"{unsigned}.{mac}",
            issuer.token(key=stranger),
            issuer.token(key=stranger, headers={"jwk": {"kty": "EC"}, "jku": "https://evil.example.com/keys"}),
            issuer.token(headers={"kid": "unheard of"}),
            issuer.token(headers={"crit": ["exp"]}),
            issuer.token(headers={"typ": "dpop+jwt"}),
            issuer.token(headers={"typ": 5}),
            f"{head}.{body}.{signature[:-4]}AAAA",
            f"{head}.{body}.",
            f"{head}.{body}",
            f"{head}.{base64.urlsafe_b64encode(b'[1]').decode()}.{signature}",
            f"{'x' * 20000}.{body}.{signature}",
            "a.b.c",
            "..",
            "x",
        ]
        for token in tokens:
            with pytest.raises(Refused) as refused:
                await resolve(gate.caller(bearing(token)))
            assert refused.value.status == 401, token
        await resolve(gate.caller(bearing(good)))


@driven
async def test_each_allowed_algorithm_counts_and_no_other(tmp_path: Path) -> None:
    async with issuing() as issuer:
        issuer.turn("rsa", rsa.generate_private_key(65537, 2048))
        issuer.turn("ed", ed25519.Ed25519PrivateKey.generate())
        async with guarded(tmp_path, issuer) as gate:
            for kid in ("first", "rsa", "ed"):
                await resolve(gate.caller(bearing(issuer.token(key=issuer.keys[kid], headers={"kid": kid}))))
            with pytest.raises(Refused):
                await resolve(
                    gate.caller(bearing(issuer.token(key=issuer.keys["rsa"], alg="RS512", headers={"kid": "rsa"})))
                )
        async with guarded(tmp_path, issuer, algorithms=("ES256",)) as gate:
            with pytest.raises(Refused):
                await resolve(gate.caller(bearing(issuer.token(key=issuer.keys["rsa"], headers={"kid": "rsa"}))))


@driven
async def test_scopes_are_those_of_the_token_by_any_of_their_names(tmp_path: Path) -> None:
    async with issuing() as issuer:
        names = {"tools.call": "call", "tools.sign": "approve"}
        cases: list[tuple[dict[str, Any], set[str]]] = [
            ({"scope": "openid call approve"}, {CALL, APPROVE}),
            ({"scope": "tools.call"}, {CALL}),
            ({"scope": None, "scp": ["tools.sign", "admin"]}, {APPROVE, ADMIN}),
            ({"scope": None, "scp": "call"}, {CALL}),
            ({"scope": None}, set()),
            ({"scope": {"call": 1}}, set()),
            ({"scope": "CALL"}, set()),
        ]
        async with guarded(tmp_path, issuer, scopes=names) as gate:
            for claims, expected in cases:
                assert (await resolve(gate.caller(bearing(issuer.token(**claims))))).identity.scopes == expected
        everybody = await came(tmp_path, issuer, issuer.token(scope=None), default_scopes=("call",))
        assert everybody.identity.scopes == {CALL}


@driven
async def test_tenant_agent_role_and_groups_come_from_their_claims(tmp_path: Path) -> None:
    async with issuing() as issuer:
        said = {
            "tenant_claim": "org",
            "agent_claim": "https://x.example/agent",
            "role_claim": "realm.role",
            "groups_claim": "realm.groups",
        }
        claims: dict[str, Any] = {
            "org": "acme",
            "https://x.example/agent": "desk",
            "realm": {"role": "clerk", "groups": "all"},
        }
        async with guarded(tmp_path, issuer, **said) as gate:
            caller = await resolve(gate.caller(bearing(issuer.token(**claims))))
            assert (caller.tenant, caller.agent, caller.role) == ("acme", "desk", "clerk")
            assert caller.identity.tenant == "acme" and caller.identity.groups == {"all"}
            for odd in ({"org": None}, {"org": ""}, {"org": 5}, {"org": ["acme"]}, {"org": "a\tb"}):
                with pytest.raises(Refused) as refused:
                    await resolve(gate.caller(bearing(issuer.token(**(claims | odd)))))
                assert refused.value.status == 401


@driven
async def test_people_of_one_name_are_never_one_person(tmp_path: Path) -> None:
    """An issuer's `ada`, another issuer's, and the holder of a local key are three."""
    access = Access(tmp_path)
    _, key = access.add(access.local_owner(), "ada", [CALL])
    async with issuing() as one, issuing() as two:
        issuers = (JwtSettings(issuer=one.url, name="one"), JwtSettings(issuer=two.url))
        gate = GuardedGate(ServeSettings(public_url=PUBLIC, jwt=issuers), access)
        tokens = (key, one.token(), two.token(), two.token(sub="one|ada"))
        names = [(await resolve(gate.caller(bearing(token)))).identity.principal for token in tokens]
        assert names == ["ada", "one|ada", f"{two.url}|ada", f"{two.url}|one|ada"]
        with pytest.raises(Refused):  # one issuer's key under the other's name
            await resolve(gate.caller(bearing(one.token(iss=two.url))))
        await gate.aclose()


@driven
async def test_grants_say_what_callers_become_and_the_first_that_fits_counts(tmp_path: Path) -> None:
    grants = (
        GrantSettings(group="banned", refuse=True),
        GrantSettings(principal="corp|root*", agent="ops"),
        GrantSettings(group="support", role="support-role", tenant="acme"),
        GrantSettings(issuer="corp", surface="small"),
        GrantSettings(issuer="local", role="keys"),
    )
    async with issuing() as issuer, guarded(tmp_path, issuer, *grants, name="corp") as gate:
        cases: list[tuple[dict[str, Any], tuple[str | None, ...]]] = [
            ({"groups": ["support"]}, (None, "support-role", None, "acme")),
            ({"sub": "rooty", "groups": ["support"]}, ("ops", None, None, "default")),
            ({}, (None, None, "small", "default")),
        ]
        for claims, expected in cases:
            caller = await resolve(gate.caller(bearing(issuer.token(**claims))))
            assert (caller.agent, caller.role, caller.surface_id, caller.tenant) == expected
            assert caller.identity.tenant == caller.tenant
        with pytest.raises(Refused) as refused:
            await resolve(gate.caller(bearing(issuer.token(groups=["support", "banned"]))))
        assert refused.value.status == 403


@driven
async def test_a_remembered_token_ends_with_its_time(tmp_path: Path) -> None:
    now = time.time()
    async with issuing() as issuer:
        settings = ServeSettings(public_url=PUBLIC, jwt=JwtSettings(issuer=issuer.url, leeway_seconds=0))
        gate = GuardedGate(settings, Access(tmp_path), clock=lambda: now)
        token = issuer.token(exp=int(now) + 30, iat=None)
        await resolve(gate.caller(bearing(token)))
        now += 31
        issuer.is_down = True
        asked = dict(issuer.asked)
        await resolve(gate.caller(bearing(token)))  # verified again, by the clock of the machine, which has not moved
        assert issuer.asked == asked
        await gate.aclose()


@driven
async def test_a_remembered_token_does_not_outlive_the_key_that_signed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    async with issuing() as issuer:
        settings = ServeSettings(public_url=PUBLIC, jwt=JwtSettings(issuer=issuer.url))
        monkeypatch.setattr(jwks, "KEPT_SECONDS", 0.0)
        monkeypatch.setattr(jwks, "MIN_FETCH_INTERVAL_SECONDS", 0.0)
        gate = GuardedGate(settings, Access(tmp_path), clock=lambda: now)
        token = issuer.token(exp=int(now) + 7200)
        await resolve(gate.caller(bearing(token)))
        issuer.turn("second", keep=False)
        now += 601
        with pytest.raises(Refused):
            await resolve(gate.caller(bearing(token)))
        await gate.aclose()


def demanded(tool: str = "add") -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}}


@driven
async def test_a_token_without_the_scope_is_told_which_it_needs(tmp_path: Path) -> None:
    """MCP-275, MCP-277: every scope at once, and a broader one is enough."""
    async with issuing() as issuer:
        said = JwtSettings(issuer=issuer.url, scopes={"tools.call": "call"})
        settings = ServeSettings(public_url=PUBLIC, jwt=said)
        async with running_server(tmp_path, settings=settings) as stand:
            headers = {"Accept": "application/json, text/event-stream", "Host": "tools.example.com"}
            reply = await stand.ask(
                "POST", "/mcp", demanded(), headers | {"Authorization": f"Bearer {issuer.token(scope='approve')}"}
            )
            assert reply.status == 403 and reply.json()["error"]["data"]["code"] == "insufficient_scope"
            challenge = reply.headers["www-authenticate"]
            assert 'error="insufficient_scope"' in challenge and 'scope="tools.call"' in challenge
            assert f'resource_metadata="{PUBLIC}/.well-known/oauth-protected-resource/mcp"' in challenge
            for scope in ("call", "tools.call", "admin"):
                reply = await stand.ask(
                    "POST", "/mcp", demanded(), headers | {"Authorization": f"Bearer {issuer.token(scope=scope)}"}
                )
                assert reply.status not in (401, 403)


@driven
async def test_who_calls_is_known_before_anything_is_read(tmp_path: Path) -> None:
    """MCP-283, MCP-269: a bad token and a bad body are a bad token; a token in the query is none."""
    async with issuing() as issuer:
        settings = ServeSettings(public_url=PUBLIC, jwt=JwtSettings(issuer=issuer.url))
        async with running_server(tmp_path, settings=settings) as stand:
            host = {"Host": "tools.example.com"}
            for headers in (host, host | {"Authorization": f"Bearer {issuer.token(exp=5)}"}):
                assert (await stand.ask("POST", "/mcp", b"{no json", headers)).status == 401
            token = issuer.token()
            for name in ("access_token", "token", "authorization"):
                assert (await stand.ask("POST", f"/mcp?{name}={token}", demanded(), host)).status == 401
