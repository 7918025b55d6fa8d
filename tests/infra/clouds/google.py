"""A small Google: its token address, Secret Manager and functions, written from its documentation. Signatures are checked."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from ferrule.infra.secrets.gcp import crc32c
from tests.infra.clouds.far import Asked, Far, Reply, far

EMAIL = "tools@acme.iam.gserviceaccount.com"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Google:
    """What it knows."""

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}
        """By `project/secret/version`."""
        self.tokens: dict[str, dict[str, Any]] = {}
        """The claims that each token was given for."""
        self.lasts = 3600
        self.checksum: str | None = None
        """Sent in place of the right one."""
        self.function_answer: Any = {"access_token": "ya29.from-the-broker", "expires_in": 3600}
        self.far: Far

    @property
    def url(self) -> str:
        return self.far.url

    def account(self) -> dict[str, str]:
        """The key file of its service account."""
        pem = _key().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": "k1",
            "private_key": pem.decode(),
            "client_email": EMAIL,
            "token_uri": f"{self.url}/token",
        }

    def environment(self, path: Any) -> dict[str, str]:
        """The variables of a process that runs as its service account."""
        path.write_text(json.dumps(self.account()))
        return {
            "GOOGLE_APPLICATION_CREDENTIALS": str(path),
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": f"{self.url}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDFUNCTIONS": f"{self.url}/",
        }

    def answer(self, asked: Asked) -> Reply:
        if asked.path == "/token":
            return self._token(asked)
        if asked.path == "/fn":
            return self._function(asked)
        claims = self.tokens.get(asked.bearer)
        if claims is None or "scope" not in claims:
            return _refusal(401, "UNAUTHENTICATED")
        if asked.path.startswith("/v1/projects/"):
            return self._secret(asked.path)
        record = {
            "name": "projects/acme/locations/europe-west1/functions/broker",
            "serviceConfig": {"uri": f"{self.url}/fn"},
        }
        if asked.path == f"/v2/{record['name']}":
            return Reply(200, record)
        if asked.path == "/v2/projects/acme/locations/-/functions":
            return Reply(200, {"functions": [record, {"name": "projects/acme/locations/x/functions/other"}]})
        return _refusal(404, "NOT_FOUND")

    def _token(self, asked: Asked) -> Reply:
        form = asked.form
        try:
            claims = jwt.decode(
                form["assertion"], _key().public_key(), algorithms=["RS256"], audience=f"{self.url}/token"
            )
        except jwt.InvalidTokenError:
            return Reply(400, {"error": "invalid_grant"})
        if form["grant_type"] != GRANT or claims["iss"] != EMAIL or not 0 < claims["exp"] - claims["iat"] <= 3600:
            return Reply(400, {"error": "invalid_grant"})
        token = f"ya29.token-{len(self.tokens)}"
        self.tokens[token] = claims
        kind = "id_token" if "target_audience" in claims else "access_token"
        return Reply(200, {kind: token, "expires_in": self.lasts, "token_type": "Bearer"})

    def _function(self, asked: Asked) -> Reply:
        claims = self.tokens.get(asked.bearer, {})
        if claims.get("target_audience") != f"{self.url}/fn":
            return Reply(401, b"who are you?")
        return Reply(200, self.function_answer)

    def _secret(self, path: str) -> Reply:
        parts = path.removesuffix(":access").split("/")
        value = self.secrets.get(f"{parts[3]}/{parts[5]}/{parts[7]}")
        if value is None:
            return _refusal(404, "NOT_FOUND")
        payload = {"data": base64.b64encode(value).decode(), "dataCrc32c": self.checksum or str(crc32c(value))}
        return Reply(200, {"name": path, "payload": payload})


def _refusal(status: int, name: str) -> Reply:
    return Reply(status, {"error": {"code": status, "message": "no", "status": name}})


@contextmanager
def google() -> Iterator[Google]:
    """One of its own until the end of the block."""
    made = Google()
    with far(made.answer) as server:
        made.far = server
        yield made
