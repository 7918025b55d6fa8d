"""What somebody might try who wants another user's tokens, or wants a user to use theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule.infra.credentials.oauth_tokens import AuthorizationRequired
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Provider, running_provider
from tests.infra.credentials.redirects import assert_refused, begin_and_visit


@pytest.fixture(scope="module")
def other() -> Iterator[Provider]:
    """A second provider, which an attacker runs."""
    with running_provider() as started:
        yield started


def test_a_code_of_another_authorization_is_refused_by_pkce(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            stolen = await begin_and_visit(here, "alice")
            own = await begin_and_visit(here, "mallory")
            await assert_refused(here, own["state"], stolen["code"], own["iss"], "does not accept the code")
            assert here.authorizations.list_connections(None) == []
            assert here.authorizations.status(own["state"]) == "failed"

    asyncio.run(story())


def test_an_answer_of_another_provider_is_refused(tmp_path: Path, provider: Provider, other: Provider) -> None:
    async def story() -> None:
        settings = {"acme": make_public_provider(provider.issuer), "evil": make_public_provider(other.issuer)}
        async with oauth_setup(tmp_path, settings) as here:
            good = await begin_and_visit(here)
            asked = other.asked()["authorization_code"], provider.asked()["authorization_code"]
            await assert_refused(here, good["state"], good["code"], other.issuer, "another provider")
            good = await begin_and_visit(here)
            await assert_refused(here, good["state"], good["code"], None, "does not say")
            # A code of the honest provider that was begun at the other one never reaches the other one.
            good, evil = await begin_and_visit(here), await begin_and_visit(here, provider="evil")
            await assert_refused(here, evil["state"], good["code"], good["iss"], "another provider")
            assert asked == (other.asked()["authorization_code"], provider.asked()["authorization_code"])
            assert here.authorizations.list_connections(None) == []

    asyncio.run(story())


def test_an_answer_at_another_address_is_refused(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            back = await begin_and_visit(here)
            near = "http://127.0.0.1:9/callback/"
            await assert_refused(here, back["state"], back["code"], back["iss"], "another address", redirect_uri=near)

    asyncio.run(story())


def test_a_client_that_changed_meanwhile_gets_neither_code_nor_tokens(
    tmp_path: Path, provider: Provider, other: Provider
) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            await here.connect()
            back = await begin_and_visit(here)
        async with oauth_setup(tmp_path, {"acme": make_public_provider(other.issuer)}) as here:
            asked = other.asked()
            await assert_refused(here, back["state"], back["code"], back["iss"], "changed meanwhile")
            here.clock.advance(7200)  # what would be refreshed with the old one
            with pytest.raises(AuthorizationRequired, match="another client"):
                await here.tokens.token("acme", "alice", ["read"])
            gone = await here.authorizations.disconnect("acme", "alice")
            assert gone.was_connected and not gone.is_revoked
            assert other.asked() == asked

    asyncio.run(story())
