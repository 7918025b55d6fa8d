"""A provider behind an address: asked by a signed POST; its answer is the body. Redirects are not followed."""

from __future__ import annotations

from ferrule.contracts.hook import HookFailed
from ferrule.infra.network.client import Client
from ferrule.infra.network.post import Poster, PostFailed

MAX_ANSWER_BYTES = 1024 * 1024


class HttpReach:
    """One address to ask. Anything but a 2xx with a body of at most 1 MiB is a failure."""

    def __init__(self, client: Client, url: str, secret: str | bytes, timeout_seconds: float = 5.0) -> None:
        """Raises SettingsError."""
        self.timeout_seconds = timeout_seconds
        self._poster = Poster(
            client, url, secret, what="hook", timeout_seconds=timeout_seconds, max_reply_bytes=MAX_ANSWER_BYTES
        )

    async def ask(self, message: bytes) -> bytes:
        """Posts the message and returns the body of the answer. Raises HookFailed."""
        try:
            status, body = await self._poster.post(message)
        except PostFailed as failed:
            raise HookFailed(str(failed)) from None
        if not 200 <= status < 300:
            raise HookFailed(f"{self._poster.host} answered {status}")
        return body

    async def aclose(self) -> None:
        """Closes nothing: the HTTP client is shared."""
