"""Processes for functions: a few, used again, with nothing of ours in them; the death of one is one call's failure."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from ferrule.app.app import App
from tests.driven import driven
from tests.runtime.functions import apart
from tests.runtime.functions.isolated_app import call_for_value, call_tool, is_alive, isolated_app


@driven
async def test_a_function_runs_in_another_process_which_is_used_again() -> None:
    apart.SECRET_HERE.append("known here")
    async with isolated_app() as app:
        first, second = await call_for_value(app, "whoami"), await call_for_value(app, "whoami")
        assert first["pid"] == second["pid"] != os.getpid()
        assert (first["parent"], first["known"]) == (os.getpid(), 0)
    assert not is_alive(first["pid"])


@driven
async def test_it_sees_no_environment_but_what_it_declares_and_no_open_files() -> None:
    async with isolated_app(environment={"DECLARED": "yes", "API_KEY": "no"}) as app:
        found = await call_for_value(app, "seen")
        assert "DECLARED" in found["env"] and "PATH" in found["env"]
        assert "API_KEY" not in found["env"]
        assert len(found["fds"]) <= 7  # its own three, the two ends of our talk, /dev/null, and the listing itself


@pytest.mark.parametrize(
    ("how", "error_class", "code", "ref"),
    [
        ("exit", "execution_failed", "process_died", "exit_code:3"),
        ("segfault", "execution_failed", "process_died", "signal:11"),
        ("raise", "rate_limited", "busy", None),
        ("value", "execution_failed", "execution_failed", "python:ValueError"),
        ("system", "execution_failed", "execution_failed", "python:SystemExit"),
    ],
)
@driven
async def test_however_a_function_ends_only_its_own_call_fails(
    how: str, error_class: str, code: str, ref: str | None
) -> None:
    async with isolated_app() as app:
        result = await call_tool(app, "crash", how=how)
        assert result.error is not None
        found = (result.error.error_class, result.error.error_code, result.error.native_error_ref)
        assert found == (error_class, code, ref)
        assert "secret-text" not in result.error.message
        assert (await call_for_value(app, "whoami"))["parent"] == os.getpid()


@driven
async def test_there_are_never_more_processes_than_the_settings_say() -> None:
    async with isolated_app(processes=2) as app:
        processes = await asyncio.gather(*(call_for_value(app, "whoami") for _ in range(12)))
        assert len({found["pid"] for found in processes}) <= 2
        await call_for_value(app, "seen")
        assert len(app.find_executor(_tool(app, "apart.seen"))._children._all) <= 2


def _tool(app: App, tool_id: str) -> Any:
    return app.catalog.versions(tool_id)[0].tool
