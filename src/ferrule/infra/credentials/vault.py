"""The credentials of one process: fetched late, once per run and for a bounded time, and taught to the redactor first.

Concurrent calls share one fetch. A refused credential is dropped, so that a rotated secret is used from the next call
on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from ferrule.contracts.credentials import RequestCredentials
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.secrets import SecretSource, SecretUnavailable
from ferrule.infra.clouds.expiring_cache import ExpiringCache, Fresh
from ferrule.infra.credentials.broker import Secret
from ferrule.infra.credentials.shapes import why_misshapen
from ferrule.model.credentials import Credentials, SecretRef
from ferrule.model.value import JsonObject

_HEADER = re.compile(r"[\x20-\xff]+")
_NOT_MEMBERS = frozenset({"scheme"})
_PLAIN = frozenset(
    [
        "account", "auth_provider_x509_cert_url", "auth_uri", "client_email", "client_id",
        "client_x509_cert_url", "cluster_arn", "database", "dataset", "dbClusterIdentifier",
        "dbInstanceIdentifier", "dbname", "engine", "environment", "host", "masterarn", "port",
        "private_key_id", "project", "project_id", "region", "role", "schema", "ssl", "sslmode", "tenant_id",
        "token_uri", "type", "universe_domain", "user", "username", "warehouse",
    ]
)  # fmt: skip
"""Members of a secret that are not secret themselves: results may hold them."""

Learn = Callable[[str, str], None]


class Broker(Protocol):
    """Returns access tokens for `oauth2` credentials."""

    async def token(self, credentials: Credentials, secret: Secret, context: Context) -> str:
        """Returns the token. Raises ExecutionFailed."""

    def forget(self, credentials: Credentials) -> None:
        """Drops a token that was refused."""


class CachedVault:
    """Secrets by reference."""

    def __init__(
        self,
        source_of: Callable[[str], SecretSource],
        learn: Learn,
        tick: Callable[[], float],
        *,
        cache_seconds: float = 300.0,
        broker: Broker | None = None,
    ) -> None:
        """`tick` gives seconds and never goes back."""
        self._source_of = source_of
        self._learn = learn
        self._seconds = cache_seconds
        self._broker = broker
        self._kept: ExpiringCache[str] = ExpiringCache(tick)

    def missing(self, credentials: Credentials) -> tuple[str, ...]:
        """Returns the labels of secrets known to be missing, without a request."""
        refs = [each.ref for each in (credentials, *credentials.others) if each.ref is not None]
        return tuple(ref.label for ref in refs if self._source_of(ref.source).is_missing(ref))

    async def secret(self, ref: SecretRef, context: Context) -> str:
        """Returns the text of one secret, with `key` applied (AML-67)."""
        whole = await self._read_secret(ref, context)
        return whole if not ref.key else self._pick_member(whole, ref)

    async def headers(self, credentials: Credentials, context: Context) -> Mapping[str, str]:
        """Returns the headers that credentials add to a request (AML-61, 65, 66, 70)."""
        shown = await self.request_credentials(credentials, context)
        if shown.query or shown.cookies:
            raise ExecutionFailed(
                "setup_required", "an api-key can stand in a query or a cookie of rest-api tools only"
            )
        return shown.headers

    async def request_credentials(self, credentials: Credentials, context: Context) -> RequestCredentials:
        """Returns the headers, query and cookies that credentials add to a request."""
        if not credentials.others:
            return await self._resolve(credentials, context)
        headers: dict[str, str] = {}
        query: dict[str, str] = {}
        cookies: dict[str, str] = {}
        for each in (credentials, *credentials.others):
            one = await self._resolve(each, context)
            headers |= one.headers
            query |= one.query
            cookies |= one.cookies
        return RequestCredentials(headers, query, cookies)

    async def _resolve(self, credentials: Credentials, context: Context) -> RequestCredentials:
        match credentials.scheme:
            case "none" | "iam-role":
                return RequestCredentials({})
            case "api-key":
                return await self._resolve_api_key(credentials, context)
            case "bearer-token" | "service-account":
                return RequestCredentials({"Authorization": f"Bearer {await self._header_value(credentials, context)}"})
            case "oauth2":
                return RequestCredentials({"Authorization": f"Bearer {await self._token(credentials, context)}"})

    async def _resolve_api_key(self, credentials: Credentials, context: Context) -> RequestCredentials:
        name = credentials.place_name if credentials.place != "header" else credentials.header
        if not name:
            raise ExecutionFailed("setup_required", "an api-key needs a 'header' to stand in")
        value = await self._header_value(credentials, context)
        if credentials.is_basic:
            value = f"Basic {self._encode_basic(credentials, value)}"
        match credentials.place:
            case "header":
                return RequestCredentials({name: value})
            case "query":
                self._learn(
                    credentials.label, quote(value, safe="")
                )  # as it is sent, whatever that is wrapped in later
                return RequestCredentials({}, query={name: value})
            case "cookie":
                return RequestCredentials({}, cookies={name: value})

    def _encode_basic(self, credentials: Credentials, value: str) -> str:
        """Encodes `user:password` for HTTP's Basic scheme; its parts are as secret as the whole."""
        user, colon, password = value.partition(":")
        if not colon:
            raise ExecutionFailed(
                "credential_missing",
                f"the secret {credentials.label!r} must be written user:password for 'x-encode: basic'",
                code="credential_shape",
            )
        basic = base64.b64encode(value.encode()).decode()
        for secret in (basic, password or user):
            self._learn(credentials.label, secret)
        return basic

    async def members(self, credentials: Credentials, context: Context, required: Collection[str] = ()) -> JsonObject:
        """Returns the object of a `service-account` secret, or the connection members of an `iam-role` (AML-68,
        AML-69)."""
        if credentials.ref is None:
            found = {key: value for key, value in credentials.written.items() if key not in _NOT_MEMBERS}
        else:
            found = self._pick_object(await self._read_secret(credentials.ref, context), credentials.ref)
        problem = why_misshapen(found, tuple(required))
        if problem is not None:
            raise ExecutionFailed(
                "credential_missing", f"the credentials {credentials.label!r} {problem}", code="credential_shape"
            )
        if isinstance(found.get("port"), str) and "port" in required:
            found = {**found, "port": int(found["port"])}
        return found

    def forget_refused(self, credentials: Credentials, context: Context) -> None:
        """Drops the cached values of credentials that were refused."""
        if credentials.scheme == "oauth2" and self._broker is not None:
            self._broker.forget(credentials)
        # In all runs: a secret that was rotated was rotated for all of them (decision 0022).
        refused = {_drop_key(each.ref) for each in (credentials, *credentials.others) if each.ref is not None}
        if refused:
            self._kept.forget(lambda key: isinstance(key, tuple) and key[1] in refused)

    async def _token(self, credentials: Credentials, context: Context) -> str:
        if self._broker is None:
            raise ExecutionFailed("setup_required", "nothing here can ask a token broker")
        try:
            return await self._broker.token(credentials, self.secret, context)
        except ExecutionFailed as failed:
            if failed.code == "credential_refused":  # the client's secret: it may have been changed meanwhile
                self.forget_refused(credentials, context)
            raise

    async def _header_value(self, credentials: Credentials, context: Context) -> str:
        if credentials.ref is None:
            raise ExecutionFailed("setup_required", f"credentials of scheme {credentials.scheme!r} need a source")
        value = (await self.secret(credentials.ref, context)).strip()
        if not _HEADER.fullmatch(value):
            raise ExecutionFailed(
                "credential_missing",
                f"the secret {credentials.label!r} cannot stand in a header: it is empty or has line breaks",
                code="credential_shape",
            )
        return value

    async def _read_secret(self, ref: SecretRef, context: Context) -> str:
        """Returns the whole text of a secret, before `key` is applied."""
        if ref.absent:
            said = ", ".join(map(repr, ref.absent))
            raise ExecutionFailed(
                "setup_required", f"a secret of source {ref.source!r} needs {said}; add what is missing"
            )
        place = _drop_key(ref)
        # Per run: one run uses one version of a secret, also while it is rotated.
        key: Hashable = (context.run_id, place)
        try:
            return await self._kept.get(key, lambda: self._fetch(place))
        except SecretUnavailable as error:
            raise ExecutionFailed(
                "credential_missing" if error.is_final else "dependency_unavailable",
                str(error),
                code="secret_unavailable",
                retry_after=error.retry_after,
                native_error_ref=error.reference,
                is_retryable=not error.is_final,
            ) from None

    async def _fetch(self, ref: SecretRef) -> Fresh[str]:
        value = await self._source_of(ref.source).fetch(ref)
        self._learn_all(ref.label, value)
        return Fresh(value, self._seconds)

    def _learn_all(self, label: str, value: str) -> None:
        """Teaches the redactor a secret before anybody gets it; of a JSON map, each secret text in it."""
        self._learn(label, value)
        for text in _secret_texts(_parse_json(value)):
            self._learn(label, text)

    def _pick_member(self, whole: str, ref: SecretRef) -> str:
        value = self._parse_map(whole, ref).get(ref.key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and value:
            self._learn(ref.label, value)
            return value
        raise ExecutionFailed(
            "credential_missing",
            f"the secret {ref.label!r} has no member of that name that is a text",
            code="credential_shape",
        )

    def _pick_object(self, whole: str, ref: SecretRef) -> JsonObject:
        found = self._parse_map(whole, ref)
        if not ref.key:
            return found
        inner = found.get(ref.key)
        inner = _parse_json(inner) if isinstance(inner, str) else inner
        if isinstance(inner, dict):
            return inner
        raise ExecutionFailed(
            "credential_missing",
            f"the secret {ref.label!r} has no member of that name that is an object",
            code="credential_shape",
        )

    def _parse_map(self, whole: str, ref: SecretRef) -> JsonObject:
        found = _parse_json(whole)
        if isinstance(found, dict):
            return found
        raise ExecutionFailed(
            "credential_missing",
            f"the secret {ref.label!r} must be a JSON object, and is not one",
            code="credential_shape",
        )


def _drop_key(ref: SecretRef) -> SecretRef:
    """Returns the reference of the whole secret."""
    return msgspec.structs.replace(ref, key="") if ref.key else ref


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _secret_texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for name, member in value.items() if name not in _PLAIN for text in _secret_texts(member)]
    if isinstance(value, list):
        return [text for member in value for text in _secret_texts(member)]
    return [value] if isinstance(value, str) and value else []
