"""Secrets of AWS Secrets Manager, read as this process (AML-62, AML-63)."""

from __future__ import annotations

import logging

import pytest

from ferrule.contracts.secrets import SecretUnavailable
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.amazon import REGION, Amazon
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import in_event_loop
from tests.infra.secrets.sources import VALUE, make_aws_source


@in_event_loop
async def test_a_secret_of_aws_is_read_by_name_and_by_arn_whatever_our_own_region(aws: Amazon) -> None:
    """AML-63: the region is the one written, the ARN's, or this process's own."""
    arn = aws.client("secretsmanager").create_secret(Name="shop/api", SecretString=VALUE)["ARN"]
    assert f":{REGION}:" in arn
    here, away = aws.environment(), {**aws.environment(), "AWS_REGION": "us-east-2"}
    assert await make_aws_source(here).fetch(SecretRef(source="aws_secrets_manager", secret_id="shop/api")) == VALUE
    assert await make_aws_source(away).fetch(SecretRef(source="aws_secrets_manager", secret_id=arn)) == VALUE
    written = SecretRef(source="aws_secrets_manager", secret_id="shop/api", region=REGION)
    assert await make_aws_source(away).fetch(written) == VALUE
    with pytest.raises(SecretUnavailable):
        await make_aws_source(away).fetch(SecretRef(source="aws_secrets_manager", secret_id="shop/api"))


@in_event_loop
async def test_stages_of_a_secret_of_aws_are_told_apart(aws: Amazon) -> None:
    client = aws.client("secretsmanager")
    client.create_secret(Name="k", SecretString="first")
    client.put_secret_value(SecretId="k", SecretString="second")
    source = make_aws_source(aws.environment())
    assert await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="k")) == "second"
    before = SecretRef(source="aws_secrets_manager", secret_id="k", version_stage="AWSPREVIOUS")
    assert await source.fetch(before) == "first"


@in_event_loop
async def test_a_secret_of_aws_that_was_stored_as_bytes_has_to_be_text(aws: Amazon) -> None:
    client = aws.client("secretsmanager")
    client.create_secret(Name="text", SecretBinary="grün".encode())
    client.create_secret(Name="bytes", SecretBinary=b"\xff\xfe\x00")
    source = make_aws_source(aws.environment())
    assert await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="text")) == "grün"
    with pytest.raises(SecretUnavailable, match="no text") as caught:
        await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="bytes"))
    assert caught.value.is_final


@in_event_loop
async def test_a_secret_that_aws_does_not_have_is_final(aws: Amazon) -> None:
    with pytest.raises(SecretUnavailable) as caught:
        await make_aws_source(aws.environment()).fetch(SecretRef(source="aws_secrets_manager", secret_id="nope"))
    assert caught.value.is_final and caught.value.reference == "aws:ResourceNotFoundException"


@pytest.mark.parametrize(
    ("status", "code", "is_final"),
    [
        (400, "ThrottlingException", False),
        (500, "InternalServiceError", False),
        (503, "", False),
        (400, "DecryptionFailure", True),
        (400, "AccessDeniedException", True),
        (400, "UnrecognizedClientException", True),
        (400, "InvalidRequestException", True),
    ],
)
@in_event_loop
async def test_whether_another_try_may_help_follows_from_what_aws_says(status: int, code: str, is_final: bool) -> None:
    with far(lambda asked: Reply(status, {"__type": code, "Message": "canary"})) as server:
        env = {
            "AWS_ACCESS_KEY_ID": "A",
            "AWS_SECRET_ACCESS_KEY": "B",
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": server.url,
        }
        with pytest.raises(SecretUnavailable) as caught:
            await make_aws_source(env).fetch(SecretRef(source="aws_secrets_manager", secret_id="k"))
    assert caught.value.is_final is is_final and "canary" not in str(caught.value)


@in_event_loop
async def test_sources_log_no_secret(aws: Amazon, caplog: pytest.LogCaptureFixture) -> None:
    """AML-71."""
    aws.client("secretsmanager").create_secret(Name="k", SecretString="canary-7f3a")
    with caplog.at_level(logging.DEBUG):
        await make_aws_source(aws.environment()).fetch(SecretRef(source="aws_secrets_manager", secret_id="k"))
    assert "canary-7f3a" not in caplog.text
