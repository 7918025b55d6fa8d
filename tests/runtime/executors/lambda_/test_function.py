"""Payloads of cloud functions: JSON, or one text or one piece of binary as it is."""

from __future__ import annotations

import json

from tests.infra.clouds.far import Reply
from tests.runtime.executors.lambda_.runtime import Lambda
from tests.runtime.executors.lambda_.tools import SAID, Functions, aws_tool
from tests.runtime.executors.queue.tools import calling, run
from tests.spec.running_app import run_async


@run_async
async def test_binary_goes_as_it_is_and_comes_back_in_base64(there: Functions) -> None:
    """AML-50"""
    blob = {"type": "object", "properties": {"data": {"type": "string", "contentEncoding": "base64"}}}
    there.reply = Reply(200, b"\xff\x00\x01")
    async with calling(there.tool(payload_format="raw", input=blob, output=blob)) as app:
        result = await run(app, "ask", {"data": "AAH/"})
        assert there.far.asked[0].body == b"\x00\x01\xff"
        assert there.far.asked[0].headers["content-type"] == "application/octet-stream"
        assert result.structured_content == {"data": "/wAB"}
        refused = await run(app, "ask", {"data": "%%"})
        assert refused.error is not None
        assert refused.error.error_class == "invalid_arguments"


@run_async
async def test_an_answer_that_is_no_json_is_a_failure(there: Functions) -> None:
    there.reply = Reply(200, b"<html>")
    async with calling(there.tool()) as app:
        result = await run(app, "ask")
        assert result.error is not None
        assert result.error.error_code == "result_unreadable"


@run_async
async def test_nothing_is_a_result_too(aws: Lambda) -> None:
    async with calling(aws_tool("nothing"), env=aws.environment) as app:
        assert (await run(app, "nothing")).status == "succeeded"


@run_async
async def test_a_raw_payload_is_the_text_itself(aws: Lambda) -> None:
    """AML-50"""
    async with calling(aws_tool("echo", payload_format="raw", output=SAID), env=aws.environment) as app:
        result = await run(app, "echo", {"text": '{"a": [1, 2]}'})
        assert aws.invoked == [("echo", b'{"a": [1, 2]}')]
        assert json.loads(result.structured_content["said"]) == {"a": [1, 2]}
        refused = await run(app, "echo", {"text": "no JSON"})  # Lambda itself takes JSON alone
        assert refused.error is not None
        assert refused.error.native_error_ref == "aws:InvalidRequestContentException"


@run_async
async def test_raw_payloads_need_an_input_of_one_text(aws: Lambda) -> None:
    two = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    async with calling(aws_tool("echo", payload_format="raw", input=two), env=aws.environment) as app:
        result = await run(app, "echo", {"a": "x"})
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("setup_required", "raw_input")
