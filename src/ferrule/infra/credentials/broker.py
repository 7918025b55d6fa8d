"""Access tokens for `oauth2` credentials (AML-60, AML-61): calls the token broker, a cloud function, with the identity
of this process, and caches its token for its lifetime, less a margin.

Our own extension asks the token address itself, with a client's secret: `x-token-url`, `x-client-id`, a `source` for
the secret, `x-audience`.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Hashable
from urllib.parse import quote, urlencode

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.api_request import REFUSED, reach, read_json_object, status_failure
from ferrule.infra.clouds.aws import make_aws_failure
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from ferrule.infra.clouds.functions import find_azure_function, find_google_function
from ferrule.infra.network.client import Fetched
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.model.credentials import TOKEN_URL, Credentials, SecretRef

_MARGIN_SECONDS = 60.0
_MARGIN_SHARE = 0.2
_LONGEST_SECONDS = 24 * 3600.0
_TIMEOUT_SECONDS = 20.0
_JSON = ("Content-Type", "application/json")

Secret = Callable[[SecretRef, Context], Awaitable[str]]


class TokenBroker:
    """Tokens by the credentials that they are fetched with; concurrent calls share one fetch."""

    def __init__(
        self, clouds: Clouds, learn: Callable[[str, str], None], tick: Callable[[], float] | None = None
    ) -> None:
        self._clouds = clouds
        self._learn = learn
        self._kept: ExpiringCache[str] = ExpiringCache(tick)

    async def token(self, credentials: Credentials, secret: Secret, context: Context) -> str:
        """Returns the access token. `secret` reads the client's secret. Raises ExecutionFailed."""
        # A confined caller reaches listed hosts only, so it must not share a token that was fetched past that rule.
        key = (_identity(credentials), context.is_confined)
        return await self._kept.get(key, lambda: self._fetch_token(credentials, secret, context))

    def forget(self, credentials: Credentials) -> None:
        """Drops a token that was refused."""
        refused = _identity(credentials)
        self._kept.forget(lambda key: isinstance(key, tuple) and key[0] == refused)

    async def _fetch_token(self, credentials: Credentials, secret: Secret, context: Context) -> Fresh[str]:
        if credentials.written.get(TOKEN_URL):
            fetched = await self._exchange_secret(credentials, secret, context)
        else:
            fetched = await self._invoke_function(credentials, context.is_confined)
        said = read_json_object(fetched.body)
        token = said.get("access_token")
        if not isinstance(token, str) or not token or any(not 32 < ord(letter) < 127 for letter in token):
            raise ExecutionFailed(
                "credential_missing",
                f"the token broker {credentials.label!r} answered without an 'access_token' that can be sent; it has to"
                ' answer {"access_token": …, "expires_in": …}',
                code="broker_answer",
            )
        self._learn(credentials.label, token)
        return Fresh(token, _cache_seconds(said.get("expires_in")))

    async def _invoke_function(self, credentials: Credentials, is_confined: bool) -> Fetched:
        body = msgspec.json.encode({"scopes": credentials.scopes})
        match credentials.provider:
            case "aws":
                return await self._invoke_lambda(credentials.function_id, body, is_confined)
            case "gcp":
                return await self._invoke_google(credentials.function_id, body, is_confined)
            case "azure":
                return await self._invoke_azure(credentials, body, is_confined)
            case _:
                raise ExecutionFailed("setup_required", "oauth2 credentials need a provider: aws, gcp or azure")

    async def _invoke_lambda(self, arn: str, body: bytes, is_confined: bool) -> Fetched:
        parts = arn.split(":")
        fetched = await self._clouds.aws.request(
            "lambda",
            region=parts[3] if len(parts) > 6 else None,
            path=f"/2015-03-31/functions/{quote(arn, safe='')}/invocations",
            headers=[_JSON, ("X-Amz-Invocation-Type", "RequestResponse")],
            body=body,
            timeout_seconds=_TIMEOUT_SECONDS,
            listed_only=is_confined,
        )
        what = f"the token broker {arn!r}"
        if fetched.status != 200:
            failure = make_aws_failure(what, fetched)
            if failure.code == "credential_refused":
                self._clouds.aws.forget()
            raise failure
        if "x-amz-function-error" in fetched.headers:
            raise ExecutionFailed(
                "dependency_unavailable",
                f"{what} failed; its log says why",
                code="broker_failed",
                native_error_ref="aws:FunctionError",
            )
        return fetched

    async def _invoke_google(self, name: str, body: bytes, is_confined: bool) -> Fetched:
        clouds = self._clouds
        url = await find_google_function(clouds.gcp, clouds.client, clouds.env, name)
        token = await clouds.gcp.identity_token(None, url)
        return await self._post(name, url, [_JSON, ("Authorization", f"Bearer {token}")], body, is_confined)

    async def _invoke_azure(self, credentials: Credentials, body: bytes, is_confined: bool) -> Fetched:
        clouds, name = self._clouds, credentials.function_id
        if name.startswith("/"):
            found = await find_azure_function(clouds.azure, clouds.client, clouds.env, name, learn=self._learn)
            headers = [_JSON, *([("x-functions-key", found.key)] if found.key else [])]
            return await self._post(name, found.url, headers, body, is_confined)
        audience = self._choose_audience(name, credentials.written.get("x-audience"))
        token = await clouds.azure.token(None, f"{audience.rstrip('/')}/.default")
        return await self._post(name, name, [_JSON, ("Authorization", f"Bearer {token}")], body, is_confined)

    def _choose_audience(self, url: str, stated: object) -> str:
        """Returns the audience of a token that is sent to an address of a definition: that very address. Whoever runs
        that address could use a token for another audience in our name, so the operator has to name the host."""
        target = self._check_address(url)
        own = f"https://{target.authority}"
        if not stated or str(stated).rstrip("/") == own:
            return own
        if self._clouds.client.guard.lists(target):
            return str(stated)
        raise ExecutionFailed(
            "setup_required",
            f"'x-audience' of the token broker is not its own address; name {target.host} in [network] allow if it may be"
            " sent a token for another audience",
        )

    async def _exchange_secret(self, credentials: Credentials, secret: Secret, context: Context) -> Fetched:
        written = credentials.written
        url, client_id = str(written[TOKEN_URL]), written.get("x-client-id")
        if credentials.ref is None or not isinstance(client_id, str) or not client_id:
            raise ExecutionFailed("setup_required", "'x-token-url' needs 'x-client-id' and a 'source' for its secret")
        self._check_address(url)
        value = (await secret(credentials.ref, context)).strip()
        pair = f"{quote(client_id, safe='')}:{quote(value, safe='')}"
        basic = base64.b64encode(pair.encode()).decode()
        self._learn(credentials.label, basic)
        form = {"grant_type": "client_credentials"}
        if credentials.scopes:
            form["scope"] = " ".join(credentials.scopes)
        if written.get("x-audience"):
            form["audience"] = str(written["x-audience"])
        headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", f"Basic {basic}")]
        return await self._post(url, url, headers, urlencode(form).encode(), context.is_confined)

    async def _post(
        self, name: str, url: str, headers: list[tuple[str, str]], body: bytes, is_confined: bool
    ) -> Fetched:
        self._check_address(url)
        what = f"the token broker {name!r}"
        fetched = await reach(
            self._clouds.client,
            what,
            "POST",
            url,
            [*headers, ("Accept", "application/json")],
            body,
            timeout_seconds=_TIMEOUT_SECONDS,
            listed_only=is_confined,
        )
        if fetched.status == 200:
            return fetched
        is_refused = fetched.status in (400, 401)  # 400 is how OAuth says that a client or its secret is not known
        if is_refused:
            self._clouds.forget()
        raise status_failure(
            f"{what} gave no token: it answered {fetched.status}", fetched, meaning=REFUSED if is_refused else None
        )

    def _check_address(self, url: str) -> Target:
        """Returns the target of an address that may receive our identity. Raises ExecutionFailed for any other."""
        try:
            target = parse_url(url)
        except BadUrl as error:
            raise ExecutionFailed(
                "setup_required", f"the address of the token broker cannot be used: {error}"
            ) from None
        # The request carries our identity, so plain http needs the operator's word.
        if not target.is_secure and not self._clouds.client.guard.lists(target):
            raise ExecutionFailed(
                "policy_blocked",
                f"the token broker at {target.host} has no TLS; use https, or name the host in [network] allow",
                code="address_forbidden",
            )
        return target


def _identity(credentials: Credentials) -> Hashable:
    extras = tuple(str(credentials.written.get(name)) for name in (TOKEN_URL, "x-client-id", "x-audience"))
    return (credentials.provider, credentials.function_id, credentials.scopes, credentials.ref, extras)


def _cache_seconds(stated: object) -> float:
    """Returns how long to cache a token; 0 when its lifetime is unknown."""
    if isinstance(stated, str) and stated.isascii() and stated.isdecimal() and len(stated) < 12:
        stated = int(stated)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not stated > 0:
        return 0.0
    lasts = min(float(stated), _LONGEST_SECONDS)
    return lasts - min(_MARGIN_SECONDS, lasts * _MARGIN_SHARE)
