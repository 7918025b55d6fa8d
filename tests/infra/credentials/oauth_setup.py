"""What a process has for its users' tokens, made as an app makes it: real files, real requests, a clock by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from ferrule.app.connections import make_authorizations, make_transport_services
from ferrule.app.network import Network
from ferrule.infra.credentials.oauth import Authorizations
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.oauth_tokens import OAuthUserTokens
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import FakeClock
from tests.infra.credentials.provider import Browser

START = "2026-01-31T12:00:00Z"
SECRETS = {"BASIC_SECRET": "s3cret/with+odd%signs", "POST_SECRET": "another-secret-of-a-client"}


class OAuthSetup(NamedTuple):
    """One process's."""

    authorizations: Authorizations
    tokens: OAuthUserTokens
    clock: FakeClock
    learned: list[str]
    """What the redactor was told."""

    async def connect(
        self, provider: str = "acme", principal: str = "alice", scopes: tuple[str, ...] = ("read",)
    ) -> None:
        """Let a user go through it all."""
        challenge = await self.authorizations.begin(provider, principal, scopes)
        await Browser(principal).visit(challenge.url)
        assert self.authorizations.status(challenge.state) == "completed"


@asynccontextmanager
async def oauth_setup(
    root: Path, providers: Mapping[str, OAuthProvider], clock: FakeClock | None = None
) -> AsyncIterator[OAuthSetup]:
    """A process that has a workspace open."""
    time, learned = clock or FakeClock(START), list[str]()
    settings = Settings(network=NetworkSettings(allow=("127.0.0.1",)), oauth=dict(providers))
    around = make_transport_services(
        Network(settings, {}, root).make_client(),
        settings,
        SECRETS,
        root,
        lambda name, value: learned.append(value),
        tick=time.seconds,
        now=time.now,
    )
    authorizations = make_authorizations(settings, around, tick=time.seconds)
    tokens = OAuthUserTokens(authorizations, around.learn_secret)
    try:
        yield OAuthSetup(authorizations, tokens, time, learned)
    finally:
        await tokens.aclose()
        await authorizations.aclose()
        await around.client.aclose()


def make_public_provider(issuer: str, *scopes: str) -> OAuthProvider:
    """A client without a secret."""
    return OAuthProvider(client_id="public", issuer=issuer, scopes=scopes or ("openid", "offline_access"))
