"""Tells of a waiting call by a signed POST. One attempt per `notify`; whoever calls it decides about trying again.

It never follows redirects and never sends to an address that was not checked: the name is resolved once, here.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import msgspec

from ferrule.contracts.notifier import NotTaken
from ferrule.errors import SettingsError
from ferrule.notifiers.address import Resolve, Target, checked_addresses, parse_target, resolve
from ferrule.notifiers.signature import DELIVERY_HEADER, SIGNATURE_HEADER, signature

_LEAST_SECRET = 16
_TIMEOUT_SECONDS = 10.0
_TRY_AGAIN = frozenset({408, 425, 429})
"""Refusals of the moment; every other 4xx would be refused again."""


class WebhookNotifier:
    """One address that is told."""

    name = "webhook"

    def __init__(
        self,
        url: str,
        secret: str | bytes,
        allowed_hosts: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.time,
        resolver: Resolve = resolve,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        self._target = parse_target(url, allowed_hosts)
        if len(secret) < _LEAST_SECRET:
            raise SettingsError(
                f"the secret of the webhook to {self._target.host} needs at least {_LEAST_SECRET} bytes"
            )
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._allowed = frozenset(allowed_hosts)
        self._clock = clock
        self._resolver = resolver
        self._timeout = timeout_seconds

    async def notify(self, notice: dict[str, Any]) -> None:
        """Send one notice. Raises NotTaken."""
        body = msgspec.json.encode(notice)
        at = int(self._clock())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "ferrule",
            "Connection": "close",
            SIGNATURE_HEADER: signature(self._secret, at, body),
            DELIVERY_HEADER: str(notice.get("id", "")),
        }
        status = await asyncio.to_thread(self._post, body, headers)
        if not 200 <= status < 300:
            is_final = status < 500 and status not in _TRY_AGAIN
            raise NotTaken(f"{self._target.host} answered {status}", is_final=is_final)

    async def aclose(self) -> None:
        """Nothing is held open."""

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        target = self._target
        try:
            address = checked_addresses(target, self._allowed, self._resolver)[0]
            return _Pinned(target, address, self._timeout).post(body, headers)
        except PermissionError as error:
            raise NotTaken(str(error), is_final=True) from None
        except ssl.SSLCertVerificationError as error:
            raise NotTaken(f"{target.host} is not who it says: {error.verify_message}", is_final=True) from None
        except (OSError, http.client.HTTPException) as error:
            raise NotTaken(f"{target.host} could not be reached: {type(error).__name__}", is_final=False) from None


class _Pinned(http.client.HTTPConnection):
    """A connection to one checked address, under the host's own name."""

    def __init__(self, target: Target, address: str, timeout: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self.default_port = 443 if target.is_secure else 80
        self._address = address
        self._target = target
        self._seconds = timeout

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        """Send a body; gives the status. A receiver that dawdles is cut off, so that no thread is held for long."""
        timer = threading.Timer(self._seconds, self._cut)
        timer.start()
        try:
            self.request("POST", self._target.path, body, headers)
            return self.getresponse().status
        finally:
            timer.cancel()
            self.close()

    def _cut(self) -> None:
        with suppress(OSError, AttributeError):  # not connected yet, or already closed
            self.sock.shutdown(socket.SHUT_RDWR)

    def connect(self) -> None:
        """Reach the checked address; with TLS the certificate must be the host's."""
        plain = socket.create_connection((self._address, self.port), self.timeout)
        if not self._target.is_secure:
            self.sock = plain
            return
        try:
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
