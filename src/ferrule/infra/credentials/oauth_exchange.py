"""Requests to a token endpoint: exchanges a code, renews tokens, revokes them (RFC 6749, 7009, 8707).

The client authenticates in the one way that the settings or the provider name. Only answers in the form of the standard
are accepted; of a failing one, only the error code is reported.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, urlencode

import msgspec

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.credentials.oauth_metadata import Endpoints, ask_provider
from ferrule.infra.credentials.oauth_pending import PendingAuthorization
from ferrule.infra.credentials.oauth_records import OAuthProvider
from ferrule.infra.credentials.tokens import Grant, TokenOwner
from ferrule.infra.network.client import Client, Fetched
from ferrule.infra.network.urls import Target
from ferrule.model.failure import ErrorClass

_MOST_BYTES = 128 * 1024
_MARGIN_SECONDS = 60.0
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_CODE = re.compile(r"[a-z0-9_.-]{1,64}")
_FORM = ("Content-Type", "application/x-www-form-urlencoded")

_MEANINGS: dict[str, tuple[ErrorClass, str, str]] = {
    "invalid_client": ("credential_missing", "credential_refused", "check client_id and client_secret"),
    "unauthorized_client": (
        "credential_missing",
        "credential_refused",
        "let the provider allow this client code and refresh",
    ),
    "invalid_scope": ("setup_required", "provider_unusable", "check scopes there and in the tool's definition"),
    "invalid_target": ("setup_required", "provider_unusable", "check resource"),
    "unsupported_grant_type": ("setup_required", "provider_unusable", "the provider does not give tokens this way"),
    "temporarily_unavailable": ("dependency_unavailable", "provider_unavailable", "try again later"),
    "slow_down": ("rate_limited", "provider_unavailable", "try again later"),
}


_MEANINGS["incorrect_client_credentials"] = _MEANINGS["invalid_client"]
_SPENT = frozenset({"invalid_grant", "bad_verification_code", "bad_refresh_token"})
"""The standard's code for a used or expired code or token, and GitHub's."""


class InvalidGrant(Exception):
    """The provider does not accept the code or the refresh token (any more)."""


class _TokenResponse(msgspec.Struct):
    access_token: str
    token_type: str
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


class _Refusal(msgspec.Struct):
    error: str = ""


class TokenEndpoint:
    """The token endpoint of a provider."""

    def __init__(
        self, client: Client, vault: Vault, learn: Callable[[str, str], None], now: Callable[[], float]
    ) -> None:
        self._client = client
        self._vault = vault
        self._learn = learn
        self._now = now

    async def exchange_code(
        self, provider: OAuthProvider, at: Endpoints, pending: PendingAuthorization, code: str
    ) -> Grant:
        """Returns the grant for the code a browser brought. Raises InvalidGrant, ExecutionFailed."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": pending.redirect_uri,
            "code_verifier": pending.verifier,
        }
        self._learn(f"oauth {pending.owner.provider}", code)
        answer = await self._request_tokens(pending.owner, provider, at, form)
        return self._make_grant(answer, pending.client, pending.scopes)

    async def renew(self, owner: TokenOwner, provider: OAuthProvider, at: Endpoints, grant: Grant) -> Grant:
        """Returns the grant with new tokens; keeps the refresh token where the provider sends none. Raises as
        `exchange_code`."""
        form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
        answer = await self._request_tokens(owner, provider, at, form)
        fresh = self._make_grant(answer, grant.client, grant.asked, grant.scopes)
        return msgspec.structs.replace(
            fresh, refresh_token=fresh.refresh_token or grant.refresh_token, connected_at=grant.connected_at
        )

    async def revoke(self, owner: TokenOwner, provider: OAuthProvider, at: Endpoints, grant: Grant) -> None:
        """Revokes the tokens at the provider (RFC 7009). Raises ExecutionFailed."""
        if at.revocation is None:
            return
        # The refresh token first: when the second request fails, nothing can be renewed any more.
        named = [("refresh_token", grant.refresh_token), ("access_token", grant.access_token)]
        for hint, token in named:
            if token:
                form = {"token": token, "token_type_hint": hint}
                fetched = await self._post(owner, provider, at, at.revocation, form)
                if fetched.status != 200:
                    raise _translate_refusal(owner.provider, fetched)

    async def _request_tokens(
        self, owner: TokenOwner, provider: OAuthProvider, at: Endpoints, form: dict[str, str]
    ) -> _TokenResponse:
        if provider.resource:
            form["resource"] = provider.resource
        fetched = await self._post(owner, provider, at, at.token, form)
        if fetched.status != 200:
            raise _translate_refusal(owner.provider, fetched)
        try:
            answer = msgspec.json.decode(fetched.body, type=_TokenResponse)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if _read_error_code(fetched.body):  # some tell of failures with a status that means success
                raise _translate_refusal(owner.provider, fetched) from None
            raise _invalid_response(owner.provider, "is no token response") from None
        if answer.token_type.lower() != "bearer":
            raise _invalid_response(owner.provider, "holds a kind of token other than Bearer")
        # Learned at once, so that nothing later can log it.
        for token in filter(None, (answer.access_token, answer.refresh_token)):
            if not _TOKEN.fullmatch(token):
                raise _invalid_response(owner.provider, "holds a token with letters that no token has")
            self._learn(f"oauth {owner.provider}", token)
        if not answer.access_token:
            raise _invalid_response(owner.provider, "holds no token")
        return answer

    async def _post(
        self, owner: TokenOwner, provider: OAuthProvider, at: Endpoints, target: Target, form: dict[str, str]
    ) -> Fetched:
        headers = [_FORM]
        method = _client_auth(provider, at)
        if method == "none" or provider.client_secret is None:
            form = {**form, "client_id": provider.client_id}
        else:
            context = Context("", owner.principal, None, owner.tenant)
            secret = await self._vault.secret(provider.client_secret, context)
            if method == "client_secret_post":
                form = {**form, "client_id": provider.client_id, "client_secret": secret}
            else:
                # RFC 6749, 2.3.1: each is form-encoded before they are joined.
                pair = f"{quote_plus(provider.client_id)}:{quote_plus(secret)}"
                basic = b64encode(pair.encode()).decode()
                self._learn(f"oauth {owner.provider}", basic)
                headers.append(("Authorization", f"Basic {basic}"))
        body = urlencode(form).encode()
        return await ask_provider(self._client, owner.provider, "POST", target, headers, body, _MOST_BYTES)

    def _make_grant(
        self, answer: _TokenResponse, client: str, wanted: tuple[str, ...], had: tuple[str, ...] = ()
    ) -> Grant:
        lasts = _read_seconds(answer.expires_in)
        now = self._now()
        scopes = _read_scopes(answer.scope, wanted) if answer.scope else had or wanted
        return Grant(
            access_token=answer.access_token,
            refresh_token=answer.refresh_token or "",
            scopes=scopes,
            asked=wanted,
            connected_at=now,
            expires_at=None if lasts is None else now + lasts,
            # A share of a short life: a token that lasts a minute would be renewed at every use otherwise.
            refresh_at=None if lasts is None else now + lasts - min(_MARGIN_SECONDS, lasts / 5),
            client=client,
        )


def _client_auth(provider: OAuthProvider, at: Endpoints) -> str:
    if provider.client_secret is None:
        return "none"
    if provider.token_auth != "auto":
        return provider.token_auth
    known = ("client_secret_basic", "client_secret_post")
    return next((method for method in known if method in at.client_auth), "client_secret_basic")


def _read_scopes(said: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the scopes of a token response; some providers separate them by commas."""
    found = said.split()
    if "," in said and not set(found) & set(wanted):
        found = said.replace(",", " ").split()
    return tuple(dict.fromkeys(found))


def _read_seconds(said: float | str | None) -> float | None:
    """Returns how long a token lasts; some providers write the number as text."""
    try:
        lasts = float(said) if said is not None else None
    except ValueError:
        return None
    return lasts if lasts is not None and 0 <= lasts < 1e10 else None


def _translate_refusal(name: str, fetched: Fetched) -> Exception:
    """Translates a failing answer, by its error code and status."""
    code = _read_error_code(fetched.body)
    if code in _SPENT:
        return InvalidGrant()
    ref = f"oauth:{code}" if code else f"http:{fetched.status}"
    if code in _MEANINGS:
        kind, finer, advice = _MEANINGS[code]
        message = f"the provider {name!r} refused with {code!r}; {advice} in [oauth.{name}]"
        return ExecutionFailed(kind, message, code=finer, native_error_ref=ref)
    if fetched.status == 401:
        message = (
            f"the provider {name!r} does not accept this client; check client_id and client_secret of [oauth.{name}]"
        )
        return ExecutionFailed("credential_missing", message, code="credential_refused", native_error_ref=ref)
    if fetched.status == 429 or fetched.status >= 500:
        kind = "rate_limited" if fetched.status == 429 else "dependency_unavailable"
        return ExecutionFailed(
            kind,
            f"the provider {name!r} answered {fetched.status}; try again later",
            code="provider_unavailable",
            native_error_ref=ref,
            retry_after=_read_seconds(fetched.headers.get("retry-after")),
        )
    shown = repr(code) if code else str(fetched.status)
    return ExecutionFailed(
        "setup_required",
        f"the provider {name!r} refused with {shown}; check [oauth.{name}]",
        code="provider_unusable",
        native_error_ref=ref,
    )


def _read_error_code(body: bytes) -> str:
    """Returns the error code of an answer, if it looks like one; never its description, which may repeat secrets."""
    try:
        said: Any = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return said if _CODE.fullmatch(said) else ""


def _invalid_response(name: str, what: str) -> ExecutionFailed:
    return ExecutionFailed(
        "dependency_unavailable", f"what the provider {name!r} answered {what}", code="provider_unavailable"
    )
