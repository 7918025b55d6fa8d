"""Secrets of Azure Key Vault, read as this process (AML-62, AML-63)."""

from __future__ import annotations

import pytest

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.secrets.azure import AzureSource
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.clouds.microsoft import Azure
from tests.infra.secrets.sources import VALUE, make_clouds


@in_event_loop
async def test_a_secret_of_azure_is_read_newest_or_by_version(azure: Azure) -> None:
    """AML-63."""
    azure.secrets = {"api": VALUE, "api/v7": "old"}
    env = azure.environment()
    source = AzureSource(env, make_clouds(env))
    for vault_url in (azure.url, f"{azure.url}/"):
        ref = SecretRef(source="azure_key_vault", vault_url=vault_url, secret_name="api")
        assert await source.fetch(ref) == VALUE
    old = SecretRef(source="azure_key_vault", vault_url=azure.url, secret_name="api", version="v7")
    assert await source.fetch(old) == "old"
    with pytest.raises(SecretUnavailable) as caught:
        await source.fetch(SecretRef(source="azure_key_vault", vault_url=azure.url, secret_name="nope"))
    assert caught.value.is_final and caught.value.reference == "http:404"
    assert len(azure.scopes) == 1


@pytest.mark.parametrize(
    "vault_url",
    [
        "https://evil.example",
        "https://evilvault.azure.net.example",
        "https://vault.azure.net.evil.example/",
        "https://evil.example/.vault.azure.net",
        "https://user@x.vault.azure.net",
        "http://x.vault.azure.net",
        "https://evil.example#.vault.azure.net",
        "https://notvault.azure.net",
        "no address",
        "",
    ],
)
@in_event_loop
async def test_our_token_goes_to_azures_own_addresses_only(azure: Azure, vault_url: str) -> None:
    """A definition names the vault: whoever writes one must not get a token that opens all of them."""
    env = azure.environment()
    with pytest.raises(SecretUnavailable, match="not at one of Azure's addresses"):
        await AzureSource(env, make_clouds(env)).fetch(
            SecretRef(source="azure_key_vault", vault_url=vault_url, secret_name="api")
        )
    assert not azure.far.asked
