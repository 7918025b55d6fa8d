"""With and without a sandbox: what is run where one is required, preferred or missing, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.processes import confined
from tests.infra.processes.recording import make_confinement, run_line, sandboxed
from tests.infra.processes.secret_workspace import write_secret_workspace
from tests.spec.running_app import run_async


@run_async
async def test_a_program_outside_is_refused(workspace: Path) -> None:
    program = workspace.parent / "tool"
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    with pytest.raises(ExecutionFailed) as failed:
        await run_line([str(program)], write_secret_workspace(workspace))
    assert failed.value.error_class == "sandbox_violation"
    inside = workspace / "tool"
    inside.write_text("#!/bin/sh\necho hi\n")
    inside.chmod(0o755)
    assert (await run_line([str(inside)], write_secret_workspace(workspace))).ended.output == "hi\n"


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bubblewrap."""

    def missing() -> str:
        return "bubblewrap (bwrap) is not installed"

    missing.cache_info = lambda: type("Info", (), {"currsize": 1})  # type: ignore[attr-defined]  # as `cache` gives it
    monkeypatch.setattr(confined, "find_bubblewrap", missing)


@pytest.mark.usefixtures("no_sandbox")
@run_async
async def test_without_a_sandbox_nothing_runs_where_one_is_required(tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailed) as failed:
        await run_line("touch x", make_confinement(tmp_path))
    assert failed.value.error_class == "setup_required"
    assert "bubblewrap" in failed.value.message
    assert 'sandbox = "preferred"' in failed.value.message
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("no_sandbox")
@run_async
async def test_without_a_sandbox_it_runs_and_is_told_where_one_is_preferred(tmp_path: Path) -> None:
    finished = await run_line("touch x", make_confinement(tmp_path, mode="preferred"))
    assert finished.sandbox == "none"
    assert "not installed" in finished.note
    assert (tmp_path / "x").exists()


@run_async
async def test_preferred_takes_the_sandbox_that_is_there(tmp_path: Path) -> None:
    sandboxed()
    assert (await run_line("true", make_confinement(tmp_path, mode="preferred"))).sandbox == "bubblewrap"
