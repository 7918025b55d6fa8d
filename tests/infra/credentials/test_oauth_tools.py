"""Tools that require a user's authorization, called through an app: refused with a challenge, then run with the token."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import ferrule
from ferrule.contracts.executor import Context
from ferrule.model.result import Result
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.infra.credentials.oauth_setup import make_public_provider
from tests.infra.credentials.provider import Browser, Provider


def _definition(name: str, **requirements: Any) -> str:
    definition = {
        "id": f"Mail.{name}@1.0.0",
        "name": f"Mail_{name}",
        "description": "Counts the user's messages.",
        "version": "1.0.0",
        "input_schema": {"parameters": {"type": "object"}},
        "output_schema": {},
        "requirements": requirements,
    }
    return json.dumps(definition)


ACME = {"id": "acme", "oauth2": {"scopes": ["read"]}}
FILES = {
    "tools/count.json": _definition("Count", authorization=[ACME]),
    "tools/plain.json": _definition("Plain", user_id=True),
}


@ferrule.tool("Mail.Count")
async def count(context: Context) -> dict[str, Any]:
    """Counts."""
    return {"ids": sorted(context.credentials), "token": context.credentials["acme"]}


@ferrule.tool("Mail.Plain")
async def plain(context: Context) -> dict[str, Any]:
    """Counts without asking."""
    return {"ids": sorted(context.credentials)}


def test_a_call_without_authorization_brings_the_address_and_then_works(provider: Provider) -> None:
    async def story() -> None:
        settings = Settings(
            network=NetworkSettings(allow=("127.0.0.1",)), oauth={"acme": make_public_provider(provider.issuer)}
        )
        policy = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
        async with memory_app(definitions=FILES, tools=[count, plain], settings=settings, policy=policy) as app:
            surface = app.surface(principal="alice")
            refused = await surface.call("Mail_Count", {})
            assert isinstance(refused, Result) and refused.error is not None
            assert (refused.error.error_class, refused.error.error_code) == (
                "credential_missing",
                "authorization_required",
            )
            (challenge,) = refused.structured_content["authorization"]
            assert challenge["id"] == "acme" and challenge["url"] in refused.error.message

            assert "is connected" in await Browser("alice").visit(challenge["url"])
            given = await surface.call("Mail_Count", {})
            assert isinstance(given, Result) and given.error is None
            token = await app.user_tokens.token("acme", "alice", ["read"])
            assert given.structured_content["ids"] == ["acme"]
            assert token not in json.dumps(given.to_record()), "a tool that repeats its token does not tell it"

            bare = await surface.call("Mail_Plain", {})
            assert isinstance(bare, Result) and bare.structured_content == {"ids": []}
            other = await app.surface(principal="bob").call("Mail_Count", {})
            assert isinstance(other, Result) and other.error is not None
            assert other.error.error_code == "authorization_required"
            rows = [row async for row in _rows(app)]
            assert token.encode() not in b"".join(rows)

    asyncio.run(story())


async def _rows(app: Any) -> Any:
    before: int | None = None
    while found := await app.store.rows_before(before, 100):
        for row in found:
            yield repr(row).encode()
        before = found[-1].seq
