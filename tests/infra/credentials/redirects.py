"""What the browser of a user brings back, and how it is refused."""

from __future__ import annotations

import pytest

from ferrule.contracts.executor import ExecutionFailed
from tests.infra.credentials.oauth_setup import OAuthSetup
from tests.infra.credentials.provider import Browser, read_parameters

BACK = "http://127.0.0.1:9/callback"


async def begin_and_visit(here: OAuthSetup, principal: str = "alice", provider: str = "acme") -> dict[str, str]:
    """What the browser of a user brings, who has authorized everything."""
    challenge = await here.authorizations.begin(provider, principal, ["read"], redirect_uri=BACK)
    return read_parameters(await Browser(principal).visit(challenge.url, stop_at=BACK))


async def assert_refused(here: OAuthSetup, state: str, code: str, iss: str | None, words: str, **more: str) -> None:
    """What came back is not taken, and its code is not repeated."""
    with pytest.raises(ExecutionFailed, match=words) as caught:
        await here.authorizations.complete(state, code, iss, **more)
    assert caught.value.code == "authorization_failed"
    assert code not in caught.value.message or not code
