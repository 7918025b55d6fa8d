"""Several processes give what one gives, also when a process dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.definitions.compiler import pool
from ferrule.definitions.compiler.pool import FileTask
from ferrule.workspace.workspace import Workspace

TASKS = tuple(FileTask(f"/p/{n}", f"{n}", False) for n in range(1000))


def run(module: str, jobs: int = 3) -> list[str]:
    return pool.run(
        TASKS, lambda tasks: [task.name for task in tasks], lambda data: [], b"\x90", jobs=jobs, module=module
    )


@pytest.mark.parametrize("module", ["ferrule.no_such_module", "antigravity_is_not_here"])
def test_a_process_that_dies_costs_nothing_but_time(module: str) -> None:
    assert run(module) == [task.name for task in TASKS]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    for number in range(10):
        (tmp_path / f"{number}.md").write_text("nothing")
    Workspace.open(tmp_path).check(progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (10, 10)


def test_the_same_diagnostics_come_from_one_process_and_from_two(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    for number in range(500):
        text = f"---\ntool_id: t-{number:04}\nstatus: {'active' if number % 7 else 'odd'}\n---\n"
        (folder / f"t-{number:04}.tool.md").write_text(text)
    workspace = Workspace.open(tmp_path)
    alone = workspace.check(use_cache=False, jobs=1).diagnostics
    together = workspace.check(use_cache=False, jobs=2).diagnostics
    assert alone == together
    assert alone
