"""Makes a connection to one of several checked addresses, and finds out which version of HTTP is spoken on it."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ferrule.infra.network.connection import Connection
from ferrule.infra.network.failures import Unreachable
from ferrule.infra.network.urls import Target

if TYPE_CHECKING:
    from ferrule.infra.network.http2 import Http2Connection


async def dial(
    target: Target, addresses: Sequence[str], tls: ssl.SSLContext | None, seconds: float
) -> Connection | Http2Connection:
    """Try the addresses in their order, each for its share of the time that is left. Raises Unreachable."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    refused = Unreachable(f"{target.host} has no address")
    for number, address in enumerate(addresses):
        share = (end - loop.time()) / (len(addresses) - number)
        try:
            async with asyncio.timeout(share):
                return await _one(target, address, tls)
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"{target.host} did not prove who it is: {error.verify_message}; if its certificate is right, trust its"
                " issuer with the variable SSL_CERT_FILE"
            ) from None
        except OSError as error:  # TLS failures and TimeoutError are such too
            refused = Unreachable(f"{target.host} could not be reached: {_reason(error, target, seconds)}")
    raise refused


async def _one(target: Target, address: str, tls: ssl.SSLContext | None) -> Connection | Http2Connection:
    loop = asyncio.get_running_loop()
    # An address, not a name: nothing is resolved again.
    if tls is None:
        return (await loop.create_connection(Connection, address, target.port))[1]
    greeting = (await loop.create_connection(_Greeting, address, target.port, ssl=tls, server_hostname=target.host))[1]
    if greeting.made is None:
        raise ConnectionAbortedError
    return greeting.made


class _Greeting(asyncio.Protocol):
    """Stands at a connection with TLS until the two sides have agreed on a version of HTTP."""

    def __init__(self) -> None:
        self.made: Connection | Http2Connection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)  # other loops' are not of this class
        if stream.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
            # Loaded when somebody speaks it: most of what is called does not, and it takes a while.
            self.made = importlib.import_module("ferrule.infra.network.http2").Http2Connection()
        else:
            self.made = Connection()
        stream.set_protocol(self.made)
        self.made.connection_made(transport)


def _reason(error: OSError, target: Target, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} seconds"
    if isinstance(error, ConnectionRefusedError):
        return f"nobody listens on port {target.port}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no reason given'})"
    return error.strerror or type(error).__name__
