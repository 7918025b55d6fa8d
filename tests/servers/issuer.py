"""An authorization server of this machine: it has keys, tells where they are, and signs tokens. It can be ill."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
RESOURCE = "https://tools.example.com/mcp"


class Issuer:
    """Signs with its current key; `asked` counts what it was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: dict[str, int] = {}
        self.is_down = False
        self.holds: asyncio.Event | None = None
        """Nothing is answered before it is set."""
        self.metadata: dict[str, Any] | None = None
        self.keys: dict[str, PrivateKey] = {}
        self.extra: list[dict[str, Any]] = []
        self.kid = ""
        self.turn("first")

    def turn(self, kid: str, key: PrivateKey | None = None, *, keep: bool = True) -> None:
        """Sign with another key from now on; `keep`: the earlier ones still count."""
        if not keep:
            self.keys.clear()
        self.keys[kid] = key or ec.generate_private_key(ec.SECP256R1())
        self.kid = kid

    def token(self, *, headers: dict[str, Any] | None = None, key: Any = None, alg: str = "", **claims: Any) -> str:
        """A token; a claim that is None is left out."""
        now = int(time.time())
        said = {"iss": self.url, "sub": "ada", "aud": RESOURCE, "scope": "call", "iat": now, "exp": now + 600} | claims
        signing = key if key is not None else self.keys[self.kid]
        body = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(body, signing, alg or algorithm_of(signing), {"kid": self.kid} | (headers or {}))

    def jwks(self) -> dict[str, Any]:
        return {"keys": [*(public(key, kid) for kid, key in self.keys.items()), *self.extra]}

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked[path] = self.asked.get(path, 0) + 1
        if self.is_down:
            return 503, b"ill"
        if path == "/keys":
            return 200, json.dumps(self.jwks()).encode()
        if path == "/.well-known/openid-configuration":
            said = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"} if self.metadata is None else self.metadata
            return 200, json.dumps(said).encode()
        return 404, b"no"


def algorithm_of(key: Any) -> str:
    if isinstance(key, rsa.RSAPrivateKey):
        return "RS256"
    return "EdDSA" if isinstance(key, ed25519.Ed25519PrivateKey) else "ES256"


def public(key: PrivateKey, kid: str) -> dict[str, Any]:
    """A public key as an issuer gives it."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        written = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    elif isinstance(key, rsa.RSAPrivateKey):
        written = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        written = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**written, "kid": kid, "use": "sig"}


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuer]:
    """An issuer on a free port of this machine."""
    issuer = Issuer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if issuer.holds is not None:
                    await issuer.holds.wait()
                status, body = issuer.answer(head.split(b" ", 2)[1].decode())
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    issuer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield issuer
    finally:
        server.close()
        await server.wait_closed()
