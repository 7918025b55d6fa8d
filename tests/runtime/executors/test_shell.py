"""Declared command lines: arguments fill words and nothing else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.executor import ExecutionFailed
from ferrule.model.result import Result
from ferrule.runtime.executors.shell import CommandLine, ShellExecutor, fill_words
from ferrule.testing import memory_app
from ferrule.workspace.workspace import Workspace
from tests.infra.processes.recording import sandboxed
from tests.spec.running_app import TRUSTED, make_tool, run_async

TEXTS: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}


def declared(
    *argv: str, profile: dict[str, Any] | None = None, facts: dict[str, Any] | None = None, **mapping: Any
) -> Any:
    """A tool that runs a program."""
    return make_tool(
        "tool", TEXTS, tool_kind="shell_command", execution_profile=profile or {"execution_kind": "local_process"},
        external_mappings=[{"source": "cli", "argv": list(argv), **mapping}], **(facts or {}),
    )  # fmt: skip


async def called(
    root: Path, tool: Any, *, env: dict[str, str] | None = None, vault: Any = None, **arguments: Any
) -> Result:
    sandboxed()
    executor = ShellExecutor(
        root, protected=(root / ".ferrule",), env=env, vault=None if vault is None else lambda: vault
    )
    async with memory_app(tools=(tool,), policy=TRUSTED, executors=[executor]) as app:
        result = await app.surface(principal="ann").call("tool", arguments)
        assert isinstance(result, Result), result
        return result


def content(result: Result) -> Any:
    return result.to_record()["structured_content"]


@run_async
async def test_a_declared_program_runs_with_its_arguments(tmp_path: Path) -> None:
    result = await called(tmp_path, declared("printf", "%s|", "{text}", "--n={count}"), text="a; $(id) *", count=3)
    assert content(result)["output"] == "a; $(id) *|--n=3|"
    assert content(result)["exit_code"] == 0


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_text_is_one_word(text: str) -> None:
    line = CommandLine(("run", "--", "{text}", "x{text}y"))
    assert fill_words(line, {"text": text}) == ("run", "--", text, f"x{text}y")


@pytest.mark.parametrize("text", ["-rf", "--output=x", "-"])
def test_a_value_makes_no_option(text: str) -> None:
    with pytest.raises(ExecutionFailed, match="option"):
        fill_words(CommandLine(("run", "{text}")), {"text": text})
    assert fill_words(CommandLine(("run", "--", "{text}")), {"text": text}) == ("run", "--", text)
    assert fill_words(CommandLine(("run", "-x={text}")), {"text": text}) == ("run", f"-x={text}")
    assert fill_words(CommandLine(("run", "{text}"), option_members=("text",)), {"text": text}) == ("run", text)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", ["x"], {"a": 1}])
def test_what_is_no_word_is_refused(value: Any) -> None:
    with pytest.raises(ExecutionFailed):
        fill_words(CommandLine(("run", "--", "{text}")), {"text": value})


def test_a_word_without_its_argument_is_left_out() -> None:
    line = CommandLine(("run", "--n={count}", "{text}", "end"))
    assert fill_words(line, {"count": 1}) == ("run", "--n=1", "end")
    assert fill_words(line, {"text": "{count}", "count": 2}) == ("run", "--n=2", "{count}", "end")


@run_async
async def test_exit_codes_are_read_as_declared(tmp_path: Path) -> None:
    """AT-195, AT-258: what a code means is the declaration's to say; the code itself is kept."""
    failing = await called(tmp_path, declared("sh", "-c", "echo why; exit 3"))
    assert failing.error is not None
    assert (failing.error.error_class, failing.error.native_error_ref) == ("execution_failed", "exit_code:3")
    assert content(failing)["output"] == "why\n"
    fine = await called(tmp_path, declared("sh", "-c", "exit 3", success_exit_codes=[0, 3]))
    assert (fine.status, content(fine)["exit_code"]) == ("succeeded", 3)


@run_async
async def test_the_profiles_time_limit_counts(tmp_path: Path) -> None:
    """AT-210."""
    profile = {"execution_kind": "local_process", "timeout_ms": 300}
    result = await called(tmp_path, declared("sleep", "60", profile=profile))
    assert result.status == "timed_out"


@run_async
async def test_a_tool_that_only_reads_cannot_write(tmp_path: Path) -> None:
    await called(tmp_path, declared("touch", "a", facts={"is_read_only": True}))
    await called(tmp_path, declared("touch", "b"))
    assert [path.name for path in sorted(tmp_path.iterdir()) if path.name in "ab"] == ["b"]


@pytest.mark.parametrize("argv", [[], [""], ["{text}"], ["run", "{unknown}"], ["a\0"], "ls -l", ["ls", 3]])
def test_a_mapping_that_cannot_be_used_is_refused(tmp_path: Path, argv: Any) -> None:
    tool = make_tool("tool", TEXTS, tool_kind="shell_command", external_mappings=[{"source": "cli", "argv": argv}])
    executor = ShellExecutor(tmp_path)
    assert executor.can_run(tool)
    with pytest.raises(ExecutionFailed) as failed:
        executor.prepare(tool)
    assert failed.value.error_class == "setup_required"


def test_other_tools_are_left_to_others(tmp_path: Path) -> None:
    executor = ShellExecutor(tmp_path)
    assert not executor.can_run(make_tool("tool"))
    assert not executor.can_run(make_tool("tool", tool_kind="shell_command"))
    assert not executor.can_run(make_tool("tool", tool_kind="shell_command", external_mappings=[{"source": "cli"}]))


@run_async
async def test_a_program_sees_the_variables_its_declaration_names_and_no_others(tmp_path: Path) -> None:
    """AT-195: the environment is the declaration's to say."""
    tool = declared("env", env={"allow": ["SHOWN", "ABSENT"], "set": {"FIXED": "1", "LANG": "de_DE.UTF-8"}})
    result = await called(tmp_path, tool, env={"SHOWN": "yes", "HIDDEN": "no"})
    lines = content(result)["output"].splitlines()
    assert {"SHOWN=yes", "FIXED=1", "LANG=de_DE.UTF-8"} <= set(lines)
    assert not any(line.startswith(("HIDDEN", "ABSENT")) for line in lines)
    alone = await called(tmp_path, declared("env", env=["SHOWN"]), env={"SHOWN": "yes"})
    assert "SHOWN=yes" in content(alone)["output"]


class OneSecret:
    """A vault with one thing in it."""

    async def secret(self, ref: Any, context: Any) -> str:
        if ref.name != "TOKEN":
            raise ExecutionFailed("credential_missing", f"the secret {ref.label} is not set")
        return "s3cret-of-the-shell"


@run_async
async def test_a_secret_reaches_the_program_and_nobody_else(tmp_path: Path) -> None:
    tool = declared("env", env={"secrets": {"API_TOKEN": {"source": "env", "name": "TOKEN"}}})
    result = await called(tmp_path, tool, vault=OneSecret())
    assert "API_TOKEN=" in content(result)["output"]
    assert "s3cret-of-the-shell" not in str(result.to_record())
    missing = declared("env", env={"secrets": {"API_TOKEN": {"source": "env", "name": "OTHER"}}})
    refused = await called(tmp_path, missing, vault=OneSecret())
    assert refused.error is not None and refused.error.error_class == "credential_missing"


@pytest.mark.parametrize(
    ("number", "error_class", "code", "words"),
    [
        (3, "rate_limited", "busy", "come back later"),
        (9, "invalid_arguments", "exit_code", "exit code 9"),
        (4, "dependency_unavailable", "exit_code", "something is down"),
    ],
)
@run_async
async def test_exit_codes_mean_what_the_declaration_says(
    tmp_path: Path, number: int, error_class: str, code: str, words: str
) -> None:
    """AT-195"""
    codes = {
        "3": {"class": "rate_limited", "message": "come back later", "code": "busy", "retry_after": 1.5},
        "9": {"class": "invalid_arguments"},
        "*": {"class": "dependency_unavailable", "message": "something is down"},
    }
    result = await called(tmp_path, declared("sh", "-c", f"echo said; exit {number}", exit_codes=codes))
    assert result.error is not None
    assert (result.error.error_class, result.error.error_code) == (error_class, code)
    assert words in result.error.message
    assert result.error.native_error_ref == f"exit_code:{number}"
    assert content(result)["output"] == "said\n"


@run_async
async def test_json_of_the_standard_output_is_the_result(tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text('{"found": [1, 2]}', encoding="utf-8")
    tool = declared("sh", "-c", "cat found.json; echo warning >&2", output="json")
    assert content(await called(tmp_path, tool)) == {"found": [1, 2]}
    broken = await called(tmp_path, declared("echo", "no json", output="json"))
    assert broken.error is not None and broken.error.error_code == "output_not_json"
    assert "no json" not in broken.error.message


@run_async
async def test_what_a_program_writes_is_read_along(tmp_path: Path) -> None:
    sandboxed()
    tool = declared("sh", "-c", "echo one; sleep 0.3; echo two; printf three")
    executor = ShellExecutor(tmp_path)
    async with memory_app(tools=(tool,), policy=TRUSTED, executors=[executor]) as app:
        result = await app.surface(principal="ann").call("tool", {})
        assert isinstance(result, Result)
        told = [said async for said in app.follow(result.invocation_id)]
    parts = [block["text"] for said in told if said.status == "partial_result" for block in said.extra["content"]]
    assert "".join(parts) == "one\ntwo\nthree"
    assert len(parts) >= 2


@pytest.mark.parametrize(
    "mapping",
    [
        {"env": {"allow": ["A=B"]}},
        {"env": {"set": {"": "x"}}},
        {"env": {"sett": {}}},
        {"env": {"secrets": {"A": {"source": "env", "name": "B"}}}},
        {"exit_codes": {"many": {}}},
        {"exit_codes": {"3": {"class": "unheard_of"}}},
        {"output": "xml"},
    ],
)
def test_a_mapping_with_a_mistake_is_told(tmp_path: Path, mapping: dict[str, Any]) -> None:
    with pytest.raises(ExecutionFailed) as told:
        ShellExecutor(tmp_path).prepare(declared("true", **mapping))
    assert told.value.error_class == "setup_required"


@run_async
async def test_the_exported_profile_says_all_eight_facts(tmp_path: Path) -> None:
    """AT-194, AT-195"""
    tool = declared("git", "log", cwd="repo", exit_codes={"3": {"class": "rate_limited"}}, env=["LANG"])
    async with memory_app(tools=(tool,), executors=[ShellExecutor(tmp_path)]) as app:
        profile = app.execution_profile(tool.tool_id)
    facts = {"command_parsing", "working_directory", "environment", "sandbox_profile", "supports_background"}
    facts |= {"timeout_behavior", "exit_code_interpretation", "classifier_input"}
    assert facts <= profile.keys()
    assert profile["working_directory"] == "workspace:/repo"
    assert profile["supports_background"] is False and profile["supports_resume"] is False
    assert profile["exit_code_interpretation"]["failures"]["3"]["class"] == "rate_limited"
    assert "AT-195" not in _rules_broken(profile)
    assert "AT-195" in _rules_broken({"execution_profile_id": "x", "execution_kind": "shell"})


def _rules_broken(profile: dict[str, Any]) -> set[str]:
    """What the linter says about such a profile, as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ferrule.toml").write_text('namespace = "t"\n', encoding="utf-8")
        (Path(folder) / "git.json").write_text(json.dumps({"schema_version": "0.2.0", **profile}), encoding="utf-8")
        return {found.rule for found in Workspace.open(folder).check().diagnostics}
