"""Sends a signed POST to one address: one attempt, no redirects, and a bounded answer.

The guarded client carries it. `Ferrule-Signature: t=<seconds since 1970>,v1=<hex>`, where v1 is the HMAC-SHA256 of
`<t>.<body>`, so that neither time nor body can be changed, nor the message replayed later. Notifiers and hooks use it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import NamedTuple

from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, parse_target
from ferrule.infra.network.request import BrokenAnswer, TooLong, Unreachable, Untrusted

SIGNATURE_HEADER = "Ferrule-Signature"
DELIVERY_HEADER = "Ferrule-Delivery"
"""The same for every attempt to deliver one notice: remember it for the length of the window to detect a replay."""
WINDOW_SECONDS = 300


def sign(secret: bytes, at: int, body: bytes) -> str:
    """Returns the signature header of a body sent at this second."""
    return f"t={at},v1={_mac(secret, at, body)}"


def is_authentic(secret: bytes, header: str, body: bytes, *, now: int, window_seconds: int = WINDOW_SECONDS) -> bool:
    """True when the holder of the secret sent this body, unchanged, within the last minutes."""
    fields = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in fields if name == "t"]
    given = [value for name, _, value in fields if name == "v1"]
    if len(times) != 1 or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12:
        return False
    at = int(times[0])
    expected = _mac(secret, at, body).encode()
    is_signed = any(hmac.compare_digest(expected, value.encode()) for value in given)
    return is_signed and abs(now - at) <= window_seconds


def _mac(secret: bytes, at: int, body: bytes) -> str:
    return hmac.new(secret, str(at).encode() + b"." + body, hashlib.sha256).hexdigest()


_LEAST_SECRET = 16
_HEADERS = (("Content-Type", "application/json"), ("User-Agent", "ferrule"), ("Accept-Encoding", "identity"))


class PostReply(NamedTuple):
    """The answer to a post."""

    status: int
    body: bytes


class PostFailed(Exception):
    """A post without a usable answer. The message names the host, never what was sent."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final
        """True when another attempt would fail the same way."""


class Poster:
    """One address to post to."""

    def __init__(
        self,
        client: Client,
        url: str,
        secret: str | bytes,
        *,
        what: str = "webhook",
        timeout_seconds: float = 10.0,
        max_reply_bytes: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`max_reply_bytes`: a longer body is a failure; 0 when only the status counts. Raises SettingsError."""
        self._client = client
        self._target = parse_target(url, client.guard, what)
        if len(secret) < _LEAST_SECRET:
            raise SettingsError(f"the secret of the {what} to {self.host} needs at least {_LEAST_SECRET} bytes")
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout = timeout_seconds
        self._limit = max_reply_bytes
        self._clock = clock

    @property
    def host(self) -> str:
        """The host, for messages."""
        return self._target.host

    async def post(self, body: bytes, delivery: str = "") -> PostReply:
        """Sends a body and waits for the answer. Raises PostFailed, also on a timeout."""
        try:
            async with (
                asyncio.timeout(self._timeout),
                await self._client.send("POST", self._target, self._headers(body, delivery), body) as response,
            ):
                return PostReply(response.status, await response.read(self._limit) if self._limit else b"")
        except TimeoutError:
            raise PostFailed(f"{self.host} did not answer within {self._timeout:g} s") from None
        except (Forbidden, Untrusted, TooLong) as error:
            raise PostFailed(str(error), is_final=True) from None
        except (Unreachable, BrokenAnswer) as error:
            raise PostFailed(f"no answer from {self.host}: {error}") from None

    def _headers(self, body: bytes, delivery: str) -> list[tuple[str, str]]:
        headers = [*_HEADERS, (SIGNATURE_HEADER, sign(self._secret, int(self._clock()), body))]
        if delivery:
            plain = "".join(sign for sign in delivery if sign.isascii() and sign.isprintable())
            headers.append((DELIVERY_HEADER, plain))
        return headers
