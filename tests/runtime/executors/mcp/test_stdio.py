"""Imported servers that are programs: started once, shared, replaced when they die, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ferrule.model.upstreams import McpServer
from tests.runtime.executors.mcp.play import ended, far_app, play, program, refs_of, seen
from tests.runtime.executors.mcp.servers import Notes, command, is_gone


def odd(notes: Path, **env: str) -> McpServer:
    """The quickest of the servers."""
    return program(notes, "odd", "2025-11-25", **env)


def value_of(result: Any) -> Any:
    assert result.status == "succeeded", result.error
    return result.structured_content


def test_a_hundred_calls_are_made_by_one_program(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            surface = app.surface()
            results = await asyncio.gather(*(surface.call("pid", {}) for _ in range(50)))
            results += [await surface.call("pid", {}) for _ in range(50)]
            pids = {value_of(result)["pid"] for result in results}
            assert len(pids) == 1
        assert await is_gone(pids.pop())

    play(story)


def test_a_program_gets_only_the_variables_it_is_given(tmp_path: Path) -> None:
    async def story() -> None:
        env = {"PATH": os.environ["PATH"], "HOME": "/", "STRANGE": "x", "TOKEN_OF_MINE": "s3cret-value"}
        server = odd(tmp_path, GIVEN="${TOKEN_OF_MINE}")
        async with far_app(server, environment=env) as app:
            found = set(value_of(await ended(app, "pid"))["env"])
            assert {"PATH", "HOME", "GIVEN", "NOTES"} <= found
            assert not found & {"STRANGE", "TOKEN_OF_MINE"}
            echoed = await ended(app, "echo", {"text": "it is s3cret-value"})
            assert "s3cret-value" not in str(echoed)

    play(story)


def test_a_variable_that_is_not_set_is_told_and_nothing_starts(tmp_path: Path) -> None:
    async def story() -> None:
        now = await seen(odd(tmp_path))
        async with far_app(odd(tmp_path, GIVEN="${NOT_SET}"), accepted=now) as app:
            result = await ended(app, "echo")
            assert result.error is not None
            assert result.error.error_class == "credential_missing"
            assert "NOT_SET" in result.error.message

    play(story)


def test_a_program_that_was_killed_between_calls_is_started_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            first = value_of(await ended(app, "pid"))["pid"]
            os.kill(first, signal.SIGKILL)
            assert await is_gone(first)
            second = value_of(await ended(app, "pid"))["pid"]
            assert second != first
        assert await is_gone(second)

    play(story)


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


@pytest.mark.parametrize("ending", ["close", "crash"])
def test_what_a_program_started_ends_with_it(tmp_path: Path, ending: str) -> None:
    async def story() -> None:
        async with far_app(odd(tmp_path)) as app:
            child = value_of(await ended(app, "breed"))["pid"]
            if ending == "crash":
                await ended(app, "die")
                assert await is_gone(child)
        assert await is_gone(child)

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


def test_progress_has_percentages(tmp_path: Path) -> None:
    async def story() -> None:
        for name in ("official", "fast"):
            async with far_app(program(tmp_path, name)) as app:
                surface = app.surface()
                run = await surface.begin("steps", {})
                told = [said async for said in surface.follow(run.invocation_ids[0])]
                assert [said.percent for said in told if said.percent is not None][-1] == 100

    play(story)


def test_blocks_structure_and_meta_are_kept_as_they_came(tmp_path: Path) -> None:
    """AT-260, AT-258."""

    async def story() -> None:
        async with far_app(program(tmp_path)) as app:
            result = await ended(app, "picture")
            assert result.structured_content == {"wide": True}
            assert [dict(block) for block in result.content] == [
                {"type": "text", "text": "look"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            ]
            call, answer = await refs_of(app, result)
            assert answer["_meta"]["org.example/trace"] == "abc"
            assert answer["isError"] is False
            assert call["server_id"] == "far"
            assert call["tool_name"] == "picture"
            assert call["mcp_protocol_version"] == "2026-07-28"
            assert isinstance(call["jsonrpc_request_id"], int)

    play(story)


def test_a_failing_tool_and_a_failing_protocol_are_two_things(tmp_path: Path) -> None:
    """AT-196."""

    async def story() -> None:
        async with far_app(program(tmp_path)) as app:
            failed = await ended(app, "fails")
            assert failed.error is not None
            assert (failed.error.error_class, failed.error.native_error_ref) == ("execution_failed", "mcp:isError")
            assert "canary-7f3a9c51e2" in str(failed.content)
        async with far_app(program(tmp_path, "odd", "2025-06-18")) as app:
            broken = await ended(app, "error")
            assert broken.error is not None
            assert (broken.error.error_class, broken.error.native_error_ref) == ("dependency_unavailable", "mcp:-32603")
            refused = await ended(app, "unknown")
            assert refused.error is not None
            assert (refused.error.error_class, refused.error.native_error_ref) == ("invalid_arguments", "mcp:-32602")
            assert "canary" not in refused.error.message + broken.error.message

    play(story)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_older_revision_is_spoken(tmp_path: Path, revision: str) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", revision)) as app:
            result = await ended(app, "text")
            assert result.status == "succeeded", result.error
            assert result.content[0]["text"] == "plain words"
            assert (await refs_of(app, result))[0]["mcp_protocol_version"] == revision

    play(story)


def test_what_a_server_asks_of_its_client_is_refused_and_its_call_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", "2025-11-25")) as app:
            result = await ended(app, "asks")
            assert result.status == "succeeded", result.error
            answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
            assert {answer["id"] for answer in answers} == {"ask-0", "ask-1", "ask-2"}
            assert all("error" in answer for answer in answers)
            offered = json.loads((tmp_path / "offered").read_text().splitlines()[-1])
            assert offered["params"]["capabilities"] == {}

    play(story)


def test_chatter_on_the_output_is_passed_over(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", "2025-11-25", "chatty")) as app:
            assert (await ended(app, "text")).status == "succeeded"

    play(story)


def test_a_line_without_end_ends_the_connection_and_not_the_memory(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", "2025-11-25"), max_response_bytes=1_000_000) as app:
            result = await ended(app, "long")
            assert result.error is not None
            assert result.error.error_class == "result_too_large"
            assert (await ended(app, "text")).status == "succeeded"

    play(story)


def test_a_server_that_never_answers_is_told_to_stop(tmp_path: Path) -> None:
    async def story() -> None:
        notes = Notes(tmp_path)
        async with far_app(program(tmp_path, "odd", "2025-11-25"), timeout_seconds=0.3) as app:
            result = await ended(app, "silent")
            assert result.error is not None
            assert result.error.error_class == "timeout"
            assert await notes.reaches("cancelled", 1)

    play(story)


def test_an_answer_that_is_no_result_is_a_failure(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "odd", "2025-11-25")) as app:
            result = await ended(app, "odd-result")
            assert result.error is not None
            assert (result.error.error_class, result.error.error_code) == ("execution_failed", "bad_answer")

    play(story)


@pytest.mark.parametrize(
    ("words", "error_class", "said"),
    [
        (("/nowhere/at/all",), "setup_required", "could not be started: /nowhere/at/all: No such file"),
        (("false",), "dependency_unavailable", "exit code 1"),
        (("sleep", "60"), "dependency_unavailable", "did not answer within"),
    ],
)
def test_a_program_that_is_no_server(tmp_path: Path, words: tuple[str, ...], error_class: str, said: str) -> None:
    async def story() -> None:
        now = await seen(odd(tmp_path))
        async with far_app(McpServer(command=words), accepted=now, connect_seconds=0.5) as app:
            result = await ended(app, "echo")
            assert result.error is not None
            assert result.error.error_class == error_class
            assert said in result.error.message

    play(story)


def test_a_program_of_fastmcp(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "fast")) as app:
            assert value_of(await ended(app, "add", {"one": 2, "other": 3})) == {"result": 5}

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


def test_a_command_is_started_below_the_workspace_only(tmp_path: Path) -> None:
    async def story() -> None:
        now = await seen(odd(tmp_path))
        server = McpServer(command=tuple(command("official", "stdio")), cwd="../..", env={"NOTES": str(tmp_path)})
        async with far_app(server, accepted=now) as app:
            result = await ended(app, "echo")
            assert result.error is not None
            assert result.error.error_class == "setup_required"

    play(story)
