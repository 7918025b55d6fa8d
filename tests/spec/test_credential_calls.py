"""AML section 6 at the far end: what each scheme shows, where its secret comes from, and what happens without it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from ferrule.testing import FakeClock
from tests.infra.clouds.amazon import KEYS, REGION, amazon
from tests.infra.clouds.far import Asked, Far, Reply, far
from tests.infra.clouds.fixtures import aws, azure, gcp
from tests.infra.clouds.google import Google
from tests.infra.clouds.microsoft import Azure
from tests.runtime.executors.database.real_databases import postgres
from tests.runtime.executors.rest.server import Seen, Wire, json_answer, serving
from tests.spec.aml_app import LOCAL, NONE, rest_transport, running_aml_app, tool_file
from tests.spec.running_app import RunningApp, run_async
from tests.spec.tool_server import running_tool_server

__all__ = ["aws", "azure", "gcp"]

CANARY = "Qz8-canary/7f3a+9c51e2=x"
FINE = json_answer({"ok": True})
BROKER = f"arn:aws:lambda:{REGION}:123456789012:function:broker"


def env(name: str = "SECRET", **said: str) -> dict[str, str]:
    """A secret of the environment; `scheme` and others in `said`."""
    return {"scheme": "bearer-token", "source": "env", "name": name, **said}


def as_aws(server: Far) -> dict[str, str]:
    return {**KEYS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": server.url, "AWS_EC2_METADATA_DISABLED": "true"}


async def shown(credentials: dict[str, Any], environment: dict[str, str]) -> dict[str, str]:
    """The headers that a REST tool with these credentials sends, without those that every request has."""
    async with (
        serving(FINE) as server,
        running_aml_app(
            tool_file("the-tool", rest_transport(server.url, credentials=credentials)), environment
        ) as running,
    ):
        result = await running.call("the-tool", {})
        assert result.status == "succeeded", result.error
        (seen,) = server.seen
    usual = {"host", "accept", "accept-encoding", "user-agent", "content-type", "content-length"}
    return {name: value for name, value in seen.headers.items() if name not in usual}


@pytest.mark.parametrize(
    ("credentials", "expected"),
    [
        (NONE, {}),
        (env(scheme="api-key", header="X-Shop-Key"), {"x-shop-key": CANARY}),
        (env(scheme="api-key", header="Authorization"), {"authorization": CANARY}),
        (env(), {"authorization": f"Bearer {CANARY}"}),
        (env(scheme="service-account"), {"authorization": f"Bearer {CANARY}"}),
    ],
)
def test_aml_66_what_each_scheme_shows(credentials: dict[str, str], expected: dict[str, str]) -> None:
    """AML-58, AML-65, AML-66, AML-70: exactly one header, or none."""

    @run_async
    async def story() -> None:
        assert await shown(credentials, {"SECRET": CANARY}) == expected

    story()


@pytest.mark.parametrize("scheme", ["api-key", "bearer-token", "service-account"])
def test_aml_70_mcp_servers_are_shown_the_same_with_every_request(scheme: str) -> None:
    """AML-66, AML-70: from the first request on, also while the connection is made."""

    @run_async
    async def story() -> None:
        async with running_tool_server(
            lambda _: {"result": {"content": []}}, revision="2025-06-18", tools=("t",)
        ) as server:
            credentials = env(scheme=scheme, **({"header": "X-Key"} if scheme == "api-key" else {}))
            transport = {"type": "mcp", "url": server.url, "tool_name": "t", "credentials": credentials}
            async with running_aml_app(tool_file("the-tool", transport), {"SECRET": CANARY}) as running:
                assert (await running.call("the-tool", {}, wait=15)).status == "succeeded"
        name, value = ("x-key", CANARY) if scheme == "api-key" else ("authorization", f"Bearer {CANARY}")
        assert {each.headers.get(name) for each in server.asked} == {value}
        assert server.list_requests("tools/call")

    story()


@run_async
async def test_aml_70_the_standards_complete_example_runs() -> None:
    """AML-64, AML-70: a service account on REST, its token in Secrets Manager; the search goes out as it is written."""
    results = {"results": [{"id": "d-1", "title": "Limits", "snippet": "At most 20."}], "total": 1}
    takes = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "top_k": {"type": "integer", "default": 5}},
        "required": ["query"],
    }
    with amazon() as aws:
        aws.client("secretsmanager").create_secret(Name="prod/agent/kb-token", SecretString="kb-token-1")
        said = {"scheme": "service-account", "source": "aws_secrets_manager", "secret_id": "prod/agent/kb-token"}
        async with serving(json_answer(results)) as server:
            transport = rest_transport(f"{server.url}/v2", "POST /search", said, timeout_ms=8000)
            async with running_aml_app(
                tool_file("search-product-kb", transport, takes=takes), aws.environment()
            ) as running:
                result = await running.call("search-product-kb", {"query": "limits"})
                assert result.structured_content == results, result.error
        (seen,) = server.seen
        assert (seen.method, seen.target, json.loads(seen.body)) == ("POST", "/v2/search", {"query": "limits"})
        assert seen.headers["authorization"] == "Bearer kb-token-1"


@run_async
async def test_aml_61_a_broker_is_invoked_as_this_process_and_its_token_is_sent() -> None:
    """AML-60, AML-61: with the scopes; the tool's own host never sees the process's signature."""

    def answer(asked: Asked) -> Reply:
        return Reply(200, {"access_token": "fresh-token-1", "expires_in": 3600})

    with far(answer) as broker:
        async with serving(FINE) as server:
            said = {"scheme": "oauth2", "provider": "aws", "function_id": BROKER, "scopes": ["crm.read", "crm.write"]}
            async with running_aml_app(
                tool_file("the-tool", rest_transport(server.url, credentials=said)), as_aws(broker)
            ) as running:
                for _ in range(2):
                    assert (await running.call("the-tool", {})).status == "succeeded"
        (asked,) = broker.asked
        assert json.loads(asked.body) == {"scopes": ["crm.read", "crm.write"]}
        assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256 ")
        assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer fresh-token-1"] * 2


@pytest.mark.parametrize(
    "given", [{}, {"access_token": ""}, {"token": "x", "expires_in": 5}, ["x"], "x", {"access_token": 5}]
)
def test_aml_61_an_answer_without_a_token_refuses_the_call(given: Any) -> None:
    """AML-61, AML-72: and nothing is sent."""

    @run_async
    async def story() -> None:
        with far(lambda asked: Reply(200, given)) as broker:
            async with serving(FINE) as server:
                said = {"scheme": "oauth2", "provider": "aws", "function_id": BROKER}
                async with running_aml_app(
                    tool_file("the-tool", rest_transport(server.url, credentials=said)), as_aws(broker)
                ) as running:
                    result = await running.call("the-tool", {})
            assert (result.error and result.error.error_class, server.seen) == ("credential_missing", [])

    story()


@pytest.mark.parametrize("key", ["", "inner"])
def test_aml_63_secrets_come_from_every_source(key: str, gcp: Google, azure: Azure, tmp_path: Any) -> None:
    """AML-59, AML-62, AML-63, AML-67: whole, or one member of a JSON map."""

    @run_async
    async def story() -> None:
        value = json.dumps({"inner": CANARY, "outer": "x"}) if key else CANARY
        with amazon() as aws:
            aws.client("secretsmanager").create_secret(Name="shop/key", SecretString=value)
            gcp.secrets["acme/shop/latest"] = value.encode()
            azure.secrets["shop"] = value
            member = {"key": key} if key else {}
            everything = {
                **aws.environment(),
                **gcp.environment(tmp_path / "account.json"),
                **azure.environment(),
                "SECRET": value,
            }
            for source in (
                {"source": "env", "name": "SECRET"},
                {"source": "aws_secrets_manager", "secret_id": "shop/key", "region": REGION},
                {"source": "gcp_secret_manager", "project": "acme", "secret": "shop"},
                {"source": "azure_key_vault", "vault_url": azure.url, "secret_name": "shop"},
            ):
                said = {"scheme": "bearer-token", **source, **member}
                assert await shown(said, everything) == {"authorization": f"Bearer {CANARY}"}, source

    story()


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ('{"a": "x"}', "b"),
        ("plain", "a"),
        ('{"a": true}', "a"),
        ('{"a": {"b": "c"}}', "a"),
        ("[1]", "0"),
        ('{"a": ""}', "a"),
        ("", ""),
    ],
)
def test_aml_67_a_secret_of_another_shape_refuses_the_call(value: str, key: str) -> None:
    """AML-67, AML-72: what is no text is not made one."""

    @run_async
    async def story() -> None:
        said = env(**({"key": key} if key else {}))
        async with (
            serving(FINE) as server,
            running_aml_app(
                tool_file("the-tool", rest_transport(server.url, credentials=said)), {"SECRET": value}
            ) as running,
        ):
            result = await running.call("the-tool", {})
            assert (result.error and result.error.error_class, server.seen) == ("credential_missing", [])

    story()


ACCOUNTS = {
    "aws": {"access_key_id": "AKIA0123456789ABCDEF", "secret_access_key": CANARY},
    "gcp": {"type": "service_account", "project_id": "p", "private_key": CANARY, "client_email": "a@p.example"},
    "azure": {"tenant_id": "t", "client_id": "c", "client_secret": CANARY},
}
FUNCTIONS = {
    "aws": BROKER,
    "gcp": "projects/p/locations/l/functions/f",
    "azure": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/app/functions/f",
}
QUEUES = {"gcp": "projects/p/topics/mail", "azure": "https://n.servicebus.windows.net/q"}


@pytest.mark.parametrize("kind", ["lambda", "message-queue"])
@pytest.mark.parametrize(("provider", "member"), [(cloud, name) for cloud, held in ACCOUNTS.items() for name in held])
def test_aml_68_a_service_account_that_lacks_a_member_is_a_credential_error(
    kind: str, provider: str, member: str
) -> None:
    """AML-68: it names the member, tells no value, and asks nobody."""

    @run_async
    async def story() -> None:
        with far(lambda asked: Reply(500)) as server:
            secret = {name: value for name, value in ACCOUNTS[provider].items() if name != member}
            account = env(scheme="service-account")
            transport: dict[str, Any] = {"type": kind, "provider": provider, "credentials": account}
            if kind == "lambda":
                transport |= {"function_id": FUNCTIONS[provider], "invocation_type": "RequestResponse"}
            else:
                transport |= {"queue_url": QUEUES.get(provider, f"{server.url}/123456789012/q")}
            places = {"AWS_ENDPOINT_URL": server.url, "AZURE_AUTHORITY_HOST": server.url, "AWS_REGION": REGION}
            async with running_aml_app(
                tool_file("the-tool", transport), {"SECRET": json.dumps(secret), **places}
            ) as running:
                result = await running.call("the-tool", {}, wait=15)
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_shape")
            assert member in result.error.message
            assert CANARY not in str(result)
            assert server.asked == []

    story()


@pytest.mark.parametrize("member", ["host", "port", "database", "username", "password"])
def test_aml_68_a_login_that_lacks_a_member_is_a_credential_error(member: str) -> None:
    """AML-68, AML-57: of a database, all of them are in the secret."""

    @run_async
    async def story() -> None:
        login = {"host": "127.0.0.1", "port": 1, "database": "d", "username": "u", "password": CANARY}
        secret = {"db": {name: value for name, value in login.items() if name != member}}
        transport = {
            "type": "database", "engine": "postgresql", "query_method": "parameterised-sql", "x-statement": "SELECT 1 AS a",
            "credentials": env(scheme="service-account", key="db"),
        }  # fmt: skip
        async with running_aml_app(tool_file("the-tool", transport), {"SECRET": json.dumps(secret)}) as running:
            result = await running.call("the-tool", {})
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("credential_missing", "credential_shape")
        assert member in result.error.message
        assert CANARY not in str(result)

    story()


async def left_behind(running: RunningApp, outcome: Any) -> str:
    """Everything that a call left: result, rows, events."""
    await running.app.store.flush()
    rows = await running.app.store.rows_of(outcome.invocation_id)
    told = await running.read_events(outcome, level="full")
    return f"{outcome!r} {[row.segment() for row in rows]!r} {told!r}"


@pytest.mark.parametrize("fails", [False, True])
def test_aml_71_a_server_that_repeats_its_secret_finds_it_nowhere(
    fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """AML-71: REST, functions, MCP servers and databases; in results and in failures."""

    @run_async
    async def story() -> None:
        async def echo(seen: Seen, wire: Wire) -> bytes:
            return json_answer({"told": dict(seen.headers)}, 500 if fails else 200)

        def repeat(message: dict[str, Any]) -> dict[str, Any]:
            text = {"type": "text", "text": f"you said {CANARY}"}
            if fails:
                return {"error": {"code": -32603, "message": f"no {CANARY}", "data": {"token": CANARY}}}
            return {"result": {"content": [text], "structuredContent": {"x": CANARY}, "_meta": {CANARY: CANARY}}}

        caplog.set_level(logging.DEBUG)
        async with (
            serving(echo) as server,
            running_aml_app(
                tool_file("the-tool", rest_transport(server.url, credentials=env())), {"SECRET": CANARY}
            ) as running,
        ):
            assert CANARY not in await left_behind(running, await running.call("the-tool", {}))
            assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"
        async with running_tool_server(repeat, revision="2025-06-18", tools=("t",)) as tools:
            transport = {"type": "mcp", "url": tools.url, "tool_name": "t", "credentials": env()}
            async with running_aml_app(tool_file("the-tool", transport), {"SECRET": CANARY}) as running:
                assert CANARY not in await left_behind(running, await running.call("the-tool", {}, wait=15))
        with far(lambda asked: Reply(500 if fails else 200, {"errorMessage": CANARY, "echo": CANARY})) as cloud:
            transport = {
                "type": "lambda", "provider": "aws", "function_id": BROKER, "invocation_type": "RequestResponse",
                "credentials": env(scheme="service-account"),
            }  # fmt: skip
            secret = json.dumps(ACCOUNTS["aws"])
            async with running_aml_app(
                tool_file("the-tool", transport), {**as_aws(cloud), "SECRET": secret}
            ) as running:
                assert CANARY not in await left_behind(running, await running.call("the-tool", {}))
            assert cloud.asked
        async with postgres() as base:
            statement = f"SELECT '{CANARY}'::integer AS a" if fails else f"SELECT '{CANARY}' AS a"
            transport = {
                "type": "database", "engine": "postgresql", "query_method": "parameterised-sql", "x-statement": statement,
                "credentials": env(scheme="service-account"),
            }  # fmt: skip
            secret = json.dumps({**base.members, "password": CANARY})
            async with running_aml_app(tool_file("the-tool", transport), {"SECRET": secret}) as running:
                assert CANARY not in await left_behind(running, await running.call("the-tool", {}))
        assert CANARY not in caplog.text

    story()


@run_async
async def test_aml_72_a_secret_that_is_not_there_refuses_the_call_and_asks_nobody() -> None:
    """AML-72, AT-14, AT-36: the message names it, and the tool is on no surface meanwhile."""
    async with (
        serving(FINE) as server,
        running_aml_app(tool_file("the-tool", rest_transport(server.url, credentials=env("SHOP_KEY")))) as running,
    ):
        result = await running.call("the-tool", {})
        assert result.error is not None
        assert result.error.error_class == "credential_missing"
        assert "SHOP_KEY" in result.error.message
        assert (server.seen, server.connections) == ([], 0)
        assert "the-tool" not in str(running.surface.tools())


@run_async
async def test_aml_72_a_secret_is_read_once_in_a_run_and_anew_in_the_next() -> None:
    """AML-72: whatever was written meanwhile; and no run keeps it for ever."""
    clock = FakeClock("2026-01-31T12:00:00Z")
    with amazon() as aws:
        store = aws.client("secretsmanager")
        store.create_secret(Name="shop", SecretString="first")
        said = {"scheme": "bearer-token", "source": "aws_secrets_manager", "secret_id": "shop"}
        async with serving(FINE) as server:
            files = tool_file("the-tool", rest_transport(server.url, credentials=said))
            async with running_aml_app(files, aws.environment(), clock=clock, settings=LOCAL) as running:
                one, other = (running.app.surface(principal="ada", run_id=run) for run in ("run-1", "run-2"))
                await one.call("the-tool", {})
                store.put_secret_value(SecretId="shop", SecretString="second")
                await one.call("the-tool", {})
                await other.call("the-tool", {})
                clock.advance(3600)
                await one.call("the-tool", {})
            sent = [seen.headers["authorization"].removeprefix("Bearer ") for seen in server.seen]
            assert sent == ["first", "first", "second", "second"]
