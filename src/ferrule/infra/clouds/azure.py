"""The identity of this process at Azure: tokens for one scope. A client's secret is exchanged through our guarded
client; without one the library's own chain finds the identity (workload identity, managed identity, a developer's
login)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.expiring_cache import Fresh
from ferrule.infra.clouds.tokens import Account, TokenCloud, identify_account
from ferrule.infra.drivers import load_driver

AUTHORITY = "https://login.microsoftonline.com"
_TENANT = re.compile(r"[A-Za-z0-9.-]{1,128}")
_VARIABLES = {
    "tenant_id": "AZURE_TENANT_ID",
    "client_id": "AZURE_CLIENT_ID",
    "client_secret": "AZURE_CLIENT_SECRET",
}
_ADVICE = f"set {', '.join(_VARIABLES.values())}, or give its machine a managed identity"


class Azure(TokenCloud):
    """Azure, as this process sees it."""

    name = "Azure"
    _chain: Any = None

    async def token(self, service_account: Account | None, scope: str) -> str:
        """Returns a token for one scope (`https://vault.azure.net/.default`); of this process's own identity without an
        account."""
        account = service_account or self._own_account()
        key = (scope, self._authority(), identify_account(account, ("tenant_id", "client_id"), "client_secret"))
        if account is not None:
            return await self._kept.get(key, lambda: self._exchange_secret(account, scope))
        return await self._kept.get(key, lambda: self._own(scope))

    def _authority(self) -> str:
        said = self._env.get("AZURE_AUTHORITY_HOST") or AUTHORITY
        return (said if "://" in said else f"https://{said}").rstrip("/")

    def _own_account(self) -> Account | None:
        """Returns the client and its secret in the environment, which the library checks first, too."""
        found = {name: self._env.get(variable, "") for name, variable in _VARIABLES.items()}
        return found if all(found.values()) else None

    async def _exchange_secret(self, account: Account, scope: str) -> Fresh[str]:
        tenant, client_id = str(account["tenant_id"]), str(account["client_id"])
        if not _TENANT.fullmatch(tenant):
            raise ExecutionFailed("credential_missing", "the tenant_id is no id and no domain", code="credential_shape")
        secret = str(account["client_secret"])
        self._learn("Azure client secret", secret)
        form = {
            "grant_type": "client_credentials",
            "client_id": client_id,
            "client_secret": secret,
            "scope": scope,
        }
        url = f"{self._authority()}/{tenant}/oauth2/v2.0/token"
        return await self._exchange(url, form, "access_token", f"the secret of the client {client_id!r}")

    async def _own(self, scope: str) -> Fresh[str]:
        return await self._find(_ADVICE, self._ask_library, load_driver("azure.identity"), scope)

    def _ask_library(self, identity: Any, scope: str) -> tuple[str, float]:
        """Returns the token and its expiry. Runs in a thread."""
        if self._chain is None:
            options = {"authority": self._authority()}
            if self._env.get("AZURE_CLIENT_ID"):
                options["managed_identity_client_id"] = self._env["AZURE_CLIENT_ID"]
            self._chain = identity.DefaultAzureCredential(**options)
        found = self._chain.get_token(scope)
        return str(found.token), float(found.expires_on)

    def _reference(self, said: Mapping[str, object]) -> str:
        codes = said.get("error_codes")
        first = codes[0] if isinstance(codes, list) and codes else None
        return f"azure:AADSTS{first}" if isinstance(first, int) else ""
