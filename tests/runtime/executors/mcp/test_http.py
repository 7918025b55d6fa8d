"""Servers over HTTP: every revision, restarts, refusals, and addresses that may not be reached."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.model.result import Result
from ferrule.model.upstreams import McpServerSettings
from ferrule.settings import Settings
from ferrule.testing import memory_app
from tests.runtime.executors.mcp.http_tools import LOCAL, called, definition
from tests.runtime.executors.mcp.imported_apps import ended, far_app, play, refs_of
from tests.runtime.executors.mcp.servers import HttpServer, free_port, http_server


def test_a_hundred_calls_need_one_connection(official: HttpServer) -> None:
    async def story() -> None:
        async with memory_app(definitions=definition(official.url(), revision="2025-11-25"), settings=LOCAL) as app:
            surface = app.surface()
            before = official.notes.count("requests")
            results = await asyncio.gather(*(surface.call("echo", {"text": str(at)}) for at in range(100)))
            assert all(isinstance(one, Result) and one.status == "succeeded" for one in results)
            sessions = {(await refs_of(app, one))[0]["mcp_session_id"] for one in results if isinstance(one, Result)}
            assert len(sessions) == 1
            # initialize, initialized, the stream of the server, tools/list, and the calls
            assert official.notes.count("requests") - before <= 104

    play(story)


@pytest.mark.parametrize("revision", ["", "2025-11-25"])
def test_a_server_that_was_restarted_is_found_again(tmp_path: Path, revision: str) -> None:
    async def story() -> None:
        with http_server("official", tmp_path) as first:
            async with memory_app(definitions=definition(first.url(), revision=revision), settings=LOCAL) as app:
                assert (await ended(app, "echo", {"text": "one"})).status == "succeeded"
                first.kill()
                gone = await ended(app, "echo", {"text": "two"})
                assert gone.error is not None
                assert gone.error.error_class == "dependency_unavailable"
                with http_server("official", tmp_path, first.port):
                    again = await ended(app, "echo", {"text": "three"})
                    assert again.status == "succeeded", again.error

    play(story)


def test_an_address_that_is_not_listed_is_not_reached(official: HttpServer) -> None:
    async def story() -> None:
        before = official.notes.count("requests")
        result = await called(official.url(), Settings())
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "address_forbidden")
        assert official.notes.count("requests") == before

    play(story)


def test_a_confined_agent_reaches_listed_hosts_only() -> None:
    async def story() -> None:
        url = "http://upstream.example.com/mcp"
        async with memory_app(definitions=definition(url), settings=LOCAL) as app:
            entry = app.surface().surface.entries["echo"]
            executor = app.find_executor(entry.tool)
            assert executor is not None
            run: Any = executor.prepare(entry.tool)
            with pytest.raises(ExecutionFailed) as caught:
                await run({}, Context("x", "p", "a", "", is_confined=True))
            assert (caught.value.error_class, caught.value.code) == ("policy_blocked", "address_forbidden")

    play(story)


def test_a_redirect_to_another_server_is_not_followed(official: HttpServer) -> None:
    async def story() -> None:
        result = await called(official.url("/away"))
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "redirect_refused")

    play(story)


def test_a_token_is_shown_and_other_tokens_have_other_sessions(official: HttpServer) -> None:
    async def story() -> None:
        server = McpServerSettings(
            url=official.url("/private/mcp"), credentials={"scheme": "bearer-token", "source": "env", "name": "TOKEN"}
        )
        async with far_app(server, environment={"TOKEN": "let-me-in"}) as app:
            assert (await ended(app, "echo", {"text": "x"})).status == "succeeded"
        async with far_app(server, environment={"TOKEN": "s3cret-that-is-wrong"}) as app:
            result = await ended(app, "echo", {"text": "x"})
            assert result.error is not None
            assert result.error.error_code == "credential_refused"
            assert "s3cret-that-is-wrong" not in str(result)

    play(story)


def test_an_answer_over_the_limit_is_refused_and_the_next_one_comes(official: HttpServer) -> None:
    async def story() -> None:
        server = McpServerSettings(url=official.url())
        for revision in ("", "2025-11-25"):
            async with far_app(
                McpServerSettings(url=server.url, protocol_version=revision), max_response_bytes=500_000
            ) as app:
                result = await ended(app, "big", {})
                assert result.error is not None
                assert result.error.error_class == "result_too_large"
                assert (await ended(app, "echo", {"text": "x"})).status == "succeeded"

    play(story)


def test_an_older_server_that_writes_json_as_text_is_understood(tmp_path: Path, official: HttpServer) -> None:
    async def story() -> None:
        output = "{type: object, properties: {text: {type: string, description: It.}}, required: [text]}"
        good = await called(official.url(), output=output, revision="2024-11-05")
        assert good.status == "succeeded", good.error
        assert good.structured_content == {"text": "hi"}

    play(story)


def test_fastmcp_over_http(tmp_path: Path) -> None:
    async def story() -> None:
        with http_server("fast", tmp_path) as server:
            async with far_app(McpServerSettings(url=server.url())) as app:
                result = await ended(app, "add", {"one": 20, "other": 22})
                assert result.structured_content == {"result": 42}

    play(story)


def test_nobody_listens() -> None:
    async def story() -> None:
        result = await called(f"http://127.0.0.1:{free_port()}/mcp")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("dependency_unavailable", "unreachable")

    play(story)
