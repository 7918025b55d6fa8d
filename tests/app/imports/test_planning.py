"""What an import does to files: nothing of the user's is lost, nothing is half written, nothing outside is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule.app.imports.planning import ImportOptions, ImportPlan, carry_out, plan_import
from ferrule.app.imports.store import ImportRecord, StoredImport, list_imports, load_import
from ferrule.errors import WorkspaceError

ONE, OTHER = "tools/one.tool.md", "tools/other.tool.md"


def text(number: int, more: str = "") -> str:
    return f"---\ntool_id: a-tool\nnumber: {number}\n{more}---\n"


def record(name: str = "pets") -> ImportRecord:
    return ImportRecord(name=name, kind="openapi", source="pets.yaml", out="tools", imported_at="2026-01-01T00:00:00Z")


def run_import(
    root: Path, files: dict[str, str], wishes: ImportOptions | None = None, name: str = "pets"
) -> ImportPlan:
    plan = plan_import(root, record(name), load_import(root, name), files, wishes or ImportOptions())
    carry_out(root, plan)
    return plan


def states(plan: ImportPlan) -> dict[str, str]:
    return {one.file: one.state for one in plan.files}


def test_an_import_and_the_same_again(tmp_path: Path) -> None:
    assert states(run_import(tmp_path, {ONE: text(1)})) == {ONE: "new"}
    assert (tmp_path / ONE).read_text() == text(1)
    assert states(run_import(tmp_path, {ONE: text(1)})) == {ONE: "unchanged"}
    assert [one.source for one in list_imports(tmp_path)] == ["pets.yaml"]


def test_edits_stay_and_what_is_new_upstream_comes(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1)})
    (tmp_path / ONE).write_text(text(1, "mine: true  # yes\n"))
    plan = run_import(tmp_path, {ONE: text(2)})
    assert states(plan) == {ONE: "updated"}
    assert (tmp_path / ONE).read_text() == text(2, "mine: true  # yes\n")
    kept = load_import(tmp_path, "pets")
    assert kept is not None
    assert kept.bases == {ONE: text(2)}


def test_a_conflict_leaves_its_file_alone_and_is_there_again_until_it_is_decided(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1), OTHER: text(1)})
    (tmp_path / ONE).write_text(text(7, "mine: 1\n"))
    for _ in range(2):
        plan = run_import(tmp_path, {ONE: text(2), OTHER: text(2)})
        assert states(plan)[ONE] == "conflict"
        assert plan.having("conflict", "taken")
        assert (tmp_path / ONE).read_text() == text(7, "mine: 1\n")
        assert (tmp_path / OTHER).read_text() == text(2)
    assert not run_import(tmp_path, {ONE: text(2), OTHER: text(2)}, ImportOptions("mine")).having("conflict", "taken")
    assert (tmp_path / ONE).read_text() == text(7, "mine: 1\n")
    assert states(run_import(tmp_path, {ONE: text(2), OTHER: text(2)}))[ONE] == "unchanged"


def test_theirs_takes_the_other_side_of_a_conflict_and_keeps_the_rest(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1)})
    (tmp_path / ONE).write_text(text(7, "mine: 1\n"))
    run_import(tmp_path, {ONE: text(2)}, ImportOptions("theirs"))
    assert (tmp_path / ONE).read_text() == text(2, "mine: 1\n")


def test_what_is_gone_upstream_stays_unless_it_is_to_go(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1), OTHER: text(1)})
    assert states(run_import(tmp_path, {ONE: text(1)}))[OTHER] == "gone"
    assert (tmp_path / OTHER).exists()
    (tmp_path / OTHER).write_text(text(9))
    assert states(run_import(tmp_path, {ONE: text(1)}, ImportOptions(prunes=True)))[OTHER] == "gone"
    (tmp_path / OTHER).write_text(text(1))
    assert states(run_import(tmp_path, {ONE: text(1)}, ImportOptions(prunes=True)))[OTHER] == "pruned"
    assert not (tmp_path / OTHER).exists()
    assert states(run_import(tmp_path, {ONE: text(1)})) == {ONE: "unchanged"}


def test_a_deleted_file_stays_deleted_until_it_is_wanted_again(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1)})
    (tmp_path / ONE).unlink()
    assert states(run_import(tmp_path, {ONE: text(2)})) == {ONE: "deleted"}
    assert states(run_import(tmp_path, {ONE: text(3)})) == {ONE: "deleted"}
    assert not (tmp_path / ONE).exists()
    assert states(run_import(tmp_path, {ONE: text(3)}, ImportOptions(again=True))) == {ONE: "new"}
    assert (tmp_path / ONE).read_text() == text(3)


def test_a_file_that_no_import_made_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / ONE).write_text("mine")
    assert states(run_import(tmp_path, {ONE: text(1)}, ImportOptions("theirs"))) == {ONE: "taken"}
    assert (tmp_path / ONE).read_text() == "mine"
    run_import(tmp_path, {OTHER: text(1)}, name="first")
    assert states(run_import(tmp_path, {OTHER: text(2)}, ImportOptions("theirs"), name="second")) == {OTHER: "taken"}


def test_somebody_elses_change_between_planning_and_writing_stops_it(tmp_path: Path) -> None:
    run_import(tmp_path, {ONE: text(1)})
    plan = plan_import(tmp_path, record(), load_import(tmp_path, "pets"), {ONE: text(2)})
    (tmp_path / ONE).write_text(text(5))
    with pytest.raises(WorkspaceError, match="meanwhile"):
        carry_out(tmp_path, plan)
    assert (tmp_path / ONE).read_text() == text(5)


_IMPORT = """
import sys
from pathlib import Path
from ferrule.app.imports.planning import carry_out, plan_import, ImportOptions
from ferrule.app.imports.store import ImportRecord, load_import
root = Path(sys.argv[1])
record = ImportRecord(name="pets", kind="openapi", source="p", out="tools", imported_at="")
number = 0
print("ready", flush=True)
while True:
    number += 1
    body = "line\\n" * 2_000
    files = {f"tools/t{one}.tool.md": f"---\\nnumber: {number}\\n---\\n{body}end\\n" for one in range(COUNT)}
    carry_out(root, plan_import(root, record, load_import(root, "pets"), files, ImportOptions("theirs")))
"""


@pytest.mark.parametrize(("after", "count"), [(0, 5), (2, 5), (0, 12), (2, 12)])
def test_a_kill_in_the_middle_leaves_no_half_file_and_the_next_import_repairs_it(
    tmp_path: Path, after: int, count: int
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _IMPORT.replace("COUNT", str(count)), str(tmp_path)], stdout=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    seen: set[int] = set()
    while len(seen) <= after + 1:  # some writes later, wherever it is by then
        seen |= {file.stat().st_mtime_ns for file in tmp_path.glob("tools/t*.md")}
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
    for file in tmp_path.glob("tools/t*.md"):
        assert file.read_text().endswith("line\nend\n")
    kept: StoredImport | None = load_import(tmp_path, "pets")
    files = {f"tools/t{one}.tool.md": text(1) for one in range(count)}
    plan = plan_import(tmp_path, record(), kept, files, ImportOptions("theirs"))
    carry_out(tmp_path, plan)
    assert not plan.having("conflict", "taken")
    assert {(tmp_path / file).read_text() for file in files} == {text(1)}
