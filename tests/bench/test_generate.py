"""The benchmark's work is what it claims to be: the same every time, clean but for the planted mistakes, the right size."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.generate import FORMS, write_workspace

from ferrule.workspace.workspace import Workspace


@pytest.mark.parametrize("form", FORMS)
def test_generated_definitions_have_the_planted_mistakes_and_no_others(form: str, tmp_path: Path) -> None:
    planted = write_workspace(tmp_path, form, 300)
    report = Workspace.open(tmp_path).check()
    assert planted > 0
    assert len(report.diagnostics) == report.summary.errors == planted
    assert report.summary.tools >= 300 - planted


@pytest.mark.parametrize("form", FORMS)
def test_the_same_seed_gives_the_same_bytes(form: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_workspace(tmp_path / name, form, 40)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two


def test_an_aml_file_has_a_realistic_size(tmp_path: Path) -> None:
    write_workspace(tmp_path, "aml", 200)
    sizes = [path.stat().st_size for path in (tmp_path / "tools").iterdir()]
    assert 1500 < sum(sizes) / len(sizes) < 1900
