"""What somebody might try who wants another user's tokens, or wants a user to use theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from tests.infra.credentials.bench import bench, public
from tests.infra.credentials.came_back import came_back, refused
from tests.infra.credentials.provider import Provider, running


@pytest.fixture(scope="module")
def other() -> Iterator[Provider]:
    """A second provider, which an attacker runs."""
    with running() as started:
        yield started


def test_a_code_of_another_authorization_is_refused_by_pkce(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            stolen = await came_back(here, "alice")
            own = await came_back(here, "mallory")
            await refused(here, own["state"], stolen["code"], own["iss"], "does not accept the code")
            assert here.authorizations.list_connections(None) == []
            assert here.authorizations.status(own["state"]) == "failed"

    asyncio.run(story())


def test_an_answer_of_another_provider_is_refused(tmp_path: Path, provider: Provider, other: Provider) -> None:
    async def story() -> None:
        settings = {"acme": public(provider.issuer), "evil": public(other.issuer)}
        async with bench(tmp_path, settings) as here:
            good = await came_back(here)
            asked = other.asked()["authorization_code"], provider.asked()["authorization_code"]
            await refused(here, good["state"], good["code"], other.issuer, "somebody else")
            good = await came_back(here)
            await refused(here, good["state"], good["code"], None, "does not say")
            # A code of the honest provider that was begun at the other one never reaches the other one.
            good, evil = await came_back(here), await came_back(here, provider="evil")
            await refused(here, evil["state"], good["code"], good["iss"], "somebody else")
            assert asked == (other.asked()["authorization_code"], provider.asked()["authorization_code"])
            assert here.authorizations.list_connections(None) == []

    asyncio.run(story())


def test_an_answer_at_another_address_is_refused(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            back = await came_back(here)
            near = "http://127.0.0.1:9/callback/"
            await refused(here, back["state"], back["code"], back["iss"], "another address", redirect_uri=near)

    asyncio.run(story())


def test_a_client_that_changed_meanwhile_gets_neither_code_nor_tokens(
    tmp_path: Path, provider: Provider, other: Provider
) -> None:
    async def story() -> None:
        async with bench(tmp_path, {"acme": public(provider.issuer)}) as here:
            await here.connect()
            back = await came_back(here)
        async with bench(tmp_path, {"acme": public(other.issuer)}) as here:
            asked = other.asked()
            await refused(here, back["state"], back["code"], back["iss"], "changed meanwhile")
            here.clock.advance(7200)  # what would be refreshed with the old one
            with pytest.raises(AuthorizationRequired, match="another client"):
                await here.tokens.token("acme", "alice", ["read"])
            gone = await here.authorizations.disconnect("acme", "alice")
            assert gone.was_connected and not gone.is_revoked
            assert other.asked() == asked

    asyncio.run(story())
