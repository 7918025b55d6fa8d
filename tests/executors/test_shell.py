"""Declared command lines: arguments fill words and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed
from ferrule.executors.shell import CommandLine, ShellExecutor, filled
from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.processes.surroundings import sandboxed
from tests.spec.scene import TRUSTED, made, played

TEXTS: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}


def declared(
    *argv: str, profile: dict[str, Any] | None = None, facts: dict[str, Any] | None = None, **mapping: Any
) -> Any:
    """A tool that runs a program."""
    return made(
        "tool", TEXTS, tool_kind="shell_command", execution_profile=profile or {"execution_kind": "local_process"},
        external_mappings=[{"source": "cli", "argv": list(argv), **mapping}], **(facts or {}),
    )  # fmt: skip


async def called(root: Path, tool: Any, **arguments: Any) -> Result:
    sandboxed()
    executor = ShellExecutor(root, protected=(root / ".ferrule",))
    async with memory_app(tools=(tool,), policy=TRUSTED, executors=[executor]) as app:
        result = await app.surface(principal="ann").call("tool", arguments)
        assert isinstance(result, Result), result
        return result


def content(result: Result) -> Any:
    return result.to_record()["structured_content"]


@played
async def test_a_declared_program_runs_with_its_arguments(tmp_path: Path) -> None:
    result = await called(tmp_path, declared("printf", "%s|", "{text}", "--n={count}"), text="a; $(id) *", count=3)
    assert content(result)["output"] == "a; $(id) *|--n=3|"
    assert content(result)["exit_code"] == 0


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_is_one_word(text: str) -> None:
    line = CommandLine(("run", "--", "{text}", "x{text}y"))
    assert filled(line, {"text": text}) == ("run", "--", text, f"x{text}y")


@pytest.mark.parametrize("text", ["-rf", "--output=x", "-"])
def test_a_value_makes_no_option(text: str) -> None:
    with pytest.raises(ExecutionFailed, match="option"):
        filled(CommandLine(("run", "{text}")), {"text": text})
    assert filled(CommandLine(("run", "--", "{text}")), {"text": text}) == ("run", "--", text)
    assert filled(CommandLine(("run", "-x={text}")), {"text": text}) == ("run", f"-x={text}")
    assert filled(CommandLine(("run", "{text}"), option_members=("text",)), {"text": text}) == ("run", text)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", ["x"], {"a": 1}])
def test_what_is_no_word_is_refused(value: Any) -> None:
    with pytest.raises(ExecutionFailed):
        filled(CommandLine(("run", "--", "{text}")), {"text": value})


def test_a_word_without_its_argument_is_left_out() -> None:
    line = CommandLine(("run", "--n={count}", "{text}", "end"))
    assert filled(line, {"count": 1}) == ("run", "--n=1", "end")
    assert filled(line, {"text": "{count}", "count": 2}) == ("run", "--n=2", "{count}", "end")


@played
async def test_exit_codes_are_read_as_declared(tmp_path: Path) -> None:
    """AT-195, AT-258: what a code means is the declaration's to say; the code itself is kept."""
    failing = await called(tmp_path, declared("sh", "-c", "echo why; exit 3"))
    assert failing.error is not None
    assert (failing.error.error_class, failing.error.native_error_ref) == ("execution_failed", "exit_code:3")
    assert content(failing)["output"] == "why\n"
    fine = await called(tmp_path, declared("sh", "-c", "exit 3", success_exit_codes=[0, 3]))
    assert (fine.status, content(fine)["exit_code"]) == ("succeeded", 3)


@played
async def test_the_profiles_time_limit_counts(tmp_path: Path) -> None:
    """AT-210."""
    profile = {"execution_kind": "local_process", "timeout_ms": 300}
    result = await called(tmp_path, declared("sleep", "60", profile=profile))
    assert result.status == "timed_out"


@played
async def test_a_tool_that_only_reads_cannot_write(tmp_path: Path) -> None:
    await called(tmp_path, declared("touch", "a", facts={"is_read_only": True}))
    await called(tmp_path, declared("touch", "b"))
    assert [path.name for path in sorted(tmp_path.iterdir()) if path.name in "ab"] == ["b"]


@pytest.mark.parametrize("argv", [[], [""], ["{text}"], ["run", "{unknown}"], ["a\0"], "ls -l", ["ls", 3]])
def test_a_mapping_that_cannot_be_used_is_refused(tmp_path: Path, argv: Any) -> None:
    tool = made("tool", TEXTS, tool_kind="shell_command", external_mappings=[{"source": "cli", "argv": argv}])
    executor = ShellExecutor(tmp_path)
    assert executor.can_run(tool)
    with pytest.raises(ExecutionFailed) as failed:
        executor.prepare(tool)
    assert failed.value.error_class == "setup_required"


def test_other_tools_are_left_to_others(tmp_path: Path) -> None:
    executor = ShellExecutor(tmp_path)
    assert not executor.can_run(made("tool"))
    assert not executor.can_run(made("tool", tool_kind="shell_command"))
    assert not executor.can_run(made("tool", tool_kind="shell_command", external_mappings=[{"source": "cli"}]))
