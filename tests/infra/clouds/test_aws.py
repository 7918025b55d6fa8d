"""Who we are at AWS, and requests that AWS believes: against moto, with signatures checked."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra import drivers
from ferrule.infra.clouds.aws import Aws, AwsKeys, make_aws_failure
from tests.infra.clouds.amazon import KEYS, REGION, Amazon
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import Learned, in_event_loop, local_client

WHO = {
    "headers": [("Content-Type", "application/x-www-form-urlencoded")],
    "body": b"Action=GetCallerIdentity&Version=2011-06-15",
}


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine that runs the tests has no identity of its own."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


@in_event_loop
async def test_a_signed_request_is_believed_and_the_redactor_knows_the_keys_first(aws: Amazon) -> None:
    learned = Learned()
    fetched = await Aws(local_client(), aws.environment(), learned).request("sts", **WHO)  # type: ignore[arg-type]
    assert fetched.status == 200 and b"<Account>123456789012</Account>" in fetched.body
    assert set(KEYS.values()) <= learned.keys()


@in_event_loop
async def test_the_signature_is_checked_by_the_other_side(aws: Amazon) -> None:
    """AML-68: the right key passes; another secret is refused; a right that is missing is told apart from both."""
    iam = aws.client("iam")
    iam.create_user(UserName="tool")
    made = iam.create_access_key(UserName="tool")["AccessKey"]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="tool", PolicyName="p", PolicyDocument=json.dumps(policy))
    here = Aws(local_client(), aws.environment(), Learned())
    keys = here.read_keys({"access_key_id": made["AccessKeyId"], "secret_access_key": made["SecretAccessKey"]})
    wrong = AwsKeys(keys.access_key_id, "another" + keys.secret_access_key[7:], None, REGION)
    asked: dict[str, Any] = {
        "headers": [("Content-Type", "application/x-www-form-urlencoded"), ("X-Extra", "a  b")],
        "query": [("odd name", "ä/&=+ ~")],
        "body": b"Action=ListQueues&Version=2012-11-05",
    }
    aws.tell("reset-auth", b"0")
    try:
        good = await here.request("sqs", keys=keys, **asked)
        bad = await here.request("sqs", keys=wrong, **asked)
        denied = await here.request("iam", keys=keys, **{**asked, "body": b"Action=ListUsers&Version=2010-05-08"})
    finally:
        aws.tell("reset-auth", b"1000000000")
    assert good.status == 200, good.body
    refusal, denial = make_aws_failure("the queue", bad), make_aws_failure("the users", denied)
    assert (refusal.error_class, refusal.code) == ("credential_missing", "credential_refused")
    assert refusal.native_error_ref == "aws:SignatureDoesNotMatch"
    assert (denial.error_class, denial.code) == ("permission_denied", "upstream_denied")


@in_event_loop
async def test_keys_come_from_a_profile_and_a_changed_profile_counts_after_a_refusal(tmp_path: Path) -> None:
    """AML-66: `iam-role` is whatever the library's own chain finds."""
    file = tmp_path / "credentials"
    file.write_text("[shop]\naws_access_key_id = AKIAONE\naws_secret_access_key = first-secret-of-the-profile\n")
    config = tmp_path / "config"
    config.write_text("[profile shop]\nregion = eu-north-1\n")
    env = {"AWS_PROFILE": "shop", "AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_CONFIG_FILE": str(config)}
    learned = Learned()
    here = Aws(local_client(), env, learned)
    assert await here.keys() == AwsKeys("AKIAONE", "first-secret-of-the-profile", None, "eu-north-1")
    file.write_text(file.read_text().replace("first", "other"))
    here.forget()
    assert (await here.keys()).secret_access_key == "other-secret-of-the-profile"
    assert {"first-secret-of-the-profile", "other-secret-of-the-profile"} <= learned.keys()


@in_event_loop
async def test_a_changed_variable_counts_at_once() -> None:
    env = dict(KEYS)
    here = Aws(local_client(), env, Learned())
    assert (await here.keys()).access_key_id == KEYS["AWS_ACCESS_KEY_ID"]
    env |= {"AWS_ACCESS_KEY_ID": "AKIATWO", "AWS_SECRET_ACCESS_KEY": "two", "AWS_SESSION_TOKEN": "session"}
    assert await here.keys() == AwsKeys("AKIATWO", "two", "session", None)


@in_event_loop
async def test_a_web_identity_becomes_keys_that_are_renewed(
    aws: Amazon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)  # the library asks STS by itself
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    token = tmp_path / "token"
    token.write_text("a.web.identity")
    env = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/tools"}
    learned = Learned()
    keys = await Aws(local_client(), env, learned).keys()
    assert keys.access_key_id.startswith("ASIA") and keys.session_token
    assert {keys.access_key_id, keys.secret_access_key, keys.session_token} <= learned.keys()


@in_event_loop
async def test_a_container_gives_its_role() -> None:
    def answer(asked: Any) -> Reply:
        assert asked.headers["authorization"] == "a-token-of-the-container"
        said = {
            "AccessKeyId": "ASIACONTAINER",
            "SecretAccessKey": "s",
            "Token": "t",
            "Expiration": "2999-01-01T00:00:00Z",
        }
        return Reply(200, said)

    with far(answer) as server:
        env = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/creds",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a-token-of-the-container",
        }
        here = Aws(local_client(), env, Learned())
        assert [(await here.keys()).access_key_id for _ in range(5)] == ["ASIACONTAINER"] * 5
        assert len(server.asked) == 1


@in_event_loop
async def test_no_identity_is_told_with_what_to_do() -> None:
    with pytest.raises(ExecutionFailed, match="AWS_ACCESS_KEY_ID") as caught:
        await Aws(local_client(), {"AWS_EC2_METADATA_DISABLED": "true"}, Learned()).request("sts", region=REGION)
    assert (caught.value.error_class, caught.value.code) == ("credential_missing", "identity_missing")


@in_event_loop
async def test_an_identity_that_fails_tells_its_kind_and_not_its_words(tmp_path: Path) -> None:
    env = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "canary-token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"}
    with pytest.raises(ExecutionFailed) as caught:
        await Aws(local_client(), {**env, "AWS_DEFAULT_REGION": REGION}, Learned()).keys()
    assert caught.value.code == "identity_unavailable"
    assert "canary" not in str(caught.value) and caught.value.__cause__ is None


@in_event_loop
async def test_without_a_region_nothing_is_sent(aws: Amazon) -> None:
    with pytest.raises(ExecutionFailed, match="AWS_REGION") as caught:
        await Aws(local_client(), {**KEYS, "AWS_ENDPOINT_URL": aws.url}, Learned()).request("sts")
    assert caught.value.error_class == "setup_required"


@pytest.mark.parametrize(
    ("env", "service", "region", "expected"),
    [
        ({}, "lambda", "eu-west-1", "https://lambda.eu-west-1.amazonaws.com"),
        ({}, "sqs", "cn-north-1", "https://sqs.cn-north-1.amazonaws.com.cn"),
        ({}, "sqs", "us-gov-west-1", "https://sqs.us-gov-west-1.amazonaws.com"),
        ({"AWS_ENDPOINT_URL": "http://a"}, "sqs", "eu-west-1", "http://a"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://b"}, "secretsmanager", "x", "http://b"),
        ({"AWS_ENDPOINT_URL_RDS_DATA": "http://c"}, "rds-data", "eu-west-1", "http://c"),
        (
            {"AWS_ENDPOINT_URL": "http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
            "sqs", "eu-west-1", "https://sqs.eu-west-1.amazonaws.com",
        ),
        ({"AWS_USE_FIPS_ENDPOINT": "true"}, "sqs", "us-east-1", "https://sqs-fips.us-east-1.amazonaws.com"),
    ],
)  # fmt: skip
def test_where_services_are(env: dict[str, str], service: str, region: str, expected: str) -> None:
    assert Aws(local_client(), env, Learned()).endpoint(service, region) == expected


def test_a_login_token_of_a_database_is_what_amazons_own_client_makes(
    aws: Amazon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AML-69."""
    import botocore.auth  # noqa: PLC0415
    from botocore.compat import get_current_datetime  # noqa: PLC0415

    at = get_current_datetime()
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_: at)
    learned = Learned()
    keys = AwsKeys(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"])
    token = Aws(local_client(), {}, learned).rds_auth_token(keys, "db.example", 5432, "app user", REGION)
    theirs = aws.client("rds").generate_db_auth_token("db.example", 5432, "app user", REGION)
    assert parse_qs(urlsplit(f"//{token}").query) == parse_qs(urlsplit(f"//{theirs}").query)
    assert token.startswith("db.example:5432/?Action=connect") and token in learned


def test_keys_are_not_in_what_is_printed_of_them() -> None:
    """AML-71."""
    keys = AwsKeys("AKIA-canary", "secret-canary", "token-canary", REGION)
    assert "canary" not in repr(keys) + str(keys) + f"{[keys]}"


@in_event_loop
async def test_a_missing_library_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(drivers, "import_module", gone)
    with pytest.raises(ExecutionFailed, match=r"pip install 'ferrule\[aws\]'") as caught:
        await Aws(local_client(), dict(KEYS), Learned()).keys()
    assert (caught.value.error_class, caught.value.code) == ("setup_required", "driver_missing")


@in_event_loop
async def test_the_librarys_own_log_tells_no_key(aws: Amazon, caplog: pytest.LogCaptureFixture) -> None:
    """AML-71."""
    with caplog.at_level(logging.DEBUG):
        await Aws(local_client(), aws.environment(), Learned()).request("sts", **WHO)  # type: ignore[arg-type]
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in caplog.text
