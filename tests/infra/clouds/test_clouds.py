"""The clouds of one process: nobody is asked before somebody asks, and what was learned is shared until it is forgotten."""

from __future__ import annotations

from ferrule.infra.clouds.clouds import Clouds
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client
from tests.infra.clouds.microsoft import Azure

SCOPE = "https://vault.azure.net/.default"


@in_event_loop
async def test_a_token_is_asked_for_once_by_all_and_again_after_it_was_refused(azure: Azure) -> None:
    learned = Learned()
    clouds = Clouds(local_client(), azure.environment(), learned)
    assert not azure.far.asked
    first = await clouds.azure.token(None, SCOPE)
    assert await clouds.azure.token(None, SCOPE) == first
    assert len(azure.far.asked) == 1 and first in learned
    clouds.forget()
    assert await clouds.azure.token(None, SCOPE) != first


@in_event_loop
async def test_forgetting_makes_no_cloud_that_nobody_needed() -> None:
    clouds = Clouds(local_client(), {}, Learned())
    clouds.forget()
    assert not {"aws", "gcp", "azure"} & vars(clouds).keys()
    assert clouds.gcp is clouds.gcp
