"""A server that changes its tools while it is connected to: what was accepted is all that is called."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.model.result import Result
from ferrule.model.upstreams import McpServerSettings
from tests.runtime.executors.mcp.imported_apps import ended, far_app, play, program, seen
from tests.runtime.executors.mcp.servers import http_server

BOUND = 10.0


async def becomes_refused(app: App, name: str) -> Result:
    """The first refusal of a tool; the news of a change comes by another way than answers."""
    async with asyncio.timeout(BOUND):
        while True:
            result = await ended(app, name)
            if result.status != "succeeded":
                return result
            await asyncio.sleep(0.02)


def test_a_server_that_tells_of_a_change_is_looked_at_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "changing", "first")) as app:
            assert (await ended(app, "send")).status == "succeeded"
            assert (await ended(app, "send", {"to": "everybody"})).status == "succeeded"
            refused = await becomes_refused(app, "send")
            assert refused.error is not None
            assert (refused.error.error_class, refused.error.error_code) == ("policy_blocked", "upstream_changed")
            assert (await ended(app, "look")).status == "succeeded"

    play(story)


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_changes_are_heard_of_over_http(tmp_path: Path, revision: str) -> None:
    async def story() -> None:
        with http_server("official", tmp_path) as server:
            async with far_app(McpServerSettings(url=server.url(), protocol_version=revision)) as app:
                assert (await ended(app, "echo")).status == "succeeded"
                assert (await ended(app, "change")).status == "succeeded"
                refused = await becomes_refused(app, "echo")
                assert refused.error is not None
                assert refused.error.error_code == "upstream_changed"

    play(story)


def test_a_server_that_says_nothing_is_looked_at_from_time_to_time(tmp_path: Path) -> None:
    async def story() -> None:
        accepted = await seen(program(tmp_path, "changing", "first"))
        async with far_app(program(tmp_path, "changing", "first"), accepted=accepted, recheck_seconds=0.001) as app:
            assert (await ended(app, "send", {"to": "everybody"})).status == "succeeded"
            assert (await becomes_refused(app, "send")).error is not None

    play(story)


@pytest.mark.parametrize(
    ("kind", "tool", "said"),
    [("edited", "send", "description"), ("renamed", "send", "renamed"), ("none", "send", "does not have it any more")],
)
def test_a_probe_tells_what_changed(tmp_path: Path, kind: str, tool: str, said: str) -> None:
    async def story() -> None:
        accepted = await seen(program(tmp_path, "changing", "first"))
        async with far_app(program(tmp_path, "changing", kind), accepted=accepted) as app:
            run: Any = _run(app, tool)
            with pytest.raises(ExecutionFailed) as caught:
                await run.probe(Context("doctor", "owner", None, ""))
            assert caught.value.code == "upstream_changed"
            assert said in caught.value.message

    play(story)


def test_a_probe_of_what_is_as_accepted(tmp_path: Path) -> None:
    async def story() -> None:
        async with far_app(program(tmp_path, "changing", "first")) as app:
            told = await _run(app, "send").probe(Context("doctor", "owner", None, ""))
            assert "changing 1" in told
            assert "as accepted" in told

    play(story)


def test_a_name_that_a_server_lists_twice_is_not_called(tmp_path: Path) -> None:
    async def story() -> None:
        accepted = await seen(program(tmp_path, "odd", "2025-11-25"))
        async with far_app(program(tmp_path, "odd", "2025-11-25", "twice"), accepted=accepted) as app:
            refused = await ended(app, "text")
            assert refused.error is not None
            assert refused.error.error_code == "upstream_changed"
            assert (await ended(app, "json")).status == "succeeded"

    play(story)


def _run(app: App, name: str) -> Any:
    tool = app.surface().surface.entries[f"far.{name}"].tool
    executor = app.find_executor(tool)
    assert executor is not None
    return executor.prepare(tool)
