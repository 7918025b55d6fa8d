"""Who a tool is at a cloud, and to whom that may be shown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import pytest

from ferrule.contracts.credentials import Vault
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import parse_url
from ferrule.model.credentials import Credentials, Scheme
from ferrule.runtime.executors.identity import CloudIdentity, demand_trusted
from tests.driven import driven

CONTEXT = Context("inv_1", "ann", None, "")


class OneSecret:
    """A vault with one account, which remembers what was asked of it."""

    def __init__(self) -> None:
        self.required: list[Collection[str]] = []
        self.refusals = 0

    async def members(self, credentials: Credentials, context: Context, required: Collection[str]) -> dict[str, Any]:
        self.required.append(required)
        return {"client_id": "the client"}

    def forget_refused(self, credentials: Credentials, context: Context) -> None:
        self.refusals += 1


class OneCloud:
    """A cloud that counts how often it was told to forget us."""

    forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1


def identity(scheme: Scheme, vault: OneSecret | None = None) -> CloudIdentity:
    return CloudIdentity(cast(Vault, vault or OneSecret()), Credentials(scheme=scheme), "shop.refund")


@driven
async def test_credentials_are_not_shown_without_encryption() -> None:
    """OXP-44: unless the host is listed."""
    with pytest.raises(ExecutionFailed, match="must not be shown") as failed:
        demand_trusted(Guard(()), parse_url("http://tools.example.com/oxp"), "it")
    assert (failed.value.error_class, failed.value.code) == ("policy_blocked", "address_forbidden")
    demand_trusted(Guard(("tools.example.com",)), parse_url("http://tools.example.com/oxp"), "it")
    demand_trusted(Guard(()), parse_url("https://tools.example.com/oxp"), "it")


@pytest.mark.parametrize(
    ("url", "is_trusted"),
    [
        ("https://shop.windows.net/q", True),
        ("https://windows.net/q", True),
        ("https://evilwindows.net/q", False),
        ("https://windows.net.evil.example/q", False),
        ("http://shop.windows.net/q", False),
    ],
)
def test_a_token_of_a_cloud_is_shown_to_that_cloud_alone(url: str, is_trusted: bool) -> None:
    if is_trusted:
        demand_trusted(Guard(()), parse_url(url), "it", (".windows.net",))
        return
    with pytest.raises(ExecutionFailed, match=r"https at \*\.windows\.net, or name the host in \[network\] allow"):
        demand_trusted(Guard(()), parse_url(url), "it", (".windows.net",))


def test_without_suffixes_only_the_operator_lifts_it() -> None:
    target = parse_url("https://tools.example.com/x")
    demand_trusted(Guard(("tools.example.com",)), target, "it", ())
    with pytest.raises(ExecutionFailed, match=r"ourselves with; name the host in \[network\] allow"):
        demand_trusted(Guard(()), target, "it", ())


@driven
async def test_an_account_has_to_have_what_its_cloud_needs() -> None:
    vault = OneSecret()
    account = identity("service-account", vault)
    assert await account.azure_account(CONTEXT) == {"client_id": "the client"}
    await account.gcp_account(CONTEXT)
    assert "client_secret" in vault.required[0] and "private_key" in vault.required[1]


@driven
async def test_the_process_itself_needs_no_account() -> None:
    own = identity("iam-role")
    assert (await own.gcp_account(CONTEXT), await own.azure_account(CONTEXT)) == (None, None)


@pytest.mark.parametrize("scheme", ["none", "api-key", "bearer-token"])
@driven
async def test_a_cloud_does_not_take_other_credentials(scheme: Scheme) -> None:
    for asked in (identity(scheme).gcp_account, identity(scheme).azure_account):
        with pytest.raises(ExecutionFailed, match=f"scheme '{scheme}', which 'shop.refund' has") as failed:
            await asked(CONTEXT)
        assert (failed.value.error_class, failed.value.code) == ("setup_required", "scheme_unfit")


def test_only_credentials_that_were_refused_are_forgotten() -> None:
    vault, cloud = OneSecret(), OneCloud()
    account = identity("service-account", vault)
    other = ExecutionFailed("rate_limited", "later")
    assert account.forget_if_refused(other, CONTEXT, cloud) is other
    assert (vault.refusals, cloud.forgotten) == (0, 0)
    account.forget_if_refused(ExecutionFailed("credential_missing", "no", code="credential_refused"), CONTEXT, cloud)
    assert (vault.refusals, cloud.forgotten) == (1, 1)
