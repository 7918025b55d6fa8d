"""One OXP server: its address, its credentials (an API key, or a token signed per request), and the tools it lists.

A listed tool is compared with its accepted definition; no call is sent to one that differs. `answers.py` reads the answers.
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
from ferrule.infra.clouds.api_request import reach, read_json_object
from ferrule.infra.lockfile.compare import list_changes
from ferrule.infra.lockfile.file import Native, digest
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import BadCredentials, Credentials, read_credentials
from ferrule.model.upstreams import OxpServer
from ferrule.runtime.executors.identity import demand_trusted
from ferrule.runtime.executors.oxp.answers import bad_answer, refusal
from ferrule.runtime.executors.transport_services import TransportServices

KEY_HEADER = "OXP-API-Key"
_JWT_SECONDS = 300
"""How long a signed token is valid; servers accept at most 15 minutes (OXP-45)."""


class OxpUpstream(msgspec.Struct, frozen=True, kw_only=True):
    """One OXP server."""

    server_id: str
    target: Target
    credentials: Credentials = Credentials()
    audience: str = ""
    is_signed: bool = False
    """True when `credentials` hold the secret that signs tokens."""
    is_compat: bool = False

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"the OXP server {self.server_id!r}"

    @property
    def has_credentials(self) -> bool:
        """True when requests carry credentials."""
        return self.credentials.scheme != "none"

    def url(self, path: str) -> str:
        """Returns the address of one of its paths."""
        return f"{self.target.url.rstrip('/')}{path}"

    async def headers(self, vault: Vault, context: Context, now: Callable[[], float]) -> dict[str, str]:
        """Returns the headers that authenticate one request. Raises ExecutionFailed."""
        if self.is_signed and self.credentials.ref is not None:
            secret = await vault.secret(self.credentials.ref, context)
            return {"Authorization": f"Bearer {sign_token(secret, int(now()), self.audience)}"}
        return dict(await vault.headers(self.credentials, context))


def upstream_of(server_id: str, server: OxpServer) -> OxpUpstream:
    """Reads a server of `[oxp.servers]`. Raises ExecutionFailed (`setup_required`)."""
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
    return OxpUpstream(
        server_id=server_id,
        target=target,
        credentials=credentials,
        audience=server.jwt_audience,
        is_signed=server.jwt_secret is not None,
        is_compat=server.compat,
    )


def sign_token(secret: str, now: int, audience: str = "") -> str:
    """Signs a short-lived token with HS256 (OXP-45)."""
    claims = {"iat": now, "exp": now + _JWT_SECONDS, **({"aud": audience} if audience else {})}
    head = _part(b'{"alg":"HS256","typ":"JWT"}') + b"." + _part(msgspec.json.encode(claims))
    mark = hmac.new(secret.encode(), head, hashlib.sha256).digest()
    return (head + b"." + _part(mark)).decode()


def _part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


_LIST_SECONDS = 30.0


class ToolLists:
    """The tool lists of every server, fetched again after a while."""

    def __init__(self, services: TransportServices) -> None:
        self._services = services
        self._settings = services.upstreams.oxp
        self._known: dict[str, tuple[float, dict[str, Native]]] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def tools(self, upstream: OxpUpstream, context: Context) -> tuple[Native, ...]:
        """Fetches every definition of a server. Raises ExecutionFailed."""
        services = self._services
        if upstream.has_credentials:
            demand_trusted(services.guard, upstream.target, upstream.label)
        headers = await upstream.headers(services.vault, context, services.now)
        fetched = await reach(
            services.client,
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
                services.vault.forget_refused(upstream.credentials, context)
            raise refusal(upstream.label, fetched).error
        body = read_json_object(fetched.body)
        listed: Any = body.get("tools", body.get("items") if upstream.is_compat else None)
        if not isinstance(listed, list):
            what = "a list of tools without `tools`"
            if isinstance(body.get("items"), list):
                what += f"; later drafts have it under `items`, which compat = true in [oxp.servers.{upstream.server_id}] takes"
            raise bad_answer(upstream.label, what)
        return tuple(one for one in listed if isinstance(one, dict))

    async def demand_unchanged(self, upstream: OxpUpstream, accepted: Native, context: Context) -> None:
        """Raises ExecutionFailed (`policy_blocked`) when a tool differs from the definition that its caller was shown."""
        tool_id = str(accepted.get("id"))
        live = (await self._current_tools(upstream, context)).get(tool_id)
        if live is None:
            raise _changed_tool_failure(upstream, tool_id, "the server does not have it any more")
        if digest(live) != digest(accepted):
            where = ", ".join(change.path for change in list_changes(accepted, live)[:8])
            raise _changed_tool_failure(upstream, tool_id, f"its definition changed ({where})")

    def forget(self, upstream: OxpUpstream) -> None:
        """Makes the next call fetch the list again."""
        self._known.pop(upstream.server_id, None)

    async def _current_tools(self, upstream: OxpUpstream, context: Context) -> dict[str, Native]:
        loop = asyncio.get_running_loop()
        async with self._looking.setdefault(upstream.server_id, asyncio.Lock()):
            known = self._known.get(upstream.server_id)
            if known is None or loop.time() - known[0] > self._settings.recheck_seconds:
                # From before the request, so that a list never counts as newer than it is.
                began = loop.time()
                listed = await self.tools(upstream, context)
                known = self._known[upstream.server_id] = (began, {str(one.get("id")): one for one in listed})
            return known[1]


def _changed_tool_failure(upstream: OxpUpstream, tool_id: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "policy_blocked",
        f"the tool {tool_id} of {upstream.label} is not what was accepted: {why}. Nothing was sent; look at it with"
        " 'ferrule lock --show', and accept it with 'ferrule lock --accept'",
        code="upstream_changed",
        is_retryable=False,
    )
