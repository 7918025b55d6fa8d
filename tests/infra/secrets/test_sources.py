"""Secrets from the three clouds, read as this process (AML-62, AML-63)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.secrets import SecretUnavailable
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.secrets.aws import AwsSource
from ferrule.infra.secrets.azure import AzureSource
from ferrule.infra.secrets.env import EnvironmentSource
from ferrule.infra.secrets.gcp import GcpSource, crc32c
from ferrule.model.credentials import SecretRef
from tests.infra.clouds.amazon import REGION, Amazon
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import Learned, local_client, played
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import Azure

VALUE = '{"token": "s3cr3t-ä", "n": 1}'


def clouds(env: dict[str, str], *allowed: str) -> Clouds:
    return Clouds(local_client(*allowed), env, Learned())


def of_aws(env: dict[str, str]) -> AwsSource:
    return AwsSource(env, clouds(env))


@played
async def test_a_variable_that_is_not_set_is_known_to_be_missing() -> None:
    """AML-63, AML-72."""
    source = EnvironmentSource({"A": "x", "B": ""}, clouds({}))
    refs = [SecretRef(source="env", name=name) for name in "ABC"]
    assert [source.is_missing(ref) for ref in refs] == [False, True, True]
    with pytest.raises(SecretUnavailable, match="variable C is not set"):
        await source.fetch(refs[2])


@played
async def test_a_secret_of_aws_is_read_by_name_and_by_arn_whatever_our_own_region(aws: Amazon) -> None:
    """AML-63: the region is the one written, the ARN's, or this process's own."""
    arn = aws.client("secretsmanager").create_secret(Name="shop/api", SecretString=VALUE)["ARN"]
    assert f":{REGION}:" in arn
    here, away = aws.environment(), {**aws.environment(), "AWS_REGION": "us-east-2"}
    assert await of_aws(here).fetch(SecretRef(source="aws_secrets_manager", secret_id="shop/api")) == VALUE
    assert await of_aws(away).fetch(SecretRef(source="aws_secrets_manager", secret_id=arn)) == VALUE
    written = SecretRef(source="aws_secrets_manager", secret_id="shop/api", region=REGION)
    assert await of_aws(away).fetch(written) == VALUE
    with pytest.raises(SecretUnavailable):
        await of_aws(away).fetch(SecretRef(source="aws_secrets_manager", secret_id="shop/api"))


@played
async def test_stages_of_a_secret_of_aws_are_told_apart(aws: Amazon) -> None:
    client = aws.client("secretsmanager")
    client.create_secret(Name="k", SecretString="first")
    client.put_secret_value(SecretId="k", SecretString="second")
    source = of_aws(aws.environment())
    assert await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="k")) == "second"
    before = SecretRef(source="aws_secrets_manager", secret_id="k", version_stage="AWSPREVIOUS")
    assert await source.fetch(before) == "first"


@played
async def test_a_secret_of_aws_that_was_stored_as_bytes_has_to_be_text(aws: Amazon) -> None:
    client = aws.client("secretsmanager")
    client.create_secret(Name="text", SecretBinary="grün".encode())
    client.create_secret(Name="bytes", SecretBinary=b"\xff\xfe\x00")
    source = of_aws(aws.environment())
    assert await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="text")) == "grün"
    with pytest.raises(SecretUnavailable, match="no text") as caught:
        await source.fetch(SecretRef(source="aws_secrets_manager", secret_id="bytes"))
    assert caught.value.is_final


@played
async def test_a_secret_that_aws_does_not_have_is_final(aws: Amazon) -> None:
    with pytest.raises(SecretUnavailable) as caught:
        await of_aws(aws.environment()).fetch(SecretRef(source="aws_secrets_manager", secret_id="nope"))
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
@played
async def test_whether_another_try_may_help_follows_from_what_aws_says(status: int, code: str, is_final: bool) -> None:
    with far(lambda asked: Reply(status, {"__type": code, "Message": "canary"})) as server:
        env = {
            "AWS_ACCESS_KEY_ID": "A",
            "AWS_SECRET_ACCESS_KEY": "B",
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": server.url,
        }
        with pytest.raises(SecretUnavailable) as caught:
            await of_aws(env).fetch(SecretRef(source="aws_secrets_manager", secret_id="k"))
    assert caught.value.is_final is is_final and "canary" not in str(caught.value)


@played
async def test_a_secret_of_google_is_read_and_its_checksum_checked(gcp: Google, tmp_path: Path) -> None:
    """AML-63: `latest` unless a version is written."""
    gcp.secrets = {"acme/api/latest": VALUE.encode(), "acme/api/3": b"third", "acme/bytes/latest": b"\xff"}
    env = gcp.environment(tmp_path / "key.json")
    source = GcpSource(env, clouds(env))
    assert await source.fetch(SecretRef(source="gcp_secret_manager", project="acme", secret="api")) == VALUE
    third = SecretRef(source="gcp_secret_manager", project="acme", secret="api", version="3")
    assert await source.fetch(third) == "third"
    assert sum(path == "/token" for path in gcp.far.paths()) == 1
    with pytest.raises(SecretUnavailable, match="no text"):
        await source.fetch(SecretRef(source="gcp_secret_manager", project="acme", secret="bytes"))
    gcp.checksum = "12345"
    with pytest.raises(SecretUnavailable, match="checksum") as caught:
        await source.fetch(third)
    assert not caught.value.is_final


@played
async def test_names_of_google_cannot_lead_elsewhere(gcp: Google, tmp_path: Path) -> None:
    env = gcp.environment(tmp_path / "key.json")
    odd = SecretRef(source="gcp_secret_manager", project="acme", secret="../../v2/x?y#z", version="1")
    with pytest.raises(SecretUnavailable) as caught:
        await GcpSource(env, clouds(env)).fetch(odd)
    assert gcp.far.paths()[-1] == "/v1/projects/acme/secrets/..%2F..%2Fv2%2Fx%3Fy%23z/versions/1:access"
    assert caught.value.is_final and caught.value.reference == "http:404"


@played
async def test_a_token_that_google_refuses_is_asked_for_anew_next_time(gcp: Google, tmp_path: Path) -> None:
    gcp.secrets = {"acme/api/latest": b"x"}
    env = gcp.environment(tmp_path / "key.json")
    source = GcpSource(env, clouds(env))
    ref = SecretRef(source="gcp_secret_manager", project="acme", secret="api")
    assert await source.fetch(ref) == "x"
    gcp.tokens.clear()
    with pytest.raises(SecretUnavailable) as caught:
        await source.fetch(ref)
    assert caught.value.is_final and "UNAUTHENTICATED" in str(caught.value)
    assert await source.fetch(ref) == "x"


@played
async def test_a_secret_of_azure_is_read_newest_or_by_version(azure: Azure) -> None:
    """AML-63."""
    azure.secrets = {"api": VALUE, "api/v7": "old"}
    env = azure.environment()
    source = AzureSource(env, clouds(env))
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
@played
async def test_our_token_goes_to_azures_own_addresses_only(azure: Azure, vault_url: str) -> None:
    """A definition names the vault: whoever writes one must not get a token that opens all of them."""
    env = azure.environment()
    with pytest.raises(SecretUnavailable, match="not at one of Azure's addresses"):
        await AzureSource(env, clouds(env)).fetch(
            SecretRef(source="azure_key_vault", vault_url=vault_url, secret_name="api")
        )
    assert not azure.far.asked


@played
async def test_a_store_that_is_not_there_is_a_passing_trouble_and_a_forbidden_one_is_not_the_secrets_fault(
    aws: Amazon,
) -> None:
    env = {**aws.environment(), "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    ref = SecretRef(source="aws_secrets_manager", secret_id="k")
    with pytest.raises(SecretUnavailable) as caught:
        await of_aws(env).fetch(ref)
    assert not caught.value.is_final
    with pytest.raises(ExecutionFailed) as refused:
        await AwsSource(env, clouds(env, "elsewhere.example")).fetch(ref)
    assert refused.value.code == "address_forbidden"


@played
async def test_sources_log_no_secret(aws: Amazon, caplog: pytest.LogCaptureFixture) -> None:
    """AML-71."""
    aws.client("secretsmanager").create_secret(Name="k", SecretString="canary-7f3a")
    with caplog.at_level(logging.DEBUG):
        await of_aws(aws.environment()).fetch(SecretRef(source="aws_secrets_manager", secret_id="k"))
    assert "canary-7f3a" not in caplog.text


def test_the_checksum_is_the_one_of_its_standard() -> None:
    """The vectors of RFC 3720, appendix B.4."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
