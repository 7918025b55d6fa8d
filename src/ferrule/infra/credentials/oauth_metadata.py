"""The endpoints of a provider: from the settings, or from its own metadata (RFC 8414, OpenID Connect).

A provider's metadata counts only when its issuer is exactly the one in the settings, and only `https` addresses are
accepted, or `http` ones of hosts in `[network] allow`. Every request to a provider goes through here; messages never
hold anything of an answer's body, since it may hold tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import msgspec

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.sealed import hash_words
from ferrule.infra.network.client import Client, Fetched, Headers
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.request import BadRequest, BrokenAnswer, TooLong, Unreachable
from ferrule.infra.network.urls import BadUrl, Target, parse_url

_SECONDS = 15.0


async def ask_provider(
    client: Client, name: str, method: str, target: Target, headers: Headers, body: bytes, max_bytes: int
) -> Fetched:
    """Returns a provider's answer, whatever its status. Raises ExecutionFailed."""
    accepted = (*headers, ("Accept", "application/json"))
    try:
        return await client.fetch(method, target, accepted, body, max_bytes=max_bytes, timeout_seconds=_SECONDS)
    except Forbidden as error:
        raise ExecutionFailed("policy_blocked", f"[oauth.{name}]: {error}", code="address_forbidden") from None
    except Unreachable as error:
        raise _unavailable(name, f"{error}") from None
    except TimeoutError:
        raise _unavailable(name, f"{target.host} did not answer within {_SECONDS:g} seconds") from None
    except (BrokenAnswer, TooLong, BadRequest) as error:
        raise _unavailable(name, f"{target.host} gave no answer that can be used: {error}") from None


def _unavailable(name: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        "dependency_unavailable", f"the provider {name!r} cannot be asked: {why}", code="provider_unavailable"
    )


_KEPT_SECONDS = 3600.0
_MOST_BYTES = 256 * 1024
_S256 = "S256"


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoints and features of a provider."""

    issuer: str = ""
    authorization: Target
    token: Target
    revocation: Target | None = None
    client_auth: tuple[str, ...] = ("client_secret_basic",)
    """The ways a client may authenticate at the token endpoint."""
    says_issuer: bool = False
    """True when it names itself in the redirect (RFC 9207)."""


class _Metadata(msgspec.Struct):
    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class Discovery:
    """The endpoints of providers, fetched once an hour."""

    def __init__(self, client: Client, tick: Callable[[], float]) -> None:
        """`tick` gives seconds and never goes back."""
        self._client = client
        self._tick = tick
        self._known: dict[tuple[str, str], tuple[float, asyncio.Task[Endpoints]]] = {}

    async def endpoints(self, name: str, provider: OAuthProvider) -> Endpoints:
        """Returns a provider's endpoints. Raises ExecutionFailed."""
        key = (name, identify_client(provider))
        until, task = self._known.get(key, (0.0, None))
        if task is None or until <= self._tick() or (task.done() and (task.cancelled() or task.exception())):
            task = asyncio.create_task(self._find_endpoints(name, provider))
            self._known[key] = (self._tick() + _KEPT_SECONDS, task)
        # Other calls wait for the same answer.
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """Cancels fetches under way."""
        tasks = [task for _, task in self._known.values()]
        self._known.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find_endpoints(self, name: str, provider: OAuthProvider) -> Endpoints:
        said = await self._fetch_metadata(name, provider.issuer) if provider.issuer else _Metadata(issuer="")
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

    async def _fetch_metadata(self, name: str, issuer: str) -> _Metadata:
        place = self._target(name, "issuer", issuer)
        if "?" in place.path or "#" in issuer:
            raise _unusable(name, "its issuer has a query or a fragment, and no issuer has")
        for path in _list_metadata_paths(place.path):
            fetched = await ask_provider(self._client, name, "GET", place._replace(path=path), (), b"", _MOST_BYTES)
            if fetched.status == 200 and (said := _read_metadata(name, issuer, fetched)) is not None:
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


def identify_client(provider: OAuthProvider) -> str:
    """Returns the client and provider that the settings name; another one never gets the tokens or codes of this one."""
    places = (provider.issuer, provider.authorization_url, provider.token_url, provider.revocation_url)
    return hash_words(provider.client_id, *places)


def secure_target(name: str, key: str, url: str, guard: Guard) -> Target:
    """Returns an address tokens may travel to. Raises ExecutionFailed for any other."""
    if not url:
        raise _unusable(name, f"neither its settings nor its issuer say {key}")
    try:
        target = parse_url(url)
    except BadUrl as error:
        raise _unusable(name, f"{key} cannot be used: {error}") from None
    if not target.is_secure and not guard.lists(target):
        raise _unusable(name, f"{key} must be an https address, or its host must stand in [network] allow")
    return target


def _list_metadata_paths(path: str) -> Collection[str]:
    """Lists the paths of a provider's metadata: of RFC 8414, of OpenID Connect, and of OpenID Connect as RFC 8414 has
    it."""
    bare = path.rstrip("/")
    found = (
        f"/.well-known/oauth-authorization-server{bare}",
        f"{bare}/.well-known/openid-configuration",
        f"/.well-known/openid-configuration{bare}",
    )
    return dict.fromkeys(found)


def _read_metadata(name: str, issuer: str, fetched: Fetched) -> _Metadata | None:
    """Returns a provider's metadata; None for any other page, as some servers return for every address."""
    try:
        said = msgspec.json.decode(fetched.body, type=_Metadata)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if said.issuer != issuer:
        raise _unusable(name, "its issuer calls itself by another name than the settings do; write exactly the same")
    return said


def _unusable(name: str, why: str) -> ExecutionFailed:
    return ExecutionFailed("setup_required", f"[oauth.{name}] cannot be used: {why}", code="provider_unusable")
