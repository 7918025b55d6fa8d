"""The keys of issuers: found, kept, turned, and kept through an outage; never asked for more often than makes sense."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ferrule.infra.tasks import resolve
from ferrule.model.serving import JwtSettings
from ferrule.servers.auth import jwks
from ferrule.servers.auth.jwks import (
    KEPT_SECONDS,
    MIN_FETCH_INTERVAL_SECONDS,
    IssuerKeys,
    KeysUnknown,
    list_hosts,
    make_client,
)
from tests.driven import driven
from tests.servers.issuer import Issuer, issuing, public


class Watch:
    """A clock that somebody turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def keys_of(issuer: Issuer, **said: Any) -> AsyncIterator[tuple[IssuerKeys, Watch, list[int]]]:
    settings, watch, changes = JwtSettings(issuer=issuer.url, **said), Watch(), []
    client = make_client(list_hosts([settings]))
    keys = IssuerKeys(settings, client, lambda: changes.append(1), watch)
    try:
        yield keys, watch, changes
    finally:
        await keys.aclose()
        await client.aclose()


async def kids(keys: IssuerKeys, kid: str | None, algorithm: str = "ES256") -> list[str | None]:
    return [key.kid for key in await resolve(keys.find_candidates(kid, algorithm))]


@driven
async def test_keys_are_found_through_the_issuers_metadata_once_for_all_who_ask() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, _, changes):
        found = await asyncio.gather(*(kids(keys, "first") for _ in range(20)))
        assert found == [["first"]] * 20
        assert issuer.asked == {"/.well-known/openid-configuration": 1, "/keys": 1}
        assert changes == [1]


@driven
async def test_a_named_address_of_keys_is_used_as_it_is() -> None:
    async with issuing() as issuer, keys_of(issuer, jwks_url=f"{issuer.url}/keys") as (keys, _, _):
        assert await kids(keys, "first") == ["first"]
        assert issuer.asked == {"/keys": 1}


@driven
async def test_a_new_key_counts_as_soon_as_a_token_names_it_and_an_old_one_no_more_when_it_is_gone() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, changes):
        assert await kids(keys, "first") == ["first"]
        watch.now += MIN_FETCH_INTERVAL_SECONDS + 1
        issuer.turn("second", keep=False)
        assert await kids(keys, "second") == ["second"]
        assert await kids(keys, "first") == []
        assert changes == [1, 1]


@driven
async def test_a_removed_key_stops_to_count_after_a_while_although_nobody_names_a_new_one() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, _):
        assert await kids(keys, "first") == ["first"]
        issuer.turn("second", keep=False)
        assert await kids(keys, "first") == ["first"]
        watch.now += KEPT_SECONDS + 1
        assert await kids(keys, "first") == []


@driven
async def test_tokens_with_unknown_keys_do_not_make_us_flood_the_issuer() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, _):
        assert await kids(keys, "first") == ["first"]
        for number in range(50):
            assert await kids(keys, f"unknown-{number}") == []
        assert issuer.asked["/keys"] == 1
        watch.now += MIN_FETCH_INTERVAL_SECONDS + 1
        for number in range(50):
            assert await kids(keys, f"unknown-{number}") == []
        assert issuer.asked["/keys"] == 2


@driven
async def test_an_outage_takes_nothing_away(caplog: pytest.LogCaptureFixture) -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, changes):
        assert await kids(keys, "first") == ["first"]
        issuer.is_down = True
        watch.now += KEPT_SECONDS + 1
        with caplog.at_level(logging.WARNING):
            for _ in range(5):
                assert await kids(keys, "first") == ["first"]
        assert issuer.asked["/.well-known/openid-configuration"] <= 3
        assert "still count" in caplog.text
        issuer.is_down = False
        issuer.turn("second")
        watch.now += MIN_FETCH_INTERVAL_SECONDS + 1
        assert await kids(keys, "second") == ["second"]
        assert changes == [1, 1]


@driven
async def test_nobody_waits_long_for_an_issuer_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "_PATIENCE_SECONDS", 0.01)
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, _):
        assert await kids(keys, "first") == ["first"]
        issuer.holds = asyncio.Event()
        issuer.turn("second", keep=False)
        watch.now += KEPT_SECONDS + 1
        assert await kids(keys, "first") == ["first"]
        issuer.holds.set()
        while await kids(keys, "second") != ["second"]:  # as soon as it has answered
            await asyncio.sleep(0.01)
        assert await kids(keys, "first") == []


@driven
async def test_without_any_key_it_is_said_that_nothing_can_be_checked() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, watch, _):
        issuer.is_down = True
        for _ in range(5):
            with pytest.raises(KeysUnknown):
                await kids(keys, "first")
        assert sum(issuer.asked.values()) <= 3
        issuer.is_down = False
        watch.now += MIN_FETCH_INTERVAL_SECONDS + 1
        assert await kids(keys, "first") == ["first"]


@driven
async def test_an_issuer_that_is_not_what_the_settings_say_is_not_believed() -> None:
    odd: tuple[dict[str, Any], ...] = (
        {"issuer": "https://evil.example.com", "jwks_uri": "URL/keys"},
        {"issuer": "URL", "jwks_uri": "http://10.0.0.1/keys"},
        {"issuer": "URL", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "URL", "jwks_uri": "http://169.254.169.254/latest/meta-data"},
        {"issuer": "URL"},
        {"issuer": 5},
    )
    for said in odd:
        async with issuing() as issuer, keys_of(issuer) as (keys, _, _):
            issuer.metadata = {name: str(value).replace("URL", issuer.url) for name, value in said.items()}
            with pytest.raises(KeysUnknown):
                await kids(keys, "first")
            assert "/keys" not in issuer.asked


@driven
async def test_keys_that_are_no_good_are_left_out() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, _, _):
        weak = rsa.generate_private_key(65537, 1024)
        secret = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        issuer.extra = [
            {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
            public(weak, "weak"),
            {**public(ec.generate_private_key(ec.SECP256R1()), "private"), "d": str(secret)},
            {**public(ec.generate_private_key(ec.SECP256R1()), "sealing"), "use": "enc"},
            {"kty": "EC", "crv": "P-256", "x": "!!", "y": "", "kid": "broken"},
            {"kty": "EC", "kid": 5},
            {"kid": "nothing"},
            "no key",  # type: ignore[list-item]
            {**public(ec.generate_private_key(ec.SECP256R1()), "es512"), "alg": "ES512"},
        ]
        assert await kids(keys, None, "ES256") == ["first"]
        assert await kids(keys, None, "RS256") == []
        assert await kids(keys, "shared", "HS256") == []


@driven
async def test_a_token_that_names_no_key_is_tried_with_all_that_fit() -> None:
    async with issuing() as issuer, keys_of(issuer) as (keys, _, _):
        issuer.turn("second")
        issuer.turn("rsa", rsa.generate_private_key(65537, 2048))
        assert await kids(keys, None, "ES256") == ["first", "second"]
        assert await kids(keys, None, "PS256") == ["rsa"]
