"""How a client shows who it is when it asks for tokens, and what a refusal means."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.model.credentials import SecretRef
from tests.infra.credentials.oauth_setup import oauth_setup
from tests.infra.credentials.provider import Browser, Provider


@pytest.mark.parametrize(
    ("client", "variable", "method", "expected"),
    [
        ("basic", "BASIC_SECRET", "auto", {"basic": True, "posted": False}),
        ("basic", "BASIC_SECRET", "client_secret_basic", {"basic": True, "posted": False}),
        ("post", "POST_SECRET", "client_secret_post", {"basic": False, "posted": True}),
    ],
)
def test_a_client_with_a_secret_shows_it_as_the_provider_wants_it(
    client: str, variable: str, method: Any, expected: dict[str, bool], tmp_path: Path, provider: Provider
) -> None:
    async def story() -> None:
        settings = OAuthProvider(
            client_id=client,
            client_secret=SecretRef("env", name=variable),
            issuer=provider.issuer,
            token_auth=method,
        )
        async with oauth_setup(tmp_path, {"acme": settings}) as here:
            await here.connect()
            assert await here.tokens.token("acme", "alice", ["read"])
            assert provider.seen()[-1] == {"grant": "authorization_code", "status": 200, **expected}

    asyncio.run(story())


def test_a_wrong_client_secret_is_told_as_such(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        settings = OAuthProvider(
            client_id="basic", client_secret=SecretRef("env", name="POST_SECRET"), issuer=provider.issuer
        )
        async with oauth_setup(tmp_path, {"acme": settings}) as here:
            challenge = await here.authorizations.begin("acme", "alice", ["read"])
            page = await Browser().visit(challenge.url)
            assert "check client_id and client_secret" in page and "another-secret" not in page
            assert here.authorizations.status(challenge.state) == "failed"
            assert here.authorizations.list_connections("alice") == []

    asyncio.run(story())
