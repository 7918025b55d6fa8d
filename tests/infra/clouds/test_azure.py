"""Tokens of Azure, from a login that checks the client's secret."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra import drivers
from ferrule.infra.clouds.azure import Azure
from tests.infra.clouds.far import Reply
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client
from tests.infra.clouds.microsoft import SECRET
from tests.infra.clouds.microsoft import Azure as Far

SCOPE = "https://vault.azure.net/.default"


@in_event_loop
async def test_an_application_gets_a_token_once_for_each_scope(azure: Far) -> None:
    """AML-68."""
    learned = Learned()
    here = Azure(local_client(), {"AZURE_AUTHORITY_HOST": azure.url}, learned)
    tokens = await asyncio.gather(*(here.token(azure.account(), SCOPE) for _ in range(20)))
    assert len(set(tokens)) == 1 and len(azure.far.asked) == 1
    assert {tokens[0], SECRET} <= learned.keys()
    assert azure.scopes[await here.token(azure.account(), "https://other/.default")] == "https://other/.default"


@in_event_loop
async def test_the_process_runs_as_the_application_in_its_environment(azure: Far) -> None:
    here = Azure(local_client(), azure.environment(), Learned())
    first = await here.token(None, SCOPE)
    assert first == await here.token(None, SCOPE)
    here.forget()
    assert first != await here.token(None, SCOPE)


@in_event_loop
async def test_a_rotated_secret_asks_again(azure: Far) -> None:
    here = Azure(local_client(), {"AZURE_AUTHORITY_HOST": azure.url}, Learned())
    first = await here.token(azure.account(), SCOPE)
    azure.secret = "rotated"
    assert await here.token({**azure.account(), "client_secret": "rotated"}, SCOPE) != first


@in_event_loop
async def test_a_secret_that_is_not_accepted_is_a_refused_credential(azure: Far) -> None:
    azure.secret = "another"
    with pytest.raises(ExecutionFailed) as caught:
        await Azure(local_client(), azure.environment(), Learned()).token(None, SCOPE)
    failed = caught.value
    assert (failed.error_class, failed.code) == ("credential_missing", "credential_refused")
    assert failed.native_error_ref == "azure:AADSTS7000215" and SECRET not in str(failed)


@in_event_loop
async def test_a_login_that_is_down_is_a_passing_trouble(azure: Far) -> None:
    azure.far.answer = lambda asked: Reply(503, {})
    with pytest.raises(ExecutionFailed) as caught:
        await Azure(local_client(), azure.environment(), Learned()).token(None, SCOPE)
    assert caught.value.error_class == "dependency_unavailable"


@pytest.mark.parametrize("tenant", ["../evil", "a/b", "", "a?b", "x" * 200])
@in_event_loop
async def test_a_tenant_that_would_change_the_address_is_refused(azure: Far, tenant: str) -> None:
    here = Azure(local_client(), {"AZURE_AUTHORITY_HOST": azure.url}, Learned())
    with pytest.raises(ExecutionFailed) as caught:
        await here.token({**azure.account(), "tenant_id": tenant}, SCOPE)
    assert caught.value.code == "credential_shape" and not azure.far.asked


@in_event_loop
async def test_the_librarys_chain_is_asked_in_a_thread_and_its_words_stay_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Chain:
        asked = 0

        def __init__(self, **options: Any) -> None:
            assert options == {"authority": "https://login.microsoftonline.com"}

        def get_token(self, scope: str) -> Any:
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
            Chain.asked += 1
            if Chain.asked == 1:
                raise ValueError("canary")
            return type("Token", (), {"token": "eyJ.of-the-machine", "expires_on": 5_000})()

    real = import_module
    given = type("identity", (), {"DefaultAzureCredential": Chain})
    monkeypatch.setattr(drivers, "import_module", lambda name: given if name == "azure.identity" else real(name))
    learned = Learned()
    here = Azure(local_client(), {}, learned, now=lambda: 1_000.0)
    with pytest.raises(ExecutionFailed) as caught:
        await here.token(None, SCOPE)
    assert caught.value.code == "identity_missing" and "canary" not in str(caught.value)
    assert [await here.token(None, SCOPE) for _ in range(3)] == ["eyJ.of-the-machine"] * 3
    assert Chain.asked == 2 and "eyJ.of-the-machine" in learned
