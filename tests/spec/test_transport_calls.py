"""AML section 5 beyond REST: functions, MCP servers, queues and databases, each with a real other side."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.model.result import Pending, Result
from tests.infra.clouds.amazon import KEYS, REGION, amazon
from tests.infra.clouds.far import Far, Reply, far
from tests.runtime.executors.database.real_databases import mariadb, postgres
from tests.spec.aml_app import NONE, rest_transport, running_aml_app, tool_file
from tests.spec.running_app import RunningApp, run_async
from tests.spec.tool_server import running_tool_server

OWN = {"scheme": "iam-role"}
SENT = {"type": "object", "properties": {"status": {"type": "string", "enum": ["sent"]}}, "required": ["status"]}
ARN = "arn:aws:lambda:eu-west-1:123456789:function:send-email-v2"
MAIL = {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "string"}}}, "required": ["to"]}
TO = {"to": ["ann@shop.example"]}


def function(**said: Any) -> dict[str, Any]:
    usual = {"provider": "aws", "function_id": ARN, "invocation_type": "RequestResponse", "credentials": OWN}
    return {"type": "lambda", **usual, **said}


def as_aws(server: Far) -> dict[str, str]:
    return {**KEYS, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": server.url, "AWS_EC2_METADATA_DISABLED": "true"}


async def call_and_fail(running: RunningApp, name: str, arguments: Any) -> tuple[str, str | None]:
    result = await running.call(name, arguments)
    assert result.error is not None, result
    return result.error.error_class, result.error.native_error_ref


@run_async
async def test_aml_48_the_function_of_the_arn_is_invoked_as_this_process() -> None:
    """AML-47, AML-48, AML-49, AML-50: synchronously, with the input as JSON, in the ARN's region; nine digits are enough."""
    with far(lambda asked: Reply(200, {"status": "sent"})) as server:
        files = tool_file("send", function(), kind="action", takes=MAIL, gives=SENT)
        async with running_aml_app(files, as_aws(server)) as running:
            result = await running.call("send", TO)
        assert result.structured_content == {"status": "sent"}
        (asked,) = server.asked
        assert (asked.method, json.loads(asked.body)) == ("POST", TO)
        assert asked.path.endswith("/invocations")
        assert "send-email-v2" in asked.path
        assert asked.headers["x-amz-invocation-type"] == "RequestResponse"
        assert f"{KEYS['AWS_ACCESS_KEY_ID']}/" in asked.headers["authorization"]
        assert "/eu-west-1/lambda/aws4_request" in asked.headers["authorization"]


@run_async
async def test_aml_49_an_event_is_acknowledged_before_it_is_handled() -> None:
    """AML-49, AML-51: no result is awaited, and the output schema does not bind the acknowledgement."""
    with far(lambda asked: Reply(202)) as server:
        files = tool_file("send", function(invocation_type="Event"), kind="action", takes=MAIL, gives=SENT)
        async with running_aml_app(files, as_aws(server)) as running:
            result = await running.call("send", TO)
        assert result.status == "succeeded"
        assert result.structured_content is not None
        assert result.structured_content["status"] == "accepted"
        assert [asked.headers["x-amz-invocation-type"] for asked in server.asked] == ["Event"]


@run_async
async def test_aml_50_a_raw_payload_is_the_text_itself() -> None:
    """AML-50: and not a JSON object around it."""
    text = {"type": "object", "properties": {"text": {"type": "string", "description": "All of it."}}}
    with far(lambda asked: Reply(200, b"pong", {"Content-Type": "text/plain"})) as server:
        transport = function(
            provider="azure", function_id=f"{server.url}/api/ping", payload_format="raw", credentials=NONE
        )
        async with running_aml_app(tool_file("ping", transport, takes=text, gives=text)) as running:
            result = await running.call("ping", {"text": "ping"})
        assert [asked.body for asked in server.asked] == [b"ping"]
        assert result.structured_content == {"text": "pong"}


@run_async
async def test_aml_51_a_function_that_fails_is_no_acknowledgement() -> None:
    """AML-51, AT-196: its own failure and its cloud's are two classes."""
    unhandled = Reply(200, {"errorMessage": "boom", "errorType": "KeyError"}, {"X-Amz-Function-Error": "Unhandled"})
    throttled = Reply(429, {}, {"x-amzn-errortype": "TooManyRequestsException", "Retry-After": "3"})
    answers = iter([unhandled, throttled])
    with far(lambda asked: next(answers)) as server:
        async with running_aml_app(tool_file("send", function(), kind="action", takes=MAIL), as_aws(server)) as running:
            assert await call_and_fail(running, "send", TO) == ("execution_failed", "lambda:KeyError")
            assert await call_and_fail(running, "send", TO) == ("rate_limited", "aws:TooManyRequestsException")
        assert len(server.asked) == 2


@pytest.mark.parametrize("spoken", ["2024-11-05", "2025-03-26"])
def test_aml_52_the_revision_that_is_written_is_offered(spoken: str) -> None:
    """AML-52: the standard's own example names the first one; a server of that time, and a later one, both serve it."""

    @run_async
    async def story() -> None:
        def sends(message: dict[str, Any]) -> dict[str, Any]:
            return {"result": {"content": [{"type": "text", "text": '{"status": "sent"}'}]}}

        async with running_tool_server(sends, revision=spoken, path="/comms", tools=("send_email",)) as server:
            transport = {
                "type": "mcp", "url": server.url, "tool_name": "send_email", "protocol_version": "2024-11-05",
                "credentials": {"scheme": "bearer-token", "source": "env", "name": "COMMS"},
            }  # fmt: skip
            files = tool_file("send-email-mcp", transport, kind="action", takes=MAIL, gives=SENT)
            async with running_aml_app(files, {"COMMS": "comms-token-1"}) as running:
                result = await running.call("send-email-mcp", TO, wait=15)
            assert result.structured_content == {"status": "sent"}, result.error
        assert [each.message["params"]["protocolVersion"] for each in server.list_requests("initialize")] == [
            "2024-11-05"
        ]
        (called,) = server.list_requests("tools/call")
        assert (called.message["params"]["name"], called.message["params"]["arguments"]) == ("send_email", TO)
        assert {each.headers.get("authorization") for each in server.asked} == {"Bearer comms-token-1"}

    story()


@run_async
async def test_aml_54_a_queue_without_replies_is_acknowledged() -> None:
    """AML-51, AML-53, AML-54: the message is the input as JSON, and nobody waits for what becomes of it."""
    with amazon() as aws:
        sqs = aws.client("sqs")
        url = sqs.create_queue(QueueName="outbox")["QueueUrl"]
        transport = {"type": "message-queue", "provider": "aws", "queue_url": url, "credentials": OWN}
        files = tool_file("send", transport, kind="action", takes=MAIL, gives=SENT)
        async with running_aml_app(files, aws.environment()) as running:
            result = await running.call("send", TO)
            assert result.status == "succeeded", result.error
            assert result.structured_content is not None
            assert result.structured_content["status"] == "accepted"
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        assert json.loads(message["Body"]) == TO


@run_async
async def test_aml_54_a_call_with_a_reply_queue_waits_for_its_own_reply() -> None:
    """AML-54: it holds nothing meanwhile, and the output schema binds the reply."""
    with amazon() as aws:
        sqs = aws.client("sqs")
        jobs, replies = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("jobs", "replies"))
        transport = {
            "type": "message-queue", "provider": "aws", "queue_url": jobs, "response_queue_url": replies, "credentials": OWN,
        }  # fmt: skip
        files = tool_file("send", transport, kind="action", takes=MAIL, gives=SENT)
        async with running_aml_app(files, aws.environment(), tends=True) as running:
            pending = await running.surface.call("send", TO)
            assert isinstance(pending, Pending)
            found = sqs.receive_message(QueueUrl=jobs, MessageAttributeNames=["All"], WaitTimeSeconds=2)
            (message,) = found["Messages"]
            own = message["MessageAttributes"]
            stranger = {"correlation_id": {"DataType": "String", "StringValue": "somebody-else"}}
            sqs.send_message(QueueUrl=replies, MessageBody='{"status": "lost"}', MessageAttributes=stranger)
            said = {name: own[name] for name in own if name == "correlation_id"}
            sqs.send_message(QueueUrl=replies, MessageBody='{"status": "sent"}', MessageAttributes=said)
            result = await running.app.result(pending.invocation_id, wait=15)
            assert isinstance(result, Result)
            assert result.structured_content == {"status": "sent"}, result.error


def account(variable: str = "DB") -> dict[str, str]:
    return {"scheme": "service-account", "source": "env", "name": variable}


@pytest.mark.parametrize(("engine", "place"), [("postgresql", postgres), ("mysql", mariadb)])
def test_aml_56_what_looks_like_sql_arrives_as_a_value(engine: str, place: Any) -> None:
    """AML-55, AML-56, AML-57: one statement, bound values, and the connection out of the secret."""
    hostile = "x'); DROP TABLE notes; -- \\ \" ` :text %s $1"

    @run_async
    async def story() -> None:
        async with place() as base:
            await base.run("CREATE TABLE notes (text VARCHAR(200))")
            transport = {
                "type": "database", "engine": engine, "query_method": "parameterised-sql", "credentials": account(),
            }  # fmt: skip
            text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
            files = {
                **tool_file("note", transport | {"x-statement": "INSERT INTO notes VALUES (:text)"}, kind="action", takes=text),
                **tool_file("find", transport | {"x-statement": "SELECT text FROM notes WHERE text = :text"}, takes=text),
            }  # fmt: skip
            async with running_aml_app(files, {"DB": json.dumps(base.members)}) as running:
                assert (await running.call("note", {"text": hostile})).status == "succeeded"
                found = await running.call("find", {"text": hostile})
                assert found.structured_content == {"rows": [{"text": hostile}], "row_count": 1}, found.error
            (row,) = await base.run("SELECT text FROM notes")
            assert list(row) == [hostile]

    story()


@run_async
async def test_aml_57_without_a_statement_a_database_tool_says_what_to_write() -> None:
    """AML-56: the standard has no place for the statement, so its own example is a set-up that is not complete."""
    transport = {
        "type": "database",
        "engine": "postgresql",
        "query_method": "parameterised-sql",
        "credentials": account(),
    }
    async with running_aml_app(tool_file("orders", transport), {"DB": "{}"}) as running:
        result = await running.call("orders", {})
        assert result.error is not None
        assert result.error.error_class == "setup_required"
        assert "x-statement" in result.error.message


TRANSPORTS = {
    "rest-api": rest_transport("http://127.0.0.1:1"),
    "lambda": function(),
    "mcp": {"type": "mcp", "url": "http://127.0.0.1:1/mcp", "tool_name": "t", "credentials": NONE},
    "message-queue": {"type": "message-queue", "provider": "aws", "queue_url": "http://127.0.0.1:1/1/q", "credentials": OWN},
    "database": {
        "type": "database", "engine": "postgresql", "query_method": "parameterised-sql", "x-statement": "SELECT 1 AS one",
        "credentials": {**OWN, "host": "127.0.0.1", "port": 1, "database": "d", "username": "u"},
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", ["retrieval", "action", "function", "human"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_aml_22_every_type_goes_with_every_transport(kind: str, transport: str) -> None:
    """AML-22, AML-38: all twenty are on the surface and are really tried; a person is asked whatever else happens."""

    @run_async
    async def story() -> None:
        env = {
            **KEYS,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        async with running_aml_app(tool_file("the-tool", TRANSPORTS[transport], kind=kind), env) as running:
            async with asyncio.timeout(15):
                outcome = await running.surface.call("the-tool", {})
            if kind == "human":
                assert isinstance(outcome, Pending), outcome
            else:
                assert isinstance(outcome, Result)
                assert outcome.error is not None
                found = (outcome.error.error_class, outcome.error.error_code)
                assert found == ("dependency_unavailable", "unreachable"), outcome.error

    story()
