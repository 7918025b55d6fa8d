"""A witness behind a web address, reached through the guarded HTTP client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, parse_target
from ferrule.infra.network.request import BrokenAnswer
from ferrule.ledger.stores.witness import Head, encode_head

_HEADERS = (("Content-Type", "application/json"), ("User-Agent", "ferrule"))


class WebhookWitness:
    """Posts heads to an address whose owner keeps them."""

    def __init__(self, client: Callable[[], Client], url: str, *, timeout_seconds: float = 5.0) -> None:
        """Raises SettingsError for a forbidden address.

        `client` makes one client for each head: heads are written in a thread, and a client belongs to one event
        loop.
        """
        self._make_client = client
        self._target = parse_target(url, client().guard, "witness")
        self._timeout = timeout_seconds

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Posts one head as JSON; any status of 200 to 299 means the witness has it. Raises OSError."""
        status = asyncio.run(self._post(encode_head(Head(ledger, seq, row, at, signature))))
        if not 200 <= status < 300:
            raise OSError(f"{self._target.host} answered {status}")

    async def _post(self, body: bytes) -> int:
        client = self._make_client()
        try:
            async with (
                asyncio.timeout(self._timeout),
                await client.send("POST", self._target, _HEADERS, body) as response,
            ):
                return response.status
        except TimeoutError:
            raise TimeoutError(f"{self._target.host} did not answer within {self._timeout:g} s") from None
        except (Forbidden, BrokenAnswer) as error:
            raise OSError(f"no answer from {self._target.host}: {error}") from None
        finally:
            await client.aclose()
