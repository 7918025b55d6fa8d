"""Tokens are renewed before they end, once, whoever asks; and asked for anew when they cannot be."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from ferrule.infra.credentials.sealed import KEY_FILE
from tests import ROOT
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Provider
from tests.infra.credentials.scripted_provider import ScriptedProvider

HOUR = 3600


def test_a_token_is_used_until_shortly_before_its_end(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()
            asked = provider.asked()["refresh_token"]
            first = await here.tokens.token("acme", "alice", ["read"])
            here.clock.advance(HOUR - 70)
            assert await here.tokens.token("acme", "alice", ["read"]) == first
            assert provider.asked()["refresh_token"] == asked
            here.clock.advance(20)
            second = await here.tokens.token("acme", "alice", ["read"])
            assert second != first and provider.asked()["refresh_token"] == asked + 1
            assert second in here.learned

    asyncio.run(story())


def test_refresh_tokens_that_work_once_are_kept_as_they_rotate(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()
            seen = set()
            for _ in range(4):
                seen.add(await here.tokens.token("acme", "alice", ["read"]))
                here.clock.advance(HOUR)
            assert len(seen) == 4

    asyncio.run(story())


def test_twenty_calls_at_once_ask_the_provider_once(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        settings = {"acme": make_public_provider(provider.issuer)}
        async with oauth_setup(tmp_path, settings) as here, oauth_setup(tmp_path, settings, here.clock) as there:
            await here.connect()
            here.clock.advance(HOUR)
            asked = provider.asked()["refresh_token"]
            wanted = [one.tokens.token("acme", "alice", ["read"]) for one in (here, there) for _ in range(10)]
            assert len(set(await asyncio.gather(*wanted))) == 1
            assert provider.asked()["refresh_token"] == asked + 1

    asyncio.run(story())


_CHILD = """
import asyncio, json, sys
from pathlib import Path
from ferrule.testing import FakeClock
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup

async def main():
    clock = FakeClock("2026-01-31T13:30:00Z")
    async with oauth_setup(Path(sys.argv[1]), {"acme": make_public_provider(sys.argv[2])}, clock) as here:
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(await here.tokens.token("acme", "alice", ["read"])), flush=True)

asyncio.run(main())
"""


def test_several_processes_ask_the_provider_once(tmp_path: Path, provider: Provider) -> None:
    async def connected() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()

    asyncio.run(connected())
    asked = provider.asked()["refresh_token"]
    command = [sys.executable, "-c", _CHILD, str(tmp_path), provider.issuer]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(3)
    ]
    try:
        for child in children:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        tokens = {json.loads(child.communicate(timeout=30)[0]) for child in children}
    finally:
        for child in children:
            child.kill()
            child.wait(timeout=10)
    assert len(tokens) == 1
    assert provider.asked()["refresh_token"] == asked + 1


def test_what_the_provider_forgot_is_forgotten_here_and_asked_for_anew(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here)
            here.clock.advance(HOUR)
            odd.answers = [(400, {"error": "invalid_grant", "error_description": "told: refresh-0"})]
            with pytest.raises(AuthorizationRequired, match="has ended") as caught:
                await here.tokens.token("acme", "alice", ["read"])
            assert "refresh-0" not in caught.value.message
            assert here.authorizations.list_connections("alice") == []

    asyncio.run(story())


def test_a_real_provider_that_forgot_leads_to_a_challenge(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()
            provider.forget()
            here.clock.advance(HOUR)
            with pytest.raises(AuthorizationRequired, match="has ended"):
                await here.tokens.token("acme", "alice", ["read"])
            await here.connect()
            assert await here.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_a_token_that_cannot_be_renewed_ends_in_a_challenge(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here, refresh_token=None)
            here.clock.advance(HOUR)
            assert "cannot be renewed" in here.tokens.problem("acme", "alice", ["read"])
            with pytest.raises(AuthorizationRequired):
                await here.tokens.token("acme", "alice", ["read"])
            assert odd.asked == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answer", "error_class", "code"),
    [
        ((503, {}), "dependency_unavailable", "provider_unavailable"),
        ((429, {}), "rate_limited", "provider_unavailable"),
        ((401, {"error": "invalid_client"}), "credential_missing", "credential_refused"),
        ((400, {"error": "invalid_scope"}), "setup_required", "provider_unusable"),
        ((200, {"access_token": "x y", "token_type": "Bearer"}), "dependency_unavailable", "provider_unavailable"),
        ((200, {"access_token": "xyz", "token_type": "mac"}), "dependency_unavailable", "provider_unavailable"),
        ((200, {"token_type": "Bearer"}), "dependency_unavailable", "provider_unavailable"),
        ((200, []), "dependency_unavailable", "provider_unavailable"),
        ((302, {}), "setup_required", "provider_unusable"),
    ],
)
def test_a_refresh_that_fails_otherwise_keeps_what_there_is(
    answer: tuple[int, object], error_class: str, code: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here)
            here.clock.advance(HOUR - 30)  # within the margin: the old token still works
            odd.answers = [answer, answer]
            assert await here.tokens.token("acme", "alice", ["read"]) == "access-0"
            here.clock.advance(31)
            with pytest.raises(ExecutionFailed) as caught:
                await here.tokens.token("acme", "alice", ["read"])
            assert (caught.value.error_class, caught.value.code) == (error_class, code)
            odd.answers = []
            assert await here.tokens.token("acme", "alice", ["read"]) == "access-3"

    asyncio.run(story())


def test_a_call_that_is_canceled_does_not_lose_the_new_token(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here)
            here.clock.advance(HOUR)
            odd.gate.clear()
            task = asyncio.create_task(here.tokens.token("acme", "alice", ["read"]))
            await asyncio.wait_for(odd.arrived.wait(), 5)
            task.cancel()
            assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
            odd.gate.set()
            await here.tokens.aclose()
            assert await here.tokens.token("acme", "alice", ["read"]) == "access-1"
            assert odd.asked == 2

    asyncio.run(story())


def test_a_token_that_somebody_refused_is_renewed(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here)
            token = await here.tokens.token("acme", "alice", ["read"])
            await here.tokens.drop_refused("acme", "alice", "another token")
            assert await here.tokens.token("acme", "alice", ["read"]) == token
            await here.tokens.drop_refused("acme", "alice", token)
            assert await here.tokens.token("acme", "alice", ["read"]) != token

    asyncio.run(story())


@pytest.mark.parametrize(
    "change",
    [
        {"expires_in": "3600"},
        {"expires_in": None},
        {"scope": "read,gist"},
        {"scope": "gist read"},
        {"scope": ""},
        {"token_type": "BEARER", "id_token": "x.y.z", "more": {"a": 1}},
    ],
)
def test_answers_as_providers_really_give_them_are_understood(change: dict[str, object], tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here, **change)
            assert await here.tokens.token("acme", "alice", ["read"]) == "access-0"

    asyncio.run(story())


def test_a_failure_that_is_told_with_success_is_a_failure(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            await odd.connect(here)
            here.clock.advance(HOUR)
            odd.answers = [(200, {"error": "bad_refresh_token", "error_description": "…"})]
            with pytest.raises(AuthorizationRequired):
                await here.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_a_key_that_others_can_read_hands_nothing_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd:
            async with oauth_setup(tmp_path, {"acme": odd.settings}) as here:
                await odd.connect(here)
            (tmp_path / KEY_FILE).chmod(0o644)
            async with oauth_setup(tmp_path, {"acme": odd.settings}) as here:
                with pytest.raises(ExecutionFailed, match="chmod 600") as caught:
                    await here.tokens.token("acme", "alice", ["read"])
                assert caught.value.error_class == "setup_required"

    asyncio.run(story())


def test_the_audience_is_named_wherever_a_token_is_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd:
            settings = OAuthProvider(
                client_id="c",
                authorization_url=odd.url("/a?x=1"),
                token_url=odd.url("/t"),
                resource="https://api.example.com",
            )
            async with oauth_setup(tmp_path, {"acme": settings}) as here:
                challenge = await here.authorizations.begin("acme", "alice")
                assert "resource=https%3A%2F%2Fapi.example.com" in challenge.url and "/a?x=1&" in challenge.url
                await here.authorizations.complete(challenge.state, "code")
                here.clock.advance(HOUR)
                await here.tokens.token("acme", "alice")
                assert [form["resource"] for form in odd.forms] == ["https://api.example.com"] * 2
                assert len(odd.forms[0]["code_verifier"]) >= 43

    asyncio.run(story())
