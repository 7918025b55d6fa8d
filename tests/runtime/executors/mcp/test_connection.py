"""One connection to an MCP server: what is asked of it, what it lists, and how its end is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.runtime.executors.mcp.http_tools import LOCAL, definition
from tests.runtime.executors.mcp.imported_apps import ended, far_app, odd, play, program, seen, value_of
from tests.runtime.executors.mcp.servers import Notes, http_server


def test_a_program_that_dies_while_it_works_is_told_with_how_it_ended(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            result = await ended(app, "die")
            assert result.error is not None
            assert result.error.error_class == "dependency_unavailable"
            assert result.error.native_error_ref == "exit:-9"
            assert "signal 9" in result.error.message
            assert value_of(await ended(app, "echo", {"text": "again"})) == {"text": "again"}

    play(story)


def test_a_call_that_is_canceled_stops_in_the_program_and_leaves_it_running(tmp_path: Path) -> None:
    async def story() -> None:
        notes = Notes(tmp_path)
        async with far_app(program(tmp_path)) as app:
            pid = value_of(await ended(app, "pid"))["pid"]
            surface = app.surface()
            run = await surface.begin("slow", {})
            assert await notes.reaches("begun", 1)
            told = await surface.cancel(run.invocation_ids[0], "enough", within=5)
            assert told is not None
            assert told.outcome == "canceled"
            assert await notes.reaches("stopped", 1)
            assert value_of(await ended(app, "pid"))["pid"] == pid

    play(story)


def test_lists_come_in_pages_and_end(tmp_path: Path) -> None:
    async def story() -> None:
        paged = await seen(program(tmp_path, "odd", "2025-11-25", "paged"))
        assert [tool["name"] for tool in paged.tools] == ["t0", "t1", "t2", "t3", "t4"]
        endless = await seen(program(tmp_path, "odd", "2025-11-25", "endless"))
        assert [tool["name"] for tool in endless.tools] == ["t", "tagain"]

    play(story)


def test_one_definition_that_is_not_as_it_should_be_does_not_hide_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        now = await seen(program(tmp_path, "odd", "2025-11-25", "bad-schema"))
        assert {"text", "broken", "no-schema", "two words\n"} <= {tool["name"] for tool in now.tools}

    play(story)


@pytest.mark.parametrize(("path", "revision"), [("/mcp", ""), ("/mcp", "2025-11-25"), ("/sse", "2024-11-05")])
def test_a_server_that_is_killed_while_it_works_is_told_at_once(tmp_path: Path, path: str, revision: str) -> None:
    async def story() -> None:
        with http_server("official", tmp_path) as server:
            tools = definition(server.url(path), name="slow", revision=revision)
            async with memory_app(definitions=tools, settings=LOCAL) as app:
                running = asyncio.ensure_future(app.surface().call("slow", {}))
                assert await server.notes.reaches("begun", 1)
                server.kill()
                async with asyncio.timeout(15):
                    result = await running
                assert isinstance(result, Result)
                assert result.error is not None
                assert result.error.error_class == "dependency_unavailable"

    play(story)
