"""A user authorizes a tool, against a real provider: from the challenge to the token, and back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Browser, Provider, read_parameters

LOCAL = "http://127.0.0.1:"


def test_a_user_follows_the_challenge_and_the_tool_gets_a_token(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            with pytest.raises(AuthorizationRequired) as caught:
                await here.tokens.token("acme", "alice", ["read"])
            required = caught.value
            assert (required.error_class, required.code) == ("credential_missing", "authorization_required")
            assert required.output is not None
            (told,) = required.output.value["authorization"]
            assert told["id"] == "acme" and told["url"] in required.message
            said = read_parameters(told["url"])
            assert said["code_challenge_method"] == "S256" and len(said["code_challenge"]) == 43
            assert set(said["scope"].split()) == {"read", "openid", "offline_access"}

            page = await Browser("alice").visit(told["url"])
            assert "alice is connected to acme" in page
            token = await here.tokens.token("acme", "alice", ["read"])
            assert token in here.learned and token not in page
            assert here.authorizations.status(required.challenges[0].state) == "completed"
            (connection,) = here.authorizations.list_connections("alice")
            assert connection.is_renewable and "read" in connection.scopes

    asyncio.run(story())


def test_one_users_token_is_not_another_users(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect(principal="alice")
            for principal, tenant in (("bob", ""), ("alice", "elsewhere"), ("Alice", ""), ("alice ", "")):
                with pytest.raises(AuthorizationRequired):
                    await here.tokens.token("acme", principal, ["read"], tenant=tenant)
            with pytest.raises(ExecutionFailed):
                await here.tokens.token("acme", "", ["read"])

    asyncio.run(story())


def test_a_scope_that_is_missing_is_asked_for_with_those_there_were(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect(scopes=("read",))
            with pytest.raises(AuthorizationRequired, match="scope write was not granted") as caught:
                await here.tokens.token("acme", "alice", ["write"])
            (challenge,) = caught.value.challenges
            assert {"read", "write"} <= set(read_parameters(challenge.url)["scope"].split())
            await Browser("alice").visit(challenge.url)
            assert await here.tokens.token("acme", "alice", ["read", "write"])

    asyncio.run(story())


def test_everything_that_is_missing_is_told_at_once(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        settings = {name: make_public_provider(provider.issuer) for name in ("one", "two", "three")}
        async with oauth_setup(tmp_path, settings) as here:
            await here.connect("two")
            with pytest.raises(AuthorizationRequired) as caught:
                await here.tokens.tokens({"one": ["read"], "two": ["read"], "three": []}, "alice")
            assert caught.value.output is not None
            assert [one["id"] for one in caught.value.output.value["authorization"]] == ["one", "three"]

    asyncio.run(story())


def test_calls_that_meet_a_missing_authorization_share_one_challenge(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            first = await here.authorizations.begin("acme", "alice", ["read"])
            assert await here.authorizations.begin("acme", "alice", ["read"]) == first
            here.clock.advance(9 * 60)  # too little time left for a user
            assert await here.authorizations.begin("acme", "alice", ["read"]) != first
            assert (await here.authorizations.begin("acme", "bob", ["read"])).state != first.state

    asyncio.run(story())


def test_what_one_process_began_another_can_finish(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        settings = {"acme": make_public_provider(provider.issuer)}
        async with oauth_setup(tmp_path, settings) as here, oauth_setup(tmp_path, settings) as there:
            challenge = await here.authorizations.begin("acme", "alice", ["read"], redirect_uri=f"{LOCAL}9/callback")
            back = read_parameters(await Browser().visit(challenge.url, stop_at=f"{LOCAL}9/callback"))
            await there.authorizations.complete(back["state"], back["code"], back["iss"])
            assert here.authorizations.status(challenge.state) == "completed"
            assert await here.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_disconnecting_ends_the_tokens_here_and_at_the_provider(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()
            before = provider.asked()["revocation"]
            gone = await here.authorizations.disconnect("acme", "alice")
            assert gone.was_connected and gone.is_revoked
            assert provider.asked()["revocation"] == before + 2
            assert here.authorizations.list_connections("alice") == []
            with pytest.raises(AuthorizationRequired):
                await here.tokens.token("acme", "alice", ["read"])
            again = await here.authorizations.disconnect("acme", "alice")
            assert not again.was_connected

    asyncio.run(story())


def test_a_provider_that_the_settings_do_not_have_is_told_with_the_nearest(tmp_path: Path) -> None:
    async def story() -> None:
        async with oauth_setup(
            tmp_path, {"acme": OAuthProvider(client_id="x", issuer="https://id.example.com")}
        ) as here:
            with pytest.raises(ExecutionFailed, match=r"no \[oauth.acmee\].*acme") as caught:
                await here.tokens.token("acmee", "alice")
            assert caught.value.error_class == "setup_required"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (OAuthProvider(client_id="x"), "authorization_url"),
        (OAuthProvider(client_id="x", authorization_url="http://id.example.com/a", token_url="https://id.example.com"), "https"),
        (OAuthProvider(client_id="x", authorization_url="https://id.example.com/a", token_url="ftp://x"), "token_url"),
        (OAuthProvider(client_id="x", authorization_url="https://id.example.com/a", token_url="https://id.example.com",
                       redirect_uri="http://app.example.com/back"), "redirect_uri"),
    ],
)  # fmt: skip
def test_settings_that_would_send_tokens_in_the_open_are_refused(
    settings: OAuthProvider, words: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": settings}) as here:
            with pytest.raises(ExecutionFailed, match=words) as caught:
                await here.authorizations.begin("acme", "alice")
            assert caught.value.error_class == "setup_required"

    asyncio.run(story())


def test_a_provider_that_refuses_is_told_and_nothing_is_kept(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            challenge = await here.authorizations.begin("acme", "alice", ["read"])
            with pytest.raises(ExecutionFailed, match="access_denied"):
                await here.authorizations.complete(challenge.state, "", provider.issuer, error="access_denied")
            assert here.authorizations.status(challenge.state) == "failed"

    asyncio.run(story())
