"""AML sections 3 to 5 at the far end of a `rest-api` transport: what a real server gets, and what its answers become."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from ferrule.model.result import Result
from tests.runtime.executors.rest.server import Seen, Server, Wire, answer, json_answer, serving
from tests.spec.aml_app import (
    CITY,
    WarpedLoop,
    rest_transport,
    run_with_warped_clock,
    running_aml_app,
    tool_file,
)
from tests.spec.running_app import run_async

FINE = json_answer({"ok": True})
ID = {"type": "object", "properties": {"id": {"type": "string", "description": "Which."}}, "required": ["id"]}
QUICK = {"backoff_ms": 1}


async def call_tool(answers: Any, arguments: Any = None, **tool: Any) -> tuple[Result, Server]:
    """What one call of the tool becomes, and the server behind it."""
    endpoint, base = tool.pop("endpoint", "POST /x"), tool.pop("base", "")
    said = {name: tool.pop(name) for name in ("timeout_ms", "retry_policy", "credentials") if name in tool}
    async with serving(answers) as server:
        files = tool_file("the-tool", rest_transport(server.url + base, endpoint, **said), **tool)
        async with running_aml_app(files) as running:
            return await running.call("the-tool", arguments or {}, wait=15), server


@run_async
async def test_aml_40_the_path_of_the_endpoint_goes_behind_the_base_url() -> None:
    """AML-40, AML-41: method and path as they are written."""
    for base, endpoint, method, target in (
        ("/v2", "POST /search", "POST", "/v2/search"),
        ("", "PUT /a/b", "PUT", "/a/b"),
        ("/v1/deep", "DELETE /x?really=1", "DELETE", "/v1/deep/x?really=1"),
        ("", "OPTIONS /x", "OPTIONS", "/x"),
        ("", "PATCH /x", "PATCH", "/x"),
    ):
        _, server = await call_tool(FINE, base=base, endpoint=endpoint, kind="action")
        assert [(seen.method, seen.target) for seen in server.seen] == [(method, target)]


@run_async
async def test_aml_41_placeholders_are_filled_with_arguments_and_stay_one_segment() -> None:
    """AML-41: a value never becomes another path, and is not sent a second time."""
    takes = {"type": "object", "properties": {"id": {"type": "string"}, "note": {"type": "string"}}}
    _, server = await call_tool(FINE, {"id": "a/../b?c#d", "note": "n"}, endpoint="POST /o/{id}", takes=takes)
    assert server.seen[0].segments == ["o", "a/../b?c#d"]
    assert json.loads(server.seen[0].body) == {"note": "n"}


def test_aml_42_a_call_has_five_seconds_when_nothing_is_said() -> None:
    """AML-42: not less, and no more."""

    async def story(loop: WarpedLoop) -> None:
        reached = asyncio.Event()

        async def silent(seen: Seen, wire: Wire) -> bytes | None:
            reached.set()
            await wire.reader.read()
            return None

        calling = asyncio.ensure_future(call_tool(silent))
        await reached.wait()
        loop.ahead += 4.8
        for _ in range(50):
            await asyncio.sleep(0)
        assert not calling.done()
        loop.ahead += 0.3
        result, server = await calling
        assert (result.status, result.error and result.error.error_class) == ("timed_out", "timeout")
        assert len(server.seen) == 1

    run_with_warped_clock(story)


@pytest.mark.parametrize(
    ("statuses", "policy", "kind", "expected"),
    [
        ((503, 503, 200), QUICK, "retrieval", ("succeeded", 3)),
        ((503, 503, 503, 200), QUICK, "retrieval", ("failed", 3)),
        ((503, 200), QUICK | {"max_attempts": 1}, "retrieval", ("failed", 1)),
        ((503, 503, 503, 200), QUICK | {"max_attempts": 4}, "retrieval", ("succeeded", 4)),
    ],
)
def test_aml_43_attempts_are_counted_with_the_first(
    statuses: Sequence[int], policy: dict[str, Any], kind: str, expected: tuple[str, int]
) -> None:
    """AML-43: three unless another number is said; one means none after it."""
    attempts_are(statuses, policy, kind, expected)


@pytest.mark.parametrize(
    ("statuses", "policy", "kind", "expected"),
    [
        ((429, 200), QUICK, "retrieval", ("succeeded", 2)),
        ((429, 200), QUICK, "function", ("succeeded", 2)),
        ((500, 200), QUICK, "retrieval", ("failed", 1)),
        ((503, 200), QUICK, "action", ("failed", 1)),
        ((503, 200), QUICK | {"on_status": []}, "retrieval", ("failed", 1)),
        ((503, 200), QUICK | {"on_status": [500]}, "retrieval", ("failed", 1)),
        ((404, 200), QUICK | {"on_status": [404]}, "retrieval", ("succeeded", 2)),
        ((503, 200), QUICK | {"on_status": [503]}, "action", ("succeeded", 2)),
        ((502, 200), QUICK | {"on_status": [503]}, "action", ("failed", 1)),
    ],
)
def test_aml_44_statuses_that_are_tried_again(
    statuses: Sequence[int], policy: dict[str, Any], kind: str, expected: tuple[str, int]
) -> None:
    """AML-44, AML-46: those that are written; else 429 and 503 for what reads, and none for what acts."""
    attempts_are(statuses, policy, kind, expected)


def attempts_are(statuses: Sequence[int], policy: dict[str, Any], kind: str, expected: tuple[str, int]) -> None:
    @run_async
    async def story() -> None:
        answers = [FINE if status == 200 else answer(status) for status in statuses]
        result, server = await call_tool(answers, kind=kind, retry_policy=policy)
        assert (result.status, len(server.seen)) == expected

    story()


def test_aml_45_waits_double() -> None:
    """AML-45: beginning with `backoff_ms`; by the server's own watch."""

    async def story(loop: WarpedLoop) -> None:
        moments: list[float] = []

        async def busy(seen: Seen, wire: Wire) -> bytes:
            moments.append(loop.time())
            return FINE if len(moments) == 4 else answer(503)

        policy = {"max_attempts": 4, "on_status": [503], "backoff_ms": 20}
        result, _ = await call_tool(busy, retry_policy=policy)
        assert result.status == "succeeded"
        waits = [later - earlier for earlier, later in pairwise(moments)]
        assert [wait >= least for wait, least in zip(waits, (0.02, 0.04, 0.08), strict=True)] == [True] * 3

    run_with_warped_clock(story)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_aml_19_an_action_whose_connection_broke_is_not_sent_again(method: str) -> None:
    """AML-19: nobody knows whether it was done, so nothing is done about it silently, also on a connection used before."""

    @run_async
    async def story() -> None:
        async def second_breaks(seen: Seen, wire: Wire) -> bytes | None:
            if len(server.seen) == 2:
                wire.reset()
                return None
            return FINE

        async with serving(second_breaks) as server:
            files = tool_file(
                "pay",
                rest_transport(server.url, f"{method} /pay", retry_policy={"on_status": [503]}),
                kind="action",
            )
            async with running_aml_app(files) as running:
                assert (await running.call("pay", {"city": "Bern"})).status == "succeeded"
                result = await running.call("pay", {"city": "Bern"})
                assert result.error is not None
                assert result.error.error_class == "dependency_unavailable"
                assert result.error.retry.retry_safe is False
                assert len(server.seen) == 2

    story()


@pytest.mark.parametrize("policy", [{"max_attempts": 1}, {"on_status": []}])
def test_aml_43_one_request_is_one_request_on_a_connection_used_before_too(policy: dict[str, Any]) -> None:
    """AML-43, AML-44: also of a tool that reads, where nothing could be done twice."""

    @run_async
    async def story() -> None:
        async def second_breaks(seen: Seen, wire: Wire) -> bytes | None:
            if len(server.seen) == 2:
                wire.reset()
                return None
            return FINE

        async with serving(second_breaks) as server:
            files = tool_file("look", rest_transport(server.url, "GET /look", retry_policy=policy))
            async with running_aml_app(files) as running:
                assert (await running.call("look")).status == "succeeded"
                assert (await running.call("look")).status == "failed"
                assert len(server.seen) == 2

    story()


@run_async
async def test_aml_19_two_identical_actions_reach_the_backend_twice() -> None:
    """AML-19."""
    async with (
        serving(FINE) as server,
        running_aml_app(tool_file("pay", rest_transport(server.url), kind="action")) as running,
    ):
        for _ in range(2):
            assert (await running.call("pay", {"city": "Bern"})).status == "succeeded"
        assert [json.loads(seen.body) for seen in server.seen] == [{"city": "Bern"}] * 2


@run_async
async def test_aml_31_a_default_does_not_reach_the_backend() -> None:
    """AML-31."""
    takes = {"type": "object", "properties": {"q": {"type": "string"}, "top": {"type": "integer", "default": 5}}}
    _, server = await call_tool(FINE, {"q": "x"}, takes=takes)
    assert json.loads(server.seen[0].body) == {"q": "x"}


@pytest.mark.parametrize("key", ["429", 429])
def test_aml_36_what_to_do_about_a_status_comes_with_it(key: Any) -> None:
    """AML-36: the model reads meaning and action; other statuses stay without."""

    @run_async
    async def story() -> None:
        codes = {key: {"meaning": "Too many.", "agent_action": "Come back tomorrow."}}
        result, _ = await call_tool(answer(429), kind="action", error_codes=codes)
        assert result.error is not None
        assert result.error.error_class == "rate_limited"
        for text in (result.error.message, str(result.content)):
            assert "Too many." in text
            assert "Come back tomorrow." in text
        other, _ = await call_tool(answer(409), kind="action", error_codes=codes)
        assert "tomorrow" not in str(other)

    story()


@run_async
async def test_aml_24_an_answer_that_breaks_the_output_schema_is_no_success() -> None:
    """AML-24, AML-23: the model can rely on what the definition promises."""
    result, _ = await call_tool(json_answer({"id": 5}), gives=ID)
    assert (result.status, result.error and result.error.error_code) == ("failed", "result_mapping_failed")
    result, _ = await call_tool(json_answer({"id": "5"}), gives=ID, takes=CITY)
    assert result.structured_content == {"id": "5"}
