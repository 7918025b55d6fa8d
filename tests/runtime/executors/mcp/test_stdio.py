"""Imported servers that are programs: started once, shared, replaced when they die, and never left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule.model.upstreams import McpServerSettings
from tests.runtime.executors.mcp.imported_apps import ended, far_app, odd, play, program, refs_of, seen, value_of
from tests.runtime.executors.mcp.servers import command, is_gone


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
        async with far_app(McpServerSettings(command=words), accepted=now, connect_seconds=0.5) as app:
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


def test_a_command_is_started_below_the_workspace_only(tmp_path: Path) -> None:
    async def story() -> None:
        now = await seen(odd(tmp_path))
        server = McpServerSettings(
            command=tuple(command("official", "stdio")), cwd="../..", env={"NOTES": str(tmp_path)}
        )
        async with far_app(server, accepted=now) as app:
            result = await ended(app, "echo")
            assert result.error is not None
            assert result.error.error_class == "setup_required"

    play(story)
