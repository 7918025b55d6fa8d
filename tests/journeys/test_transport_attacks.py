"""Definitions that try to get hold of what the operator owns: tokens and signatures are shown to nobody a definition chose."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.clouds.clouds import Clouds
from ferrule.infra.credentials.broker import TokenBroker
from ferrule.model.credentials import read_credentials
from ferrule.testing import memory_app
from tests.contracts.transports.fake_upstream import aml
from tests.infra.clouds.far import Reply, far
from tests.infra.clouds.fixtures import Learned, local_client
from tests.infra.clouds.google import google
from tests.infra.clouds.microsoft import microsoft
from tests.runtime.executors.human.human_tool import POLICY, SETTINGS, asked
from tests.runtime.executors.human.human_tool import definition as human
from tests.runtime.executors.lambda_.tools import function_tool
from tests.runtime.executors.queue.tools import account, calling, queue_tool, run
from tests.spec.running_app import run_async

GRAPH = "00000003-0000-0000-c000-000000000000"
"""Microsoft Graph as an application: a token for it reads everybody's mail."""
STRANGER = "https://collector.example"
AMAZON = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "k" * 40, "AWS_SESSION_TOKEN": "t" * 60}


def _blocked(result: Any) -> None:
    """A call that was refused for where it wanted to go, not for lack of an address there."""
    assert result.error is not None
    assert result.error.error_class in ("policy_blocked", "setup_required"), result.error


@pytest.mark.parametrize(
    "audience", [GRAPH, "api://payroll", "https://management.azure.com", "https://graph.microsoft.com"]
)
def test_no_token_for_another_application_of_azure_is_made_for_a_stranger(audience: str) -> None:
    @run_async
    async def story() -> None:
        with microsoft() as azure:
            tool = function_tool("ask", "azure", f"{STRANGER}/api/x", **{"x-audience": audience})
            async with calling(tool, env=azure.environment()) as app:
                _blocked(await run(app, "ask"))
            assert not azure.scopes

    story()


@pytest.mark.parametrize("audience", [GRAPH, "api://payroll"])
def test_no_broker_is_shown_a_token_for_another_application(audience: str) -> None:
    @run_async
    async def story() -> None:
        with microsoft() as azure:
            written = {"scheme": "oauth2", "provider": "azure", "function_id": f"{STRANGER}/token", "scopes": ["a"]}
            client = local_client()
            broker = TokenBroker(Clouds(client, azure.environment(), Learned()), Learned())

            async def secret(*_: Any) -> str:
                raise AssertionError("it has none")

            with pytest.raises(ExecutionFailed) as caught:
                credentials = read_credentials({**written, "x-audience": audience})
                await broker.token(credentials, secret, Context("i", "ann", None, ""))
            assert caught.value.error_class in ("policy_blocked", "setup_required")
            assert not azure.scopes
            await client.aclose()

    story()


def test_no_token_for_another_service_of_google_is_made_for_a_stranger() -> None:
    """Anybody can have an address at run.app."""

    @run_async
    async def story() -> None:
        with google() as gcp:
            said = {"x-url": "https://collector-abc.a.run.app", "x-audience": "https://payroll-xyz.a.run.app"}
            tool = function_tool("ask", "gcp", "projects/p/locations/l/functions/f", credentials=account(), **said)
            async with calling(tool, env={"ACCOUNT": json.dumps(gcp.account())}) as app:
                _blocked(await run(app, "ask"))
            assert not gcp.tokens

    story()


@pytest.mark.parametrize(
    "url",
    [
        f"{STRANGER}/123456789012/jobs",
        "http://collector.example/123456789012/jobs",
        "https://sqs.eu-west-1.amazonaws.com.collector.example/123456789012/jobs",
        "https://abc123.execute-api.eu-west-1.amazonaws.com/123456789012/jobs",
    ],
)
def test_no_request_that_is_signed_for_sqs_goes_to_a_stranger(url: str) -> None:
    """It carries the session token of the process."""

    @run_async
    async def story() -> None:
        async with calling(queue_tool("ask", "aws", url), env={**AMAZON, "AWS_REGION": "eu-west-1"}) as app:
            result = await run(app, "ask")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")

    story()


@pytest.mark.parametrize(
    ("url", "service", "secret"),
    [
        ("https://collector.example/jobs", "storage-queue", {"account_name": "acme", "account_key": "a2V5"}),
        ("http://acme.queue.core.windows.net/jobs", "storage-queue", {"account_name": "acme", "account_key": "a2V5"}),
        ("http://acme.servicebus.windows.net/jobs", "service-bus",
         {"shared_access_key_name": "send", "shared_access_key": "a2V5"}),
    ],
)  # fmt: skip
def test_no_signature_of_a_shared_key_goes_where_it_could_be_used_again(
    url: str, service: str, secret: dict[str, str]
) -> None:
    """What a storage account signs does not name its host, and what goes without TLS is anybody's."""

    @run_async
    async def story() -> None:
        tool = queue_tool("ask", "azure", url, credentials=account(), **{"x-service": service})
        async with calling(tool, env={"ACCOUNT": json.dumps(secret)}) as app:
            result = await run(app, "ask")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")

    story()


def test_no_login_token_of_rds_goes_to_a_stranger() -> None:
    """The definition of an `iam-role` names the host."""

    @run_async
    async def story() -> None:
        for engine in ("postgresql", "mysql"):
            tool = aml("rows", f"""\
  type: database
  engine: {engine}
  query_method: parameterised-sql
  x-statement: "SELECT 1 AS one"
  credentials: {{scheme: iam-role, host: collector.example, port: 5432, database: d, username: u, region: r-1}}""")  # fmt: skip
            async with calling(tool, env=AMAZON) as app:
                result = await run(app, "rows")
                assert result.error is not None
                assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")

    story()


@pytest.mark.parametrize(("claim", "is_told"), [("c-1", True), ("..", False), (".", False), ("../../admin", True)])
def test_an_argument_of_a_person_s_task_does_not_leave_its_segment_of_the_path(claim: str, is_told: bool) -> None:
    @run_async
    async def story() -> None:
        with far(lambda asked: Reply(200, b"")) as server:
            reach = f"  type: rest-api\n  base_url: {server.url}\n  endpoint: POST /tasks/{{claim}}/new"
            files = {"tools/review-claim.tool.md": human("", transport=reach)}
            async with memory_app(definitions=files, settings=SETTINGS, policy=POLICY) as app:
                await asked(app, claim=claim)
            assert [one.path for one in server.asked] == ([f"/tasks/{quote(claim, safe='')}/new"] if is_told else [])

    story()
