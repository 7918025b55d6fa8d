"""One OXP server: where it is, what it is shown (an API key, a token signed for one request), and which tools it lists.

A listed tool is compared with what was accepted; nothing is sent to one that is different. `answers.py` reads the
answers.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import json_object, reach
from ferrule.infra.lockfile.compare import changes_between
from ferrule.infra.lockfile.file import Native, digest
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.upstreams import OxpServer
from ferrule.runtime.executors.identity import demand_trusted
from ferrule.runtime.executors.oxp.answers import bad_answer, refusal
from ferrule.runtime.executors.surroundings import Surroundings

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


_LIST_SECONDS = 30.0


class Listings:
    """The lists of every server, asked for now and then."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._settings = around.upstreams.oxp
        self._known: dict[str, tuple[float, dict[str, Native]]] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def tools(self, upstream: Upstream, context: Context) -> tuple[Native, ...]:
        """Every definition a server has. Raises ExecutionFailed."""
        around = self._around
        if upstream.has_credentials:
            demand_trusted(around.guard, upstream.target, upstream.label)
        headers = await upstream.headers(around.vault, context, around.now)
        fetched = await reach(
            around.client,
            upstream.label,
            "GET",
            upstream.url("/tools"),
            [*headers.items(), ("Accept", "application/json")],
            timeout_seconds=_LIST_SECONDS,
            listed_only=context.is_confined,
            max_bytes=self._settings.max_response_bytes,
        )
        if fetched.status != 200:
            if fetched.status == 401:
                around.vault.forget_refused(upstream.credentials, context)
            raise refusal(upstream.label, fetched).error
        body = json_object(fetched.body)
        listed: Any = body.get("tools", body.get("items") if upstream.is_compat else None)
        if not isinstance(listed, list):
            what = "a list of tools without `tools`"
            if isinstance(body.get("items"), list):
                what += f"; later drafts have it under `items`, which compat = true in [oxp.servers.{upstream.server_id}] takes"
            raise bad_answer(upstream.label, what)
        return tuple(one for one in listed if isinstance(one, dict))

    async def demand_unchanged(self, upstream: Upstream, accepted: Native, context: Context) -> None:
        """Raises ExecutionFailed (`policy_blocked`) when a tool is not what its caller saw and was allowed."""
        tool_id = str(accepted.get("id"))
        live = (await self._live(upstream, context)).get(tool_id)
        if live is None:
            raise _blocked(upstream, tool_id, "the server does not have it any more")
        if digest(live) != digest(accepted):
            where = ", ".join(change.path for change in changes_between(accepted, live)[:8])
            raise _blocked(upstream, tool_id, f"its definition changed ({where})")

    def forget(self, upstream: Upstream) -> None:
        """Look again before the next call."""
        self._known.pop(upstream.server_id, None)

    async def _live(self, upstream: Upstream, context: Context) -> dict[str, Native]:
        loop = asyncio.get_running_loop()
        async with self._looking.setdefault(upstream.server_id, asyncio.Lock()):
            known = self._known.get(upstream.server_id)
            if known is None or loop.time() - known[0] > self._settings.recheck_seconds:
                began = loop.time()
                listed = await self.tools(upstream, context)
                known = self._known[upstream.server_id] = (began, {str(one.get("id")): one for one in listed})
            return known[1]


def _blocked(upstream: Upstream, tool_id: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "policy_blocked",
        f"the tool {tool_id} of {upstream.label} is not what was accepted: {why}. Nothing was sent; look at it with"
        " 'ferrule lock --show', and accept it with 'ferrule lock --accept'",
        code="upstream_changed",
        is_retryable=False,
    )
