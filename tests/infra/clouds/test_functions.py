"""Functions of Google and Azure by their names: where they are, and which names ask nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.clouds.functions import AzureFunction, find_azure_function, find_google_function
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import FUNCTION, Azure


async def google_url(gcp: Google, tmp_path: Path, name: str) -> str:
    env = gcp.environment(tmp_path / "key.json")
    clouds = Clouds(local_client(), env, Learned())
    return await find_google_function(clouds.gcp, clouds.client, env, name)


@pytest.mark.parametrize("place", ["/locations/europe-west1", ""])
@in_event_loop
async def test_a_function_of_google_is_found_with_its_location_and_without(
    gcp: Google, tmp_path: Path, place: str
) -> None:
    assert await google_url(gcp, tmp_path, f"projects/acme{place}/functions/broker") == f"{gcp.url}/fn"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("projects/acme/functions/missing", "in no location"),
        ("projects/acme/functions/other", "no address"),
        ("projects/acme/locations/x/functions/other", "cannot be found out about"),
    ],
)
@in_event_loop
async def test_a_function_of_google_that_cannot_be_called_is_told(
    gcp: Google, tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(ExecutionFailed, match=said):
        await google_url(gcp, tmp_path, name)


@in_event_loop
async def test_a_function_of_azure_is_found_with_its_key_which_is_not_printed(azure: Azure) -> None:
    env, learned = azure.environment(), Learned()
    clouds = Clouds(local_client(), env, learned)
    found = await find_azure_function(clouds.azure, clouds.client, env, FUNCTION, learn=learned)
    assert found == AzureFunction(f"{azure.url}/api/broker", "the-function-key")
    assert "the-function-key" not in repr(found) and "the-function-key" in learned


@pytest.mark.parametrize(
    "resource", ["", "broker", f"{FUNCTION}/..", "/subscriptions/../sites/a/functions/f", f"{FUNCTION}?x"]
)
@in_event_loop
async def test_a_name_that_is_no_function_of_azure_asks_nobody(azure: Azure, resource: str) -> None:
    env = azure.environment()
    clouds = Clouds(local_client(), env, Learned())
    with pytest.raises(ExecutionFailed, match="no function of Azure") as caught:
        await find_azure_function(clouds.azure, clouds.client, env, resource)
    assert caught.value.error_class == "setup_required" and not azure.far.asked
