"""The built-in `bash`, through the whole pipeline: what it gives, what it refuses before anybody is asked, how it ends."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ferrule.app.app import App
from ferrule.infra.processes import confined
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.runtime.builtins.executor import BuiltinExecutor
from ferrule.testing import memory_app
from tests.infra.processes.recording import find_living, sandboxed, wait_until
from tests.runtime.builtins.builtin_tools import ALLOW_ALL, no_client, tool, write_manifest
from tests.spec.running_app import run_async

WHITELIST = ["ls", "git status", "/usr/bin/printf"]


@asynccontextmanager
async def ops(root: Path, environment: dict[str, str] | None = None, /, *, policy: str = ALLOW_ALL,
              options: dict[str, Any] | None = None, **config: Any) -> AsyncIterator[App]:  # fmt: skip
    """An app whose agent has `bash`."""
    if (options or {}).get("sandbox", "required") == "required":
        sandboxed()
    executor = BuiltinExecutor(root, environment or {}, no_client, **(options or {}))
    text = write_manifest(bash={"enabled": True, **config})
    async with memory_app(definitions={"agent.yaml": text}, policy=policy, executors=[executor]) as app:
        yield app


async def bash(app: App, command: str) -> Result:
    """One call, to its end."""
    result = await app.surface(principal="ann").call("bash", {"command": command})
    assert isinstance(result, Result), result
    return result


def value(result: Result) -> dict[str, Any]:
    """Its structured content."""
    found = result.to_record()["structured_content"]
    assert isinstance(found, dict)
    return found


def failed(result: Result) -> tuple[str, str]:
    """The class and the code of its error."""
    assert result.error is not None, result
    return result.error.error_class, result.error.error_code


@run_async
async def test_a_command_gives_what_adl_says(tmp_path: Path) -> None:
    """ADL-25: command, exit code, duration, output."""
    (tmp_path / "hello.txt").write_text("hello\n")
    async with ops(tmp_path) as app:
        result = await bash(app, " cat hello.txt ")
        found = value(result)
        assert found.pop("duration_ms") >= 0
        assert found == {"command": " cat hello.txt ", "exit_code": 0, "output": "hello\n"}
        assert result.status == "succeeded"


@run_async
async def test_an_exit_code_is_an_answer_and_no_error(tmp_path: Path) -> None:
    """ADL-25: the call succeeded; what the program says about itself is for the model to read."""
    async with ops(tmp_path) as app:
        result = await bash(app, "ls missing")
        assert (result.status, value(result)["exit_code"]) == ("succeeded", 2)
        assert "missing" in value(result)["output"]


@run_async
async def test_a_command_that_takes_too_long_timed_out(tmp_path: Path) -> None:
    """ADL-25, ADL-22, AT-210: exit code -1 and an error; the environment's limit wins over the agent file's."""
    async with ops(tmp_path, {"TOOLS_BASH_TIMEOUT_SECONDS": "1"}, timeout_seconds=60) as app:
        result = await bash(app, "sh -c 'echo begun; sleep 60'")
        assert result.status == "timed_out"
        assert failed(result) == ("timeout", "timeout")
        assert value(result)["exit_code"] == -1
        assert value(result)["output"].startswith("begun\n")
        assert "error" in value(result)


@pytest.mark.parametrize("line", ["ls", "ls -l /", "git status", "git status -s", "/usr/bin/printf x"])
@run_async
async def test_whitelisted_commands_run(tmp_path: Path, line: str) -> None:
    async with ops(tmp_path, whitelist=WHITELIST) as app:
        assert (await bash(app, line)).status == "succeeded"


@pytest.mark.parametrize(
    "line",
    ["lsof", "git push", "git", "printf x", "/bin/ls", "env ls", "sh -c ls", "'git status'", "/usr/bin/printf/x"],
)
@run_async
async def test_other_commands_are_refused(tmp_path: Path, line: str) -> None:
    """ADL-25: by words, not by letters."""
    async with ops(tmp_path, whitelist=WHITELIST) as app:
        result = await bash(app, line)
        assert failed(result) == ("sandbox_violation", "not_whitelisted")


@run_async
async def test_the_environments_whitelist_wins(tmp_path: Path) -> None:
    """ADL-22."""
    async with ops(tmp_path, {"TOOLS_BASH_WHITELIST": "pwd, true"}, whitelist=["ls"]) as app:
        assert failed(await bash(app, "ls"))[1] == "not_whitelisted"
        assert (await bash(app, "pwd")).status == "succeeded"


@run_async
async def test_a_whitelist_that_cannot_be_read_turns_the_tool_off(tmp_path: Path) -> None:
    async with ops(tmp_path, whitelist=["ls", "rm | sh"]) as app:
        assert failed(await bash(app, "ls"))[0] == "setup_required"


@pytest.mark.parametrize(("key", "expected"), [("enabled", "capability_gap"), ("A2A_BASH_DISABLED", "capability_gap")])
@run_async
async def test_it_is_off_until_it_is_enabled(tmp_path: Path, key: str, expected: str) -> None:
    """ADL-20: the refusal names the setting."""
    environment = {key: "true"} if key.isupper() else {}
    config = {} if key.isupper() else {"enabled": False}
    executor = BuiltinExecutor(tmp_path, environment, no_client)
    async with memory_app(tools=(tool("bash", **config),), policy=ALLOW_ALL, executors=[executor]) as app:
        result = await bash(app, "ls")
        assert failed(result)[0] == expected
        assert result.error is not None
        assert key in result.error.message


@run_async
async def test_commands_work_in_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with ops(tmp_path, working_dir="sub") as app:
        assert value(await bash(app, "pwd"))["output"] == f"{tmp_path}/sub\n"
    for below in ("..", "/etc", "missing", ".ferrule"):
        async with ops(tmp_path, working_dir=below) as app:
            assert failed(await bash(app, "pwd"))[0] == "setup_required"


@run_async
async def test_refusals_come_before_permission_and_are_on_record(tmp_path: Path) -> None:
    """A line that will not be run is never shown to anybody for approval, and what was tried can be read afterwards."""
    async with ops(tmp_path, policy="") as app:
        result = await bash(app, "ls; rm x")
        assert failed(result) == ("invalid_arguments", "shell_syntax")
        story = Story(await app.store.rows_of(result.invocation_id))
        assert "permission" not in [run.phase for run in story.phases if run.is_run]
        assert story.error is not None
        assert "; at character 3" in story.error.message


@run_async
async def test_its_native_facts_are_kept(tmp_path: Path) -> None:
    """AT-258: how the command line program ended, where, and in which sandbox; its arguments by reference only."""
    async with ops(tmp_path) as app:
        for line, expected in (
            ("sh -c 'exit 3'", {"exit_code": 3}),
            ("sh -c 'kill -9 $$'", {"exit_code": 137, "signal": 9}),
        ):
            result = await bash(app, line)
            (ref,) = Story(await app.store.rows_of(result.invocation_id)).notes["native_refs"]
            assert ref == {
                "source": "cli",
                "command_id": "sh",
                "argv_ref": f"{result.invocation_id}#/input/command",
                "cwd_ref": "workspace:/",
                "env_policy_ref": "environment:fixed",
                "sandbox_ref": "sandbox:bubblewrap",
                **expected,
            }


@run_async
async def test_too_much_output_ends_it(tmp_path: Path) -> None:
    sign = f"sign-{secrets.token_hex(8)}"
    async with ops(tmp_path, options={"max_output_bytes": 10_000}) as app:
        result = await bash(app, f"yes {sign}")
        assert failed(result) == ("result_too_large", "output_limit")
        assert not find_living(sign)


@run_async
async def test_a_cancelled_call_ends_its_processes(tmp_path: Path) -> None:
    """The whole tree, daemons too."""
    sign = f"sign-{secrets.token_hex(8)}"
    async with ops(tmp_path) as app:
        line = f"sh -c 'trap : TERM; setsid sleep 61 & sleep 60; sleep 60; : {sign}'"
        calling = asyncio.ensure_future(bash(app, line))
        await wait_until(lambda: find_living(sign))
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await wait_until(lambda: not find_living(sign))


@pytest.mark.parametrize(("mode", "runs"), [("required", False), ("preferred", True), ("off", True)])
@run_async
async def test_without_a_sandbox_the_workspace_decides(
    tmp_path: Path, mode: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        return "bubblewrap (bwrap) is not installed"

    missing.cache_info = lambda: type("Info", (), {"currsize": 1})  # type: ignore[attr-defined]  # as `cache` gives it
    sandboxed()
    monkeypatch.setattr(confined, "find_bubblewrap", missing)
    async with ops(tmp_path, options={"sandbox": mode}) as app:
        result = await bash(app, "touch made")
        assert (tmp_path / "made").exists() is runs
        if runs:
            assert "without a sandbox" in value(result)["note"]
        else:
            assert failed(result) == ("setup_required", "sandbox_missing")


def test_it_says_what_it_can_do(tmp_path: Path) -> None:
    """AT-194, AT-205: it can be canceled, tells progress, and is confined where that is required."""
    for mode in ("required", "preferred", "off"):
        options: dict[str, Any] = {"sandbox": mode}
        run: Any = BuiltinExecutor(tmp_path, {}, no_client, **options).prepare(tool("bash"))
        assert run.support.cancel
        assert run.support.progress
        assert run.support.sandboxed is (mode == "required")
        assert not run.support.background
