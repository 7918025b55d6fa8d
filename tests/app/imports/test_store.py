"""What was imported, as it is written down: damage is told, and nothing is written through links or outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.app.imports.planning import ImportOptions, ImportPlan, carry_out, plan_import
from ferrule.app.imports.store import FOLDER, ImportRecord, demand_inside, load_import
from ferrule.errors import WorkspaceError

ONE = "tools/one.tool.md"


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


def test_nothing_is_written_through_links_or_outside(tmp_path: Path) -> None:
    root, outside = tmp_path / "w", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "tools").symlink_to(outside)
    for file in (ONE, "../x.tool.md", "/etc/x.tool.md", "a/../../x", ""):
        with pytest.raises(WorkspaceError):
            run_import(root, {file: text(1)})
    assert list(outside.iterdir()) == []
    (root / "one.tool.md").symlink_to(outside / "one.tool.md")
    with pytest.raises(WorkspaceError, match="link"):
        demand_inside(root, "one.tool.md")


@pytest.mark.parametrize("damage", ["{", '{"a": 1}', '{"../x": "y"}', "\x00"])
def test_a_damaged_record_is_told_and_not_guessed_at(tmp_path: Path, damage: str) -> None:
    run_import(tmp_path, {ONE: text(1)})
    (tmp_path / FOLDER / "pets" / "base.json").write_text(damage)
    with pytest.raises(WorkspaceError):
        load_import(tmp_path, "pets")
