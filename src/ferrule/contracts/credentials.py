"""Credentials for executors: the contract of the vault and of the store of user tokens.

Executors ask here when they have to authenticate. Values are fetched late, cached for a bounded time, and known to the
redactor before an executor gets them. Every method raises ExecutionFailed (`credential_missing`,
`dependency_unavailable`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ferrule.contracts.executor import Context
from ferrule.model.credentials import Credentials, SecretRef
from ferrule.model.value import JsonObject


class RequestCredentials(NamedTuple):
    """The headers, query parameters and cookies that authenticate one request, by name. All of it is secret."""

    headers: Mapping[str, str]
    query: Mapping[str, str] = MappingProxyType({})
    cookies: Mapping[str, str] = MappingProxyType({})


class Vault(Protocol):
    """The credentials of one process."""

    def missing(self, credentials: Credentials) -> tuple[str, ...]:
        """Returns the names of credentials known to be missing, without contacting any source; empty when only a fetch
        can tell."""

    async def secret(self, ref: SecretRef, context: Context) -> str:
        """Returns the text of one secret, with `key` applied (AML-67). Fetched once per run and bounded time (AML-72)."""

    async def headers(self, credentials: Credentials, context: Context) -> Mapping[str, str]:
        """Returns the headers to add to an HTTP request: none, the API key's, or `Authorization` (AML-61, 65, 66, 70).
        Raises ExecutionFailed (`setup_required`) for credentials that belong elsewhere."""

    async def request_credentials(self, credentials: Credentials, context: Context) -> RequestCredentials:
        """Returns the same for requests that may also carry credentials in the query and in cookies."""

    async def members(self, credentials: Credentials, context: Context, required: Collection[str] = ()) -> JsonObject:
        """Returns the object of a `service-account` secret, or the connection members of an `iam-role` (AML-68,
        AML-69)."""

    def forget_refused(self, credentials: Credentials, context: Context) -> None:
        """Forgets the cached values after the other side refused them, so that the next call reads them again."""


class UserTokens(Protocol):
    """Tokens that users authorized, for the tools that name their provider."""

    async def tokens(
        self, wanted: Mapping[str, Collection[str]], principal: str, *, tenant: str = ""
    ) -> Mapping[str, str]:
        """Returns the principal's token for each provider, with these scopes, by the provider's id. Raises
        ExecutionFailed at once when one is missing: `credential_missing`, code `authorization_required`."""

    def problem(self, provider_id: str, principal: str, scopes: Collection[str] = (), *, tenant: str = "") -> str:
        """Returns why there would be no token; empty when there would be one. Contacts no provider."""
