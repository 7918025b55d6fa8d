"""Notifies an address of a waiting call by a signed POST. One attempt per `notify`; the caller decides about retries."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from ferrule.contracts.notifier import NoticeUndelivered
from ferrule.infra.network.client import Client
from ferrule.infra.network.post import Poster, PostFailed
from ferrule.model.value import JsonObject

_TIMEOUT_SECONDS = 10.0
_TRY_AGAIN = frozenset({408, 425, 429})
"""Statuses worth a retry; every other 4xx would be refused again."""


class WebhookNotifier:
    """Notifier of one address."""

    name = "webhook"

    def __init__(
        self,
        client: Client,
        url: str,
        secret: str | bytes,
        *,
        clock: Callable[[], float] = time.time,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        self._poster = Poster(client, url, secret, timeout_seconds=timeout_seconds, clock=clock)

    async def notify(self, notice: JsonObject) -> None:
        """Sends one notice. Raises NoticeUndelivered."""
        try:
            status, _ = await self._poster.post(msgspec.json.encode(notice), str(notice.get("id", "")))
        except PostFailed as failed:
            raise NoticeUndelivered(str(failed), is_final=failed.is_final) from None
        if not 200 <= status < 300:
            is_final = status < 500 and status not in _TRY_AGAIN
            raise NoticeUndelivered(f"{self._poster.host} answered {status}", is_final=is_final)

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""
