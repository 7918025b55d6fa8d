"""Where an OXP server is and what it is shown: its API key, a token signed for one request, or something else."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

import msgspec

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.upstreams import OxpServer

KEY_HEADER = "OXP-API-Key"
_JWT_SECONDS = 300
"""How long a signed token is good for; servers take at most 15 minutes (OXP-45)."""


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One OXP server."""

    server_id: str
    target: Target
    credentials: Credentials = Credentials()
    audience: str = ""
    is_signed: bool = False
    """True when `credentials` hold the secret that tokens are signed with."""
    is_compat: bool = False

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"the OXP server {self.server_id!r}"

    @property
    def has_credentials(self) -> bool:
        """True when it is shown something."""
        return self.credentials.scheme != "none"

    def url(self, path: str) -> str:
        """The address of one of its paths."""
        return f"{self.target.url.rstrip('/')}{path}"

    async def headers(self, vault: Vault, context: Context, now: Callable[[], float]) -> dict[str, str]:
        """What it is shown with one request. Raises ExecutionFailed."""
        if self.is_signed and self.credentials.ref is not None:
            secret = await vault.secret(self.credentials.ref, context)
            return {"Authorization": f"Bearer {signed(secret, int(now()), self.audience)}"}
        return dict(await vault.headers(self.credentials, context))


def upstream_of(server_id: str, server: OxpServer) -> Upstream:
    """A server of `[oxp.servers]`. Raises ExecutionFailed (`setup_required`)."""
    where = f"[oxp.servers.{server_id}]"
    try:
        target = parse_url(server.url)
        credentials = read_credentials(server.credentials or None)
    except BadUrl as error:
        raise ExecutionFailed("setup_required", f"the url of {where} cannot be used: {error}") from None
    except BadCredentials as error:
        raise ExecutionFailed("setup_required", f"the credentials of {where} cannot be used: {error}") from None
    if "?" in target.path:
        raise ExecutionFailed("setup_required", f"the url of {where} has a query; write it without")
    if server.api_key is not None:
        credentials = Credentials(scheme="api-key", ref=server.api_key, header=KEY_HEADER)
    elif server.jwt_secret is not None:
        credentials = Credentials(scheme="bearer-token", ref=server.jwt_secret)
    return Upstream(
        server_id=server_id,
        target=target,
        credentials=credentials,
        audience=server.jwt_audience,
        is_signed=server.jwt_secret is not None,
        is_compat=server.compat,
    )


def signed(secret: str, now: int, audience: str = "") -> str:
    """A token of this moment, HS256 (OXP-45)."""
    claims = {"iat": now, "exp": now + _JWT_SECONDS, **({"aud": audience} if audience else {})}
    head = _part(b'{"alg":"HS256","typ":"JWT"}') + b"." + _part(msgspec.json.encode(claims))
    mark = hmac.new(secret.encode(), head, hashlib.sha256).digest()
    return (head + b"." + _part(mark)).decode()


def _part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
