"""Programs by their names: which file is run, and which name stands for none."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes import programs
from ferrule.infra.processes.programs import NoSuchProgram, ProgramLimits, find_program, limit_command
from tests.infra.processes.recording import run_line
from tests.infra.processes.secret_workspace import write_secret_workspace
from tests.spec.running_app import run_async


@pytest.mark.parametrize("line", ["no-such-program", "cd /", "/usr", "/usr/bin/no-such-program", "export x"])
@run_async
async def test_what_is_no_program_is_refused(workspace: Path, line: str) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await run_line(line, write_secret_workspace(workspace))
    assert (failed.value.error_class, failed.value.code) == ("invalid_arguments", "no_such_program")


def test_a_name_is_looked_for_in_the_folders_in_their_order_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = tuple(str(tmp_path / name) for name in ("first", "second", "elsewhere"))
    for folder in folders:
        os.mkdir(folder)
        (Path(folder) / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "second/tool").chmod(0o755)
    (tmp_path / "elsewhere/tool").chmod(0o755)
    monkeypatch.setenv("PATH", folders[2])
    monkeypatch.chdir(folders[2])
    assert find_program("tool", folders[:2]) == f"{folders[1]}/tool"
    assert find_program(f"{folders[2]}/tool", folders[:2]) == f"{folders[2]}/tool"
    for name in ("./tool", "second/tool", "missing", "", "tool\0", folders[1], f"{folders[0]}/tool"):
        with pytest.raises(NoSuchProgram):
            find_program(name, folders[:2])


def test_a_name_without_end_is_shown_cut() -> None:
    with pytest.raises(NoSuchProgram) as refused:
        find_program("/" + "x" * 5000)
    assert len(str(refused.value)) < 150


def test_limits_are_no_higher_than_our_own_and_processes_are_counted_in_a_namespace_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "find_program", lambda name: f"/bin/{name}")
    monkeypatch.setattr(programs, "_kernel", lambda: (6, 1))
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 100 if kind == resource.RLIMIT_NOFILE else -1))
    words = limit_command(
        ProgramLimits(seconds=1.5, open_files=500, processes=9, memory_bytes=7), in_own_namespace=True
    )
    assert words[0] == "/bin/prlimit" and words[-1] == "--"
    assert {"--cpu=3", "--data=7", "--nofile=100", "--core=0", "--nproc=9"} <= set(words)
    assert "--nproc=9" not in limit_command(ProgramLimits(processes=9), in_own_namespace=False)
    monkeypatch.setattr(programs, "_kernel", lambda: (5, 13))
    assert "--nproc=9" not in limit_command(ProgramLimits(processes=9), in_own_namespace=True)


def test_where_nothing_can_set_limits_none_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise NoSuchProgram(name)

    monkeypatch.setattr(programs, "find_program", missing)
    assert limit_command(ProgramLimits(), in_own_namespace=True) == ()
