"""Where calls may go (AML-105, and the rules for hosts that every transport keeps), and what tools of OXP are given."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context
from ferrule.model.credentials import SecretRef
from ferrule.settings import NetworkSettings, SecretSettings, Settings
from tests.infra.clouds.amazon import KEYS, REGION
from tests.runtime.executors.rest.server import answer, json_answer, serving
from tests.spec.aml_app import ALLOWED, NONE, rest_transport, running_aml_app, tool_file
from tests.spec.running_app import run_async

OWN = {"scheme": "iam-role"}
HOST = "far.shop.example"
LOGIN = {"host": HOST, "port": 5432, "database": "d", "username": "u", "password": "p"}
ENV = {**KEYS, "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true", "DB": json.dumps(LOGIN)}
TRANSPORTS: dict[str, dict[str, Any]] = {
    "rest-api": rest_transport(f"https://{HOST}"),
    "mcp": {"type": "mcp", "url": f"https://{HOST}/mcp", "tool_name": "t", "credentials": NONE},
    "lambda": {
        "type": "lambda", "provider": "aws", "function_id": f"arn:aws:lambda:{REGION}:123456789012:function:f",
        "invocation_type": "RequestResponse", "credentials": OWN,
    },
    "function by address": {
        "type": "lambda", "provider": "azure", "function_id": f"https://{HOST}/api/f", "invocation_type": "Event",
        "credentials": NONE,
    },
    "message-queue": {
        "type": "message-queue", "provider": "aws", "queue_url": f"https://sqs.{REGION}.amazonaws.com/123456789012/q",
        "credentials": OWN,
    },
    "postgresql": {
        "type": "database", "engine": "postgresql", "query_method": "parameterised-sql", "x-statement": "SELECT 1 AS a",
        "credentials": {"scheme": "service-account", "source": "env", "name": "DB"},
    },
    "mysql": {
        "type": "database", "engine": "mysql", "query_method": "parameterised-sql", "x-statement": "SELECT 1 AS a",
        "credentials": {"scheme": "service-account", "source": "env", "name": "DB"},
    },
}  # fmt: skip


def agent(policies: str = "") -> dict[str, str]:
    """An agent with one tool, and its role."""
    head = 'spec_version: "1.2"\nversion: "1.0.0"\nstatus: active\nmeta: {name: Desk, description: Answers., owner: shop}\n'
    body = "# Purpose\nAnswers.\n# System behavior\nBrief.\n# Rules\nNone.\n"
    tools = "tools: {refs: [{ref: the-tool}]}\n"
    return {
        "agents/desk.agent.md": f"---\n{head}agent_id: desk\nrole: clerk\n{tools}{policies}---\n{body}",
        "iam/clerk.iam.md": f"---\n{head}iam_id: clerk\ntools: [{{ref: the-tool}}]\n---\n",
    }


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were looked up; none of them is found."""
    names: list[str] = []
    real = socket.getaddrinfo

    def nobody(host: Any, *rest: Any, **options: Any) -> Any:
        if str(host).replace(".", "").isdecimal():
            return real(host, *rest, **options)
        names.append(str(host))
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    return names


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("policies", ["", "policies: {allow_external_http: false}\n"])
def test_aml_105_an_agent_reaches_no_host_that_is_not_listed(
    transport: str, policies: str, looked_up: list[str]
) -> None:
    """AML-105: whatever the transport; before the name is looked up, so before anything is sent."""

    @run_async
    async def story() -> None:
        files = tool_file("the-tool", TRANSPORTS[transport], kind="action")
        async with running_aml_app({**files, **agent(policies)}, ENV, caller={"agent": "desk"}) as running:
            result = await running.call("the-tool", {}, wait=15)
            assert result.error is not None, result
            assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
            assert "allow_external_http" in result.error.message

    story()
    assert looked_up == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_aml_105_an_agent_that_may_is_not_kept_from_it(transport: str, looked_up: list[str]) -> None:
    """AML-105: the host of the definition is then tried; here it has no address."""

    @run_async
    async def story() -> None:
        files = tool_file("the-tool", TRANSPORTS[transport], kind="action")
        allowed = agent("policies: {allow_external_http: true}\n")
        async with running_aml_app({**files, **allowed}, ENV, caller={"agent": "desk"}) as running:
            result = await running.call("the-tool", {}, wait=15)
            assert result.error is not None, result
            assert result.error.error_class == "dependency_unavailable", result.error

    story()
    assert looked_up


@pytest.mark.parametrize("transport", ["rest-api", "mcp"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "169.254.169.254", "10.0.0.7", "2130706433"]
)
def test_private_addresses_have_to_be_listed(transport: str, host: str) -> None:
    """AML-105 and what stands beside it: a definition alone does not lead into this machine or its network."""

    @run_async
    async def story() -> None:
        url = f"http://{host}:9/x"
        said = rest_transport(url) if transport == "rest-api" else {**TRANSPORTS["mcp"], "url": url}
        nothing = Settings(network=NetworkSettings(allow=()))
        async with running_aml_app(tool_file("the-tool", said), ENV, settings=nothing) as running:
            result = await running.call("the-tool", {}, wait=15)
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")

    story()


@run_async
async def test_a_redirect_leaves_its_host_only_to_a_listed_one() -> None:
    """AML-105: and never with credentials."""
    async with serving(json_answer({"ok": True})) as other:
        credentials = {"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
        for there, reaches in ((other.url, True), (other.url.replace("127.0.0.1", "localhost"), False)):
            async with serving(answer(307, headers={"Location": f"{there}/y"})) as server:
                files = tool_file("the-tool", rest_transport(server.url, credentials=credentials))
                async with running_aml_app(files, {"TOKEN": "t-1"}) as running:
                    result = await running.call("the-tool", {})
            assert (result.status == "succeeded") is reaches
            assert len(server.seen) == 1
        assert ["authorization" in seen.headers for seen in other.seen] == [False]


# OXP


SEEN: list[tuple[dict[str, str], str]] = []


@ferrule.tool("Mail.Count")
async def count(context: Context) -> dict[str, Any]:
    """Counts."""
    SEEN.append((dict(context.credentials), context.principal))
    return {"said": list(context.credentials.values())}


def oxp(**requirements: Any) -> dict[str, str]:
    said = {
        "id": "Mail.Count@1.0.0",
        "name": "Mail_Count",
        "description": "Counts messages.",
        "version": "1.0.0",
        "input_schema": {"parameters": {"type": "object"}},
        "output_schema": {},
        **({"requirements": requirements} if requirements else {}),
    }
    return {"tools/count.json": json.dumps(said)}


def oxp_app(files: dict[str, str], **caller: Any) -> Any:
    SEEN.clear()
    refs = {name: SecretRef(source="env", name=f"ENV_{name}") for name in ("KEY", "OTHER")}
    settings = Settings(secrets=SecretSettings(bindings=refs))
    env = {"ENV_KEY": "canary-of-the-key", "ENV_OTHER": "canary-of-others"}
    return running_aml_app(files, env, settings=settings, tools=[count], caller=caller, policy=ALLOWED)


@run_async
async def test_oxp_37_a_tool_that_requires_nothing_runs_without_anything() -> None:
    """OXP-37, OXP-14: and unknown requirements are no reason to refuse."""
    for files in (oxp(), oxp(x_later={"a": 1})):
        async with oxp_app(files) as running:
            assert (await running.call("Mail_Count", {})).status == "succeeded"
            assert [given for given, _ in SEEN] == [{}]


@run_async
async def test_oxp_42_secrets_reach_the_tool_that_names_them_and_nothing_else() -> None:
    """OXP-42, OXP-16, OXP-39: not the result, not the record, not the events; others are not handed over."""
    async with oxp_app(oxp(secrets=[{"id": "KEY"}])) as running:
        result = await running.call("Mail_Count", {})
        assert [given for given, _ in SEEN] == [{"KEY": "canary-of-the-key"}]
        rows = await running.app.store.rows_of(result.invocation_id)
        told = await running.read_events(result, level="full")
        assert "canary" not in f"{result!r} {[row.segment() for row in rows]!r} {told!r}"


@pytest.mark.parametrize(
    "requirement", [{"secrets": [{"id": "ABSENT"}]}, {"authorization": [{"id": "acme", "oauth2": {"scopes": ["a"]}}]}]
)
def test_oxp_39_what_is_missing_refuses_the_call_before_the_tool_runs(requirement: dict[str, Any]) -> None:
    """OXP-38, OXP-39, OXP-15: how a server tells it is the server's part."""

    @run_async
    async def story() -> None:
        async with oxp_app(oxp(**requirement)) as running:
            result = await running.call("Mail_Count", {})
            assert (result.error and result.error.error_class) == "credential_missing"
            assert SEEN == []

    story()


@run_async
async def test_oxp_40_the_user_id_is_the_principal() -> None:
    """OXP-40, OXP-17."""
    async with oxp_app(oxp(user_id=True), principal="ann") as running:
        assert (await running.call("Mail_Count", {})).status == "succeeded"
        assert [principal for _, principal in SEEN] == ["ann"]
