"""The common part of Azure and Google Cloud: exchanges a proof of identity for a token, and caches it until it nearly
expires.

An account in a secret is exchanged through our guarded client; the identity of this process is found by the cloud's own
library. How each proves it is in its own file.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.api_request import REFUSED, reach, read_json_object, status_failure
from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from ferrule.infra.network.client import Client

HOUR = 3600
_MARGIN_SECONDS = 120.0
_HEADERS = (("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"))
_REFUSING = frozenset({200, 400, 401, 403})
"""400 is OAuth's status for an unknown client, key or secret; 200 is an answer without a token."""
Account = Mapping[str, Any]


class TokenCloud:
    """A cloud, as this process sees it."""

    name = ""

    def __init__(
        self,
        client: Client,
        env: Mapping[str, str],
        learn: Callable[[str, str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """`learn` teaches the redactor a secret, under a name; `now` gives seconds since 1970."""
        self._client = client
        self._env = env
        self._learn = learn
        self._now = now
        self._kept: ExpiringCache[str] = ExpiringCache()

    def forget(self) -> None:
        """Drops all tokens after the cloud refused one."""
        self._kept.forget(lambda key: True)

    async def _exchange(self, url: str, form: Mapping[str, str], member: str, whose: str) -> Fresh[str]:
        """Exchanges a form for the token in one member of the answer. Raises ExecutionFailed."""
        what = f"a token of {self.name}"
        fetched = await reach(self._client, what, "POST", url, _HEADERS, urlencode(form).encode())
        said = read_json_object(fetched.body)
        token = said.get(member)
        if fetched.status != 200 or not isinstance(token, str) or not token:
            raise status_failure(
                f"{self.name} gave no token for {whose} (status {fetched.status}); check that it is still valid",
                fetched,
                meaning=REFUSED if fetched.status in _REFUSING else None,
                reference=self._reference(said),
            )
        seconds = said.get("expires_in", HOUR)
        return self._fresh(token, seconds if isinstance(seconds, int | float) else HOUR)

    async def _find(self, advice: str, ask: Callable[..., tuple[str, float | None]], *given: object) -> Fresh[str]:
        """Returns a token of this process's own identity. `ask` runs in a thread, and returns it with its expiry, if
        known."""
        try:
            token, ends_at = await asyncio.to_thread(ask, *given)
        except ExecutionFailed:
            raise
        except Exception as error:  # the libraries' chains have many kinds, and their messages tell what was answered
            raise ExecutionFailed(
                "credential_missing",
                f"this process has no {self.name} identity: {type(error).__name__}; {advice}",
                code="identity_missing",
            ) from None
        return self._fresh(token, HOUR if ends_at is None else ends_at - self._now())

    def _fresh(self, token: str, seconds: float) -> Fresh[str]:
        self._learn(f"{self.name} token", token)
        # The margin covers the way of a request that starts with a nearly expired token.
        return Fresh(token, seconds - _MARGIN_SECONDS)

    def _reference(self, said: Mapping[str, object]) -> str:
        """Returns the cloud's own number for a refusal; empty when it has none."""
        return ""


def identify_account(account: Account | None, names: tuple[str, ...], secret: str) -> tuple[str, ...] | None:
    """Returns a key that tells accounts apart in memory, without their secrets."""
    if account is None:
        return None
    digest = hashlib.sha256(str(account.get(secret, "")).encode("utf-8", "replace")).hexdigest()
    return (*(str(account.get(name, "")) for name in names), digest)
