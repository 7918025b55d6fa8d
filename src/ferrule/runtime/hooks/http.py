"""Something behind an address: asked by a signed POST, its answer read from the body. Redirects are not followed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ferrule.contracts.hook import HookFailed
from ferrule.infra.network.post import Poster, PostFailed

MAX_ANSWER_BYTES = 1024 * 1024


class HttpReach:
    """One address that is asked. Anything but a 2xx with a body of at most 1 MiB is a failure."""

    def __init__(
        self,
        url: str,
        secret: str | bytes,
        timeout_seconds: float = 5.0,
        allowed_hosts: Collection[str] = (),
        **options: Any,
    ) -> None:
        """`allowed_hosts`: hosts that may have private addresses or go without TLS. Raises SettingsError."""
        self.timeout_seconds = timeout_seconds
        self._poster = Poster(
            url,
            secret,
            allowed_hosts,
            what="hook",
            timeout_seconds=timeout_seconds,
            max_reply_bytes=MAX_ANSWER_BYTES,
            **options,
        )

    async def ask(self, message: bytes) -> bytes:
        """The body of the answer. Raises HookFailed."""
        try:
            status, body = await self._poster.post(message)
        except PostFailed as failed:
            raise HookFailed(str(failed)) from None
        if not 200 <= status < 300:
            raise HookFailed(f"{self._poster.host} answered {status}")
        return body

    async def aclose(self) -> None:
        """Nothing is held open."""
