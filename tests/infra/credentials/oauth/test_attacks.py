"""What somebody might try who wants another user's tokens, or wants a user to use theirs."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.oauth import FOLDER
from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from ferrule.infra.credentials.sealed import KEY_FILE
from ferrule.infra.credentials.tokens import Owner
from tests.infra.credentials.bench import Bench, bench, public
from tests.infra.credentials.provider import Browser, Provider, brought, running

BACK = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def other() -> Iterator[Provider]:
    """A second provider, which an attacker runs."""
    with running() as started:
        yield started


async def _came_back(here: Bench, principal: str = "alice", provider: str = "acme") -> dict[str, str]:
    """What the browser of a user brings, who has authorized everything."""
    challenge = await here.authorizations.begin(provider, principal, ["read"], redirect_uri=BACK)
    return brought(await Browser(principal).visit(challenge.url, stop_at=BACK))


async def _refused(here: Bench, state: str, code: str, iss: str | None, words: str, **more: str) -> None:
    with pytest.raises(ExecutionFailed, match=words) as caught:
        await here.authorizations.complete(state, code, iss, **more)
    assert caught.value.code == "authorization_failed"
    assert code not in caught.value.message or not code


def test_a_state_nobody_gave_out_is_refused_and_leaves_nothing_behind(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await _came_back(here)
            before = sorted(os.listdir(tmp_path / FOLDER / "pending"))
            for state in ("", "x", back["state"] + "x", back["state"][:-1], "../../keys/oauth.key", "\0", "é" * 999):
                await _refused(here, state, back["code"], back["iss"], "not known")
                assert here.authorizations.status(state) == "failed"
            assert sorted(os.listdir(tmp_path / FOLDER / "pending")) == before
            await here.authorizations.complete(back["state"], back["code"], back["iss"])

    asyncio.run(story())


def test_a_state_works_once(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await _came_back(here)
            asked = provider.asked()["authorization_code"]
            attempts = [here.authorizations.complete(back["state"], back["code"], back["iss"]) for _ in range(5)]
            ended = await asyncio.gather(*attempts, return_exceptions=True)
            assert sum(not isinstance(one, BaseException) for one in ended) == 1
            assert provider.asked()["authorization_code"] == asked + 1
            await _refused(here, back["state"], back["code"], back["iss"], "used already")
            assert here.authorizations.status(back["state"]) == "completed"
            assert await here.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_a_state_ends_after_ten_minutes(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await _came_back(here)
            here.clock.advance(601)
            assert here.authorizations.status(back["state"]) == "failed"
            await _refused(here, back["state"], back["code"], back["iss"], "took too long")

    asyncio.run(story())


def test_whoever_follows_another_users_link_does_not_give_them_an_account(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await _came_back(here, "mallory")
            await _refused(here, back["state"], back["code"], back["iss"], "somebody else", principal="alice")
            assert here.authorizations.connections(None) == []
            await _refused(here, back["state"], back["code"], back["iss"], "used already", principal="mallory")
            back = await _came_back(here, "mallory")
            await _refused(
                here, back["state"], back["code"], back["iss"], "somebody else", principal="mallory", tenant="other"
            )

    asyncio.run(story())


def test_a_code_of_another_authorization_is_refused_by_pkce(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            stolen = await _came_back(here, "alice")
            own = await _came_back(here, "mallory")
            await _refused(here, own["state"], stolen["code"], own["iss"], "does not accept the code")
            assert here.authorizations.connections(None) == []
            assert here.authorizations.status(own["state"]) == "failed"

    asyncio.run(story())


def test_an_answer_of_another_provider_is_refused(tmp_path: Path, provider: Provider, other: Provider) -> None:
    async def story() -> None:
        settings = {"acme": public(provider.issuer), "evil": public(other.issuer)}
        async with bench(tmp_path, settings) as here:
            good = await _came_back(here)
            asked = other.asked()["authorization_code"], provider.asked()["authorization_code"]
            await _refused(here, good["state"], good["code"], other.issuer, "somebody else")
            good = await _came_back(here)
            await _refused(here, good["state"], good["code"], None, "does not say")
            # A code of the honest provider that was begun at the other one never reaches the other one.
            good, evil = await _came_back(here), await _came_back(here, provider="evil")
            await _refused(here, evil["state"], good["code"], good["iss"], "somebody else")
            assert asked == (other.asked()["authorization_code"], provider.asked()["authorization_code"])
            assert here.authorizations.connections(None) == []

    asyncio.run(story())


def test_an_answer_at_another_address_is_refused(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await _came_back(here)
            near = "http://127.0.0.1:9/callback/"
            await _refused(here, back["state"], back["code"], back["iss"], "another address", redirect_uri=near)

    asyncio.run(story())


def test_an_issuer_that_calls_itself_otherwise_is_refused(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer + "/")}) as here:
            with pytest.raises(ExecutionFailed, match="another name"):
                await here.authorizations.begin("acme", "alice")

    asyncio.run(story())


def test_a_client_that_changed_meanwhile_gets_neither_code_nor_tokens(
    tmp_path: Path, provider: Provider, other: Provider
) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            await here.connect()
            back = await _came_back(here)
        async with bench(tmp_path, {"acme": public(other.issuer)}) as here:
            asked = other.asked()
            await _refused(here, back["state"], back["code"], back["iss"], "changed meanwhile")
            here.clock.advance(7200)  # what would be refreshed with the old one
            with pytest.raises(AuthorizationRequired, match="another client"):
                await here.tokens.token("acme", "alice", ["read"])
            gone = await here.authorizations.disconnect("acme", "alice")
            assert gone.was_connected and not gone.is_revoked
            assert other.asked() == asked

    asyncio.run(story())


def test_a_swapped_or_changed_file_is_no_token(
    tmp_path: Path, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            await here.connect(principal="alice")
            folder = tmp_path / FOLDER
            file = folder / Owner("default", "alice", "acme").file_name
            whole = file.read_bytes()
            token = await here.tokens.token("acme", "alice", ["read"])
            assert token.encode() not in whole and file.stat().st_mode & 0o077 == 0
            assert (tmp_path / KEY_FILE).stat().st_mode & 0o077 == 0

            shutil.copy(file, folder / Owner("default", "bob", "acme").file_name)
            with pytest.raises(AuthorizationRequired, match="cannot be used"):
                await here.tokens.token("acme", "bob", ["read"])
            assert [one.principal for one in here.authorizations.connections(None)] == ["alice"]

            for place in range(0, len(whole), 7):
                changed = bytearray(whole)
                changed[place] ^= 1
                file.write_bytes(changed)
                with pytest.raises(AuthorizationRequired, match="cannot be used"):
                    await here.tokens.token("acme", "alice", ["read"])
            for data in (b"", whole[:20], whole[:-1], b"{}"):
                file.write_bytes(data)
                with pytest.raises(AuthorizationRequired, match="cannot be used"):
                    await here.tokens.token("acme", "alice", ["read"])
            assert "cannot be used" in caplog.text and token not in caplog.text
            file.write_bytes(whole)
            assert await here.tokens.token("acme", "alice", ["read"]) == token

    asyncio.run(story())


def test_the_folder_alone_tells_nothing(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            challenge = await here.authorizations.begin("acme", "alice", ["read"], redirect_uri=BACK)
            await here.connect()
        kept = b"".join(file.read_bytes() for file in (tmp_path / FOLDER).rglob("*") if file.is_file())
        assert b"alice" not in kept and challenge.state.encode() not in kept
        shutil.copytree(tmp_path / FOLDER, tmp_path / "elsewhere" / FOLDER)
        async with bench(tmp_path / "elsewhere", {"acme": public(provider.issuer)}) as there:
            assert there.authorizations.connections(None) == []
            with pytest.raises(AuthorizationRequired, match="another key"):
                await there.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())
