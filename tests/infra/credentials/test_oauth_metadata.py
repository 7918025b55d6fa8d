"""What a provider says about itself counts only when it calls itself as the settings do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from tests.infra.credentials.oauth_setup import make_public_provider, oauth_setup
from tests.infra.credentials.provider import Provider


def test_an_issuer_that_calls_itself_otherwise_is_refused(tmp_path: Path, provider: Provider) -> None:
    async def story() -> None:
        async with oauth_setup(tmp_path, {"acme": make_public_provider(provider.issuer + "/")}) as here:
            with pytest.raises(ExecutionFailed, match="another name"):
                await here.authorizations.begin("acme", "alice")

    asyncio.run(story())
