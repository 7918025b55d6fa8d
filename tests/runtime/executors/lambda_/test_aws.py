"""AWS Lambda: real handlers behind the Invoke interface, and what goes wrong with them or before them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.settings import NetworkSettings, SecretSettings, Settings
from ferrule.testing import memory_app
from tests.infra.clouds.amazon import amazon
from tests.infra.clouds.far import Reply
from tests.runtime.executors.lambda_.runtime import Lambda
from tests.runtime.executors.lambda_.tools import STRICT, aws_tool
from tests.runtime.executors.queue.tools import account, calling, direct, probed, refs, run
from tests.spec.running_app import run_async


@run_async
async def test_the_identity_in_the_env_file_counts_for_functions_too(aws: Lambda, tmp_path: Path) -> None:
    file = tmp_path / "development.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in aws.environment.items()))
    settings = Settings(network=NetworkSettings(allow=("127.0.0.1",)), secrets=SecretSettings(env_file=str(file)))
    environment = {"AWS_EC2_METADATA_DISABLED": "true"}
    async with memory_app(
        definitions={"tools/echo.tool.md": aws_tool("echo")}, settings=settings, environment=environment
    ) as app:
        result = await run(app, "echo", {"text": "x"})
        assert result.error is None, result.error
        assert len(aws.invoked) == 1


@run_async
async def test_a_function_gets_the_input_and_gives_the_output(aws: Lambda) -> None:
    async with calling(aws_tool("echo", output=STRICT), env=aws.environment) as app:
        result = await run(app, "echo", {"text": "grüezi ☃"})
        assert result.structured_content == {"text": "grüezi ☃"}
        assert aws.invoked == [
            ("echo", json.dumps({"text": "grüezi ☃"}, ensure_ascii=False, separators=(",", ":")).encode())
        ]
        (ref,) = await refs(app, result.invocation_id)
        assert (ref["source"], ref["function"], ref["executed_version"]) == ("aws_lambda", "echo", "$LATEST")
        assert ref["request_id"].startswith("request-")


@run_async
async def test_what_a_function_raises_is_its_own_failure(aws: Lambda) -> None:
    async with calling(aws_tool("fails"), env=aws.environment) as app:
        result = await run(app, "fails")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("execution_failed", "function_error")
        assert result.error.native_error_ref == "lambda:KeyError"
        assert "KeyError" in result.error.message
        assert "canary" not in result.error.message
        assert "Traceback" not in str(result)
        assert "words-canary" in str(result.to_record())  # kept as output, not as message
        (ref,) = await refs(app, result.invocation_id)
        assert ref["request_id"]


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (429, "TooManyRequestsException", ("rate_limited", "rate_limited")),
        (403, "AccessDeniedException", ("permission_denied", "upstream_denied")),
        (403, "InvalidSignatureException", ("credential_missing", "credential_refused")),
        (400, "InvalidRequestContentException", ("invalid_arguments", "invalid_arguments")),
        (502, "EC2AccessDeniedException", ("dependency_unavailable", "dependency_unavailable")),
        (500, "ServiceException", ("dependency_unavailable", "dependency_unavailable")),
        (409, "ResourceConflictException", ("execution_failed", "execution_failed")),
    ],
)
def test_what_aws_says_about_an_invocation_is_told_apart(
    aws: Lambda, status: int, code: str, expected: tuple[str, str]
) -> None:
    @run_async
    async def story() -> None:
        aws.refusals = [Reply(status, {"message": "words-canary"}, {"x-amzn-ErrorType": code, "Retry-After": "4"})]
        async with calling(aws_tool("echo"), env=aws.environment) as app:
            result = await run(app, "echo")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == expected
            assert result.error.native_error_ref == f"aws:{code}"
            assert "canary" not in result.error.message
            assert result.error.retry_after == 4.0

    story()


@run_async
async def test_a_function_that_is_not_there(aws: Lambda) -> None:
    codes = {"404": {"meaning": "No such function", "agent_action": "Tell the owner"}}
    async with calling(aws_tool("gone", error_codes=codes), env=aws.environment) as app:
        result = await run(app, "gone")
        assert result.error is not None
        assert (result.error.error_class, result.error.native_error_ref) == (
            "execution_failed",
            "aws:ResourceNotFoundException",
        )
        assert "Tell the owner" in result.error.message  # AML-36
        with pytest.raises(ExecutionFailed):
            await probed(app, "gone")


@run_async
async def test_input_over_the_limit_is_refused_before_it_is_sent(aws: Lambda) -> None:
    async with calling(
        aws_tool("echo"), aws_tool("event", function="echo", invocation_type="Event"), env=aws.environment
    ) as app:
        for name, size in (("echo", 6 * 1024**2), ("event", 256 * 1024)):
            with pytest.raises(ExecutionFailed) as caught:
                await direct(app, name, {"text": "x" * size})
            assert (caught.value.error_class, caught.value.code) == ("invalid_arguments", "payload_too_large")
        assert not aws.far.asked


@run_async
async def test_keys_of_a_service_account_and_keys_that_aws_does_not_know(aws: Lambda) -> None:
    """AML-68"""
    env = aws.environment
    keys = {"access_key_id": env["AWS_ACCESS_KEY_ID"], "secret_access_key": env["AWS_SECRET_ACCESS_KEY"]}
    where = {"AWS_ENDPOINT_URL_LAMBDA": env["AWS_ENDPOINT_URL_LAMBDA"]}
    async with calling(aws_tool("echo", credentials=account()), env={**where, "ACCOUNT": json.dumps(keys)}) as app:
        assert (await run(app, "echo")).status == "succeeded"
    wrong = {**keys, "secret_access_key": "wrong-canary-8"}
    async with calling(aws_tool("echo", credentials=account()), env={**where, "ACCOUNT": json.dumps(wrong)}) as app:
        result = await run(app, "echo")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_refused")
        assert "canary" not in str(result)


@run_async
async def test_a_probe_runs_nothing(aws: Lambda) -> None:
    async with calling(aws_tool("echo"), env=aws.environment) as app:
        assert "echo" in await probed(app, "echo")
        assert not aws.invoked


@run_async
async def test_moto_knows_the_requests_too() -> None:
    with amazon() as moto:
        async with calling(aws_tool("nowhere"), env=moto.environment()) as app:
            result = await run(app, "nowhere")
            assert result.error is not None, result.to_record()
            assert result.error.native_error_ref == "aws:ResourceNotFoundException"
            with pytest.raises(ExecutionFailed) as caught:
                await probed(app, "nowhere")
            assert caught.value.native_error_ref == "aws:ResourceNotFoundException"
