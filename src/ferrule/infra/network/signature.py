"""The signature of what Ferrule posts: HMAC-SHA256 over the time and the body, so that neither can be changed nor replayed later.

`Ferrule-Signature: t=<seconds since 1970>,v1=<hex>` where v1 is the HMAC of `<t>.<body>`.
"""

from __future__ import annotations

import hashlib
import hmac

SIGNATURE_HEADER = "Ferrule-Signature"
DELIVERY_HEADER = "Ferrule-Delivery"
"""The same for every attempt to tell the same notice: remember it for the length of the window to spot a replay."""
WINDOW_SECONDS = 300


def signature(secret: bytes, at: int, body: bytes) -> str:
    """The header for a body sent at this second."""
    return f"t={at},v1={_mac(secret, at, body)}"


def is_authentic(secret: bytes, header: str, body: bytes, *, now: int, window_seconds: int = WINDOW_SECONDS) -> bool:
    """True when a body came from whoever holds the secret, unchanged, within the last minutes."""
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
