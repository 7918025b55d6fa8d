"""Authorizations that have begun: a state counts once, for its time and for the user it was given to."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from ferrule.infra.credentials.oauth import FOLDER
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Provider
from tests.infra.credentials.redirects import assert_refused, begin_and_visit


def test_a_state_nobody_gave_out_is_refused_and_leaves_nothing_behind(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            back = await begin_and_visit(here)
            before = sorted(os.listdir(tmp_path / FOLDER / "pending"))
            for state in ("", "x", back["state"] + "x", back["state"][:-1], "../../keys/oauth.key", "\0", "é" * 999):
                await assert_refused(here, state, back["code"], back["iss"], "not known")
                assert here.authorizations.status(state) == "failed"
            assert sorted(os.listdir(tmp_path / FOLDER / "pending")) == before
            await here.authorizations.complete(back["state"], back["code"], back["iss"])

    asyncio.run(story())


def test_a_state_works_once(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            back = await begin_and_visit(here)
            asked = provider.asked()["authorization_code"]
            attempts = [here.authorizations.complete(back["state"], back["code"], back["iss"]) for _ in range(5)]
            ended = await asyncio.gather(*attempts, return_exceptions=True)
            assert sum(not isinstance(one, BaseException) for one in ended) == 1
            assert provider.asked()["authorization_code"] == asked + 1
            await assert_refused(here, back["state"], back["code"], back["iss"], "used already")
            assert here.authorizations.status(back["state"]) == "completed"
            assert await here.tokens.token("acme", "alice", ["read"])

    asyncio.run(story())


def test_a_state_ends_after_ten_minutes(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            back = await begin_and_visit(here)
            here.clock.advance(601)
            assert here.authorizations.status(back["state"]) == "failed"
            await assert_refused(here, back["state"], back["code"], back["iss"], "took too long")

    asyncio.run(story())


def test_whoever_follows_another_users_link_does_not_give_them_an_account(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer)}) as here:
            back = await begin_and_visit(here, "mallory")
            await assert_refused(here, back["state"], back["code"], back["iss"], "another user", principal="alice")
            assert here.authorizations.list_connections(None) == []
            await assert_refused(here, back["state"], back["code"], back["iss"], "used already", principal="mallory")
            back = await begin_and_visit(here, "mallory")
            await assert_refused(
                here, back["state"], back["code"], back["iss"], "another user", principal="mallory", tenant="other"
            )

    asyncio.run(story())
