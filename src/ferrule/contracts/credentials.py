"""What executors ask for when they have to show who they are. Values are fetched late, kept for a bounded time, and are known
to the redactor before anybody gets them. Every method raises ExecutionFailed (`credential_missing`, `dependency_unavailable`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ferrule.contracts.executor import Context
from ferrule.model.credentials import Credentials, SecretRef


class RequestCredentials(NamedTuple):
    """What a request shows of credentials, by names. All of it is secret."""

    headers: Mapping[str, str]
    query: Mapping[str, str] = MappingProxyType({})
    cookies: Mapping[str, str] = MappingProxyType({})


class Vault(Protocol):
    """The credentials of one process."""

    def missing(self, credentials: Credentials) -> tuple[str, ...]:
        """What is known to be missing, by name, without asking anybody. Empty when it has to be asked for."""

    async def secret(self, ref: SecretRef, context: Context) -> str:
        """The text of one secret, with `key` applied (AML-67). Once per run and bounded time (AML-72)."""

    async def headers(self, credentials: Credentials, context: Context) -> Mapping[str, str]:
        """What goes into an HTTP request: nothing, the API key's header, or `Authorization` (AML-61, 65, 66, 70). Refuses
        (`setup_required`) credentials that stand elsewhere."""

    async def request_credentials(self, credentials: Credentials, context: Context) -> RequestCredentials:
        """The same for requests that may have credentials in the query and in cookies too."""

    async def members(
        self, credentials: Credentials, context: Context, required: Collection[str] = ()
    ) -> dict[str, Any]:
        """The object of a `service-account` secret, or the connection members of an `iam-role` (AML-68, AML-69)."""

    def forget_refused(self, credentials: Credentials, context: Context) -> None:
        """The other side did not accept them: whatever is kept is forgotten, so that the next call reads them anew."""


class UserTokens(Protocol):
    """Tokens that users authorized, for the tools that name who gives them."""

    async def tokens(
        self, wanted: Mapping[str, Collection[str]], principal: str, *, tenant: str = ""
    ) -> Mapping[str, str]:
        """The principal's token for each provider, with these scopes, by the provider's id. What is missing is told at once:
        `credential_missing`, code `authorization_required`."""

    def problem(self, provider_id: str, principal: str, scopes: Collection[str] = (), *, tenant: str = "") -> str:
        """Why there would be no token; empty when there would be one. Nobody is asked."""
