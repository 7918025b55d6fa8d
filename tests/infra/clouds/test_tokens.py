"""Tokens for what a form proves: how long they are kept, what a refusal means, and how accounts are told apart."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.expiring_cache import Fresh
from ferrule.infra.clouds.tokens import TokenCloud, identify_account
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client


class Cumulus(TokenCloud):
    """A cloud that proves nothing but a name."""

    name = "Cumulus"

    async def proved(self, url: str) -> Fresh[str]:
        return await self._exchange(url, {"who": "a tool"}, "token", "the tool")


async def proved(answer: Reply, learned: Learned) -> Fresh[str]:
    with far(lambda asked: answer) as server:
        return await Cumulus(local_client(), {}, learned).proved(f"{server.url}/token")


@pytest.mark.parametrize(("said", "kept"), [(600, 480.0), (None, 3480.0), ("soon", 3480.0)])
@in_event_loop
async def test_a_token_is_learned_and_kept_until_a_while_before_its_end(said: Any, kept: float) -> None:
    learned = Learned()
    fresh = await proved(Reply(200, {"token": "tok-1", "expires_in": said}), learned)
    assert fresh == Fresh("tok-1", kept)
    assert learned == {"tok-1": "Cumulus token"}


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (Reply(400, {"error": "invalid_client"}), "credential_missing"),
        (Reply(200, {"token": ""}), "credential_missing"),
        (Reply(200, {"other": "canary"}), "credential_missing"),
        (Reply(503, b"canary"), "dependency_unavailable"),
        (Reply(429, b"canary"), "rate_limited"),
    ],
)
@in_event_loop
async def test_no_token_is_told_by_whether_it_was_refused_or_the_cloud_is_down(answer: Reply, error_class: str) -> None:
    with pytest.raises(ExecutionFailed, match="Cumulus gave no token for the tool") as caught:
        await proved(answer, Learned())
    assert caught.value.error_class == error_class and "canary" not in str(caught.value)


def test_accounts_are_told_apart_by_name_and_secret_and_the_secret_is_not_kept() -> None:
    def key(**account: str) -> tuple[str, ...] | None:
        return identify_account(account, ("tenant", "client"), "secret")

    first = key(tenant="t", client="c", secret="canary")
    assert first == key(tenant="t", client="c", secret="canary", region="elsewhere")
    assert len({first, key(tenant="t", client="c", secret="x"), key(tenant="t", client="d", secret="canary")}) == 3
    assert "canary" not in str(first)
    assert identify_account(None, ("tenant",), "secret") is None
