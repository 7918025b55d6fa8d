"""Who sits at the browser: a credential, sealed into a cookie that scripts cannot read.

The credential is looked at with every request, exactly as if it had come in `Authorization`: one that was revoked shows nothing
from then on. What changes anything carries a second token that only our own pages know (CSRF).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Unreadable
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ferrule.servers.asgi import Header, Request

LIFE_SECONDS = 12 * 3600
_USE = b"ferrule console sign-in 1"
_NONCE_BYTES, _LONGEST = 12, 8192


class SignedIn(msgspec.Struct, frozen=True, array_like=True):
    """What a cookie says."""

    secret: str
    """The credential."""
    ends_at: float


_decode = msgspec.msgpack.Decoder(SignedIn).decode


class Cookies:
    """Makes the cookies of one workspace, and knows its own again."""

    def __init__(
        self, secret: bytes, workspace: str, *, is_secure: bool, clock: Callable[[], float] = time.time
    ) -> None:
        """`workspace`: names it, since one host may serve several. `is_secure`: clients come by HTTPS."""
        self._key = hmac.new(secret, _USE, hashlib.sha256).digest()
        self._cipher = AESGCM(self._key)
        self.name = f"ferrule-{hashlib.sha256(workspace.encode()).hexdigest()[:8]}"
        self._more = "; Secure" if is_secure else ""
        self._clock = clock

    def made(self, credential: str) -> Header:
        """The header that signs somebody in."""
        nonce = os.urandom(_NONCE_BYTES)
        said = SignedIn(credential, self._clock() + LIFE_SECONDS)
        sealed = self._cipher.encrypt(nonce, msgspec.msgpack.encode(said), self.name.encode())
        return self._set(urlsafe_b64encode(nonce + sealed).decode(), LIFE_SECONDS)

    def ended(self) -> Header:
        """The header that signs somebody out."""
        return self._set("", 0)

    def credential(self, cookie: str) -> str | None:
        """The credential in a cookie; None for one that is not ours, or over."""
        try:
            whole = urlsafe_b64decode(cookie.encode("ascii"))
            if urlsafe_b64encode(whole).decode() != cookie:  # one spelling each: the proof of a page is of the spelling
                return None
            opened = self._cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], self.name.encode())
            said = _decode(opened)
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None
        return said.secret if said.ends_at > self._clock() else None

    def cookie_in(self, request: Request) -> str:
        """The cookie that a request came with; empty when there is none.

        Cookies do not know ports: whatever else runs on this host sends its own along, and none of them keeps anybody out."""
        for header in request.all_headers(b"cookie"):
            for pair in header.decode("latin-1").split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.name and len(value) <= _LONGEST and value.isascii():
                    return value
        return ""

    def proof(self, cookie: str) -> str:
        """What a page of whoever has this cookie sends with everything that changes something."""
        return hmac.new(self._key, b"csrf" + cookie.encode(), hashlib.sha256).hexdigest()

    def is_proof(self, cookie: str, given: str) -> bool:
        """True for the right one."""
        return hmac.compare_digest(self.proof(cookie).encode(), given.encode("utf-8", "replace"))

    def _set(self, value: str, seconds: int) -> Header:
        # Lax: a link in a message leads to the page itself. What changes anything is never a GET.
        text = f"{self.name}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Lax{self._more}"
        return (b"set-cookie", text.encode("ascii"))
