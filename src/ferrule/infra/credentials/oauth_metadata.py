"""Finds a provider's endpoints: as the settings say, or as the provider says about itself (RFC 8414, OpenID Connect).

A provider's own word counts only when it calls itself exactly as the settings call it, and only `https` addresses are
taken, or `http` ones of hosts in `[network] allow`. Every request to a provider goes through here; messages never hold
anything of an answer's body, since it may hold tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.sealed import name_of
from ferrule.infra.network.client import Client, Fetched, Headers
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import BadUrl, Target, parse_url

_SECONDS = 15.0


async def asked(
    client: Client, name: str, method: str, target: Target, headers: Headers, body: bytes, max_bytes: int
) -> Fetched:
    """A provider's answer, whatever its status. Raises ExecutionFailed."""
    accepted = (*headers, ("Accept", "application/json"))
    try:
        return await client.fetch(method, target, accepted, body, max_bytes=max_bytes, timeout_seconds=_SECONDS)
    except Forbidden as error:
        raise ExecutionFailed("policy_blocked", f"[oauth.{name}]: {error}", code="address_forbidden") from None
    except Unreachable as error:
        raise _down(name, f"{error}") from None
    except TimeoutError:
        raise _down(name, f"{target.host} did not answer within {_SECONDS:g} seconds") from None
    except (BrokenAnswer, TooLong, BadRequest) as error:
        raise _down(name, f"{target.host} gave no answer that can be used: {error}") from None


def _down(name: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "dependency_unavailable", f"the provider {name!r} cannot be asked: {why}", code="provider_unavailable"
    )


_KEPT_SECONDS = 3600.0
_MOST_BYTES = 256 * 1024
_S256 = "S256"


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known about a provider."""

    issuer: str = ""
    authorization: Target
    token: Target
    revocation: Target | None = None
    client_auth: tuple[str, ...] = ("client_secret_basic",)
    """The ways the token endpoint takes a client's word."""
    says_issuer: bool = False
    """True when it names itself in what the browser brings back (RFC 9207)."""


class _Metadata(msgspec.Struct):
    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class Discovery:
    """The endpoints of providers, found out once an hour."""

    def __init__(self, client: Client, tick: Callable[[], float]) -> None:
        """`tick` gives seconds and never goes back."""
        self._client = client
        self._tick = tick
        self._known: dict[tuple[str, str], tuple[float, asyncio.Task[Endpoints]]] = {}

    async def endpoints(self, name: str, provider: OAuthProvider) -> Endpoints:
        """A provider's endpoints. Raises ExecutionFailed."""
        key = (name, client_of(provider))
        until, task = self._known.get(key, (0.0, None))
        if task is None or until <= self._tick() or (task.done() and (task.cancelled() or task.exception())):
            task = asyncio.create_task(self._found(name, provider))
            self._known[key] = (self._tick() + _KEPT_SECONDS, task)
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """Stop asking."""
        tasks = [task for _, task in self._known.values()]
        self._known.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _found(self, name: str, provider: OAuthProvider) -> Endpoints:
        said = await self._asked(name, provider.issuer) if provider.issuer else _Metadata(issuer="")
        methods = said.code_challenge_methods_supported
        if methods is not None and _S256 not in methods:
            raise _unusable(name, "the provider does not know PKCE with S256, and without it nothing is asked for")
        revocation = provider.revocation_url or said.revocation_endpoint
        return Endpoints(
            issuer=said.issuer,
            authorization=self._target(
                name, "authorization_url", provider.authorization_url, said.authorization_endpoint
            ),
            token=self._target(name, "token_url", provider.token_url, said.token_endpoint),
            revocation=self._target(name, "revocation_url", revocation) if revocation else None,
            client_auth=said.token_endpoint_auth_methods_supported,
            says_issuer=said.authorization_response_iss_parameter_supported,
        )

    async def _asked(self, name: str, issuer: str) -> _Metadata:
        place = self._target(name, "issuer", issuer)
        if "?" in place.path or "#" in issuer:
            raise _unusable(name, "its issuer has a query or a fragment, and no issuer has")
        for path in _well_known(place.path):
            fetched = await asked(self._client, name, "GET", place._replace(path=path), (), b"", _MOST_BYTES)
            if fetched.status == 200 and (said := _read(name, issuer, fetched)) is not None:
                return said
            if fetched.status >= 500:
                break
        raise ExecutionFailed(
            "dependency_unavailable",
            f"{place.host} does not tell its endpoints (it answered {fetched.status}); check issuer of [oauth.{name}], or say"
            " authorization_url and token_url there",
            code="provider_unavailable",
            native_error_ref=f"http:{fetched.status}",
        )

    def _target(self, name: str, key: str, *given: str) -> Target:
        return secure_target(name, key, next(filter(None, given), ""), self._client.guard)


def client_of(provider: OAuthProvider) -> str:
    """Which client of which provider the settings mean; another one gets neither the tokens nor the codes of this one."""
    places = (provider.issuer, provider.authorization_url, provider.token_url, provider.revocation_url)
    return name_of(provider.client_id, *places)


def secure_target(name: str, key: str, url: str, guard: Guard) -> Target:
    """An address tokens may travel to. Raises ExecutionFailed."""
    if not url:
        raise _unusable(name, f"neither its settings nor its issuer say {key}")
    try:
        target = parse_url(url)
    except BadUrl as error:
        raise _unusable(name, f"{key} cannot be used: {error}") from None
    if not target.is_secure and not guard.lists(target):
        raise _unusable(name, f"{key} must be an https address, or its host must stand in [network] allow")
    return target


def _well_known(path: str) -> Collection[str]:
    """Where a provider tells about itself: RFC 8414, then OpenID Connect as it is written, then as RFC 8414 would have it."""
    bare = path.rstrip("/")
    found = (
        f"/.well-known/oauth-authorization-server{bare}",
        f"{bare}/.well-known/openid-configuration",
        f"/.well-known/openid-configuration{bare}",
    )
    return dict.fromkeys(found)


def _read(name: str, issuer: str, fetched: Fetched) -> _Metadata | None:
    """What the provider says; None for a page that says something else, as some give for every address."""
    try:
        said = msgspec.json.decode(fetched.body, type=_Metadata)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if said.issuer != issuer:
        raise _unusable(name, "its issuer calls itself by another name than the settings do; write exactly the same")
    return said


def _unusable(name: str, why: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", f"[oauth.{name}] cannot be used: {why}", code="provider_unusable")
