"""Sign-in: a credential sealed into a cookie that scripts cannot read.

The gate checks the credential with every request, exactly as if it had come in `Authorization`, so a revoked one shows
nothing from then on. Requests that change something carry a second token that only our own pages know (CSRF).
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

from ferrule.servers.asgi import Header, HttpRequest

LIFE_SECONDS = 12 * 3600
_USE = b"ferrule console sign-in 1"
_NONCE_BYTES, _LONGEST = 12, 8192


class SignInCookie(msgspec.Struct, frozen=True, array_like=True):
    """The content of a sign-in cookie."""

    secret: str
    """The credential."""
    ends_at: float


_decode = msgspec.msgpack.Decoder(SignInCookie).decode


class Cookies:
    """Makes and opens the sign-in cookies of one workspace."""

    def __init__(
        self, secret: bytes, workspace: str, *, is_secure: bool, clock: Callable[[], float] = time.time
    ) -> None:
        """`workspace`: its name, since one host may serve several. `is_secure`: browsers use HTTPS."""
        self._key = hmac.new(secret, _USE, hashlib.sha256).digest()
        self._cipher = AESGCM(self._key)
        self.name = f"ferrule-{hashlib.sha256(workspace.encode()).hexdigest()[:8]}"
        self._more = "; Secure" if is_secure else ""
        self._clock = clock

    def make_sign_in(self, credential: str) -> Header:
        """Returns the header that signs somebody in."""
        nonce = os.urandom(_NONCE_BYTES)
        content = SignInCookie(credential, self._clock() + LIFE_SECONDS)
        sealed = self._cipher.encrypt(nonce, msgspec.msgpack.encode(content), self.name.encode())
        return self._set(urlsafe_b64encode(nonce + sealed).decode(), LIFE_SECONDS)

    def make_sign_out(self) -> Header:
        """Returns the header that signs somebody out."""
        return self._set("", 0)

    def credential(self, cookie: str) -> str | None:
        """Returns the credential in a cookie; None for a foreign or expired one."""
        try:
            whole = urlsafe_b64decode(cookie.encode("ascii"))
            if (
                urlsafe_b64encode(whole).decode() != cookie
            ):  # one spelling per cookie, because a page's proof is made from the spelling
                return None
            opened = self._cipher.decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], self.name.encode())
            content = _decode(opened)
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None
        return content.secret if content.ends_at > self._clock() else None

    def cookie_in(self, request: HttpRequest) -> str:
        """Returns the cookie of a request; empty without one.

        Cookies do not know ports: other programs on this host send theirs too, and those must not lock anybody out.
        """
        for header in request.all_headers(b"cookie"):
            for pair in header.decode("latin-1").split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.name and len(value) <= _LONGEST and value.isascii():
                    return value
        return ""

    def proof(self, cookie: str) -> str:
        """Returns the token that pages of this cookie send with every change (CSRF)."""
        return hmac.new(self._key, b"csrf" + cookie.encode(), hashlib.sha256).hexdigest()

    def is_proof(self, cookie: str, given: str) -> bool:
        """Returns True for the right token."""
        return hmac.compare_digest(self.proof(cookie).encode(), given.encode("utf-8", "replace"))

    def _set(self, value: str, seconds: int) -> Header:
        # Lax, not Strict: a link in a chat message must open the page signed in. No GET changes anything.
        text = f"{self.name}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Lax{self._more}"
        return (b"set-cookie", text.encode("ascii"))
