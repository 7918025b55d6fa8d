"""A store that refuses, fails or is not there: whether another try may help, and whose fault it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.secrets.aws import AwsSource
from ferrule.infra.secrets.gcp import GcpSource
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.amazon import Amazon
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.clouds.google import Google
from tests.infra.secrets.sources import make_aws_source, make_clouds


@in_event_loop
async def test_a_token_that_google_refuses_is_asked_for_anew_next_time(gcp: Google, tmp_path: Path) -> None:
    gcp.secrets = {"acme/api/latest": b"x"}
    env = gcp.environment(tmp_path / "key.json")
    source = GcpSource(env, make_clouds(env))
    ref = SecretRef(source="gcp_secret_manager", project="acme", secret="api")
    assert await source.fetch(ref) == "x"
    gcp.tokens.clear()
    with pytest.raises(SecretUnavailable) as caught:
        await source.fetch(ref)
    assert caught.value.is_final and "UNAUTHENTICATED" in str(caught.value)
    assert await source.fetch(ref) == "x"


@in_event_loop
async def test_a_store_that_is_not_there_is_a_passing_trouble_and_a_forbidden_one_is_not_the_secrets_fault(
    aws: Amazon,
) -> None:
    env = {**aws.environment(), "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    ref = SecretRef(source="aws_secrets_manager", secret_id="k")
    with pytest.raises(SecretUnavailable) as caught:
        await make_aws_source(env).fetch(ref)
    assert not caught.value.is_final
    with pytest.raises(ExecutionFailed) as refused:
        await AwsSource(env, make_clouds(env, "elsewhere.example")).fetch(ref)
    assert refused.value.code == "address_forbidden"
