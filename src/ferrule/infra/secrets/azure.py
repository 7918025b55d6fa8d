"""Secrets of Azure Key Vault, read with the identity of this process.

A definition names the vault's address, and the token sent there opens every vault that this process may read. So it is
sent to Azure's own domains only, or to a host that the operator named in `[network] allow`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.network.urls import BadUrl, Target, parse_url
from ferrule.infra.secrets.store_request import ask_store
from ferrule.model.credentials import SecretRef

_API = "7.4"
_DOMAINS = ("vault.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net", "vault.microsoftazure.de")


class AzureSource:
    """Secrets of Key Vault; the newest version unless one is given."""

    def __init__(self, env: Mapping[str, str], clouds: Clouds) -> None:
        self._clouds = clouds

    def is_missing(self, ref: SecretRef) -> bool:
        """Returns False: only a request could tell."""
        return False

    async def fetch(self, ref: SecretRef) -> str:
        """Returns the secret's text."""
        domain = self._domain(ref)
        version = f"/{quote(ref.version, safe='')}" if ref.version else ""
        url = f"{ref.vault_url.rstrip('/')}/secrets/{quote(ref.secret_name, safe='')}{version}?api-version={_API}"
        azure = self._clouds.azure
        token = azure.token(None, f"https://{domain}/.default")
        value = (await ask_store(self._clouds.client, azure, "Key Vault", url, token, ref.label)).get("value")
        if not isinstance(value, str) or not value:
            raise SecretUnavailable(f"the secret {ref.label!r} is empty")
        return value

    def _domain(self, ref: SecretRef) -> str:
        """Returns the domain of the vaults that the token is for. Raises SecretUnavailable for an address that must not
        get one."""
        try:
            target: Target | None = parse_url(ref.vault_url)
        except BadUrl:
            target = None
        if target is not None:
            found = next((domain for domain in _DOMAINS if target.host.endswith(f".{domain}")), None)
            if found is not None and target.is_secure:
                return found
            # A host that the operator listed may get the token, as far from Azure as it is.
            if self._clouds.client.guard.lists(target):
                return found or _DOMAINS[0]
        raise SecretUnavailable(
            f"the vault of {ref.secret_name!r} is not at one of Azure's addresses (https://NAME.{_DOMAINS[0]}); name its"
            " host in [network] allow if it is yours"
        )
