"""Every rule, as its Markdown cases say: the expected diagnostics and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.workspace.workspace import Workspace
from tests.definitions.rules.cases import HERE, Case, read_cases

CASES = [case for path in sorted((HERE / "cases").glob("**/*.md")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_gives_exactly_the_expected_diagnostics(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in case.files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    whole = case.options.get("folder") == "true" or (len(case.files) > 1 and case.options.get("alone") != "true")
    paths: list[str] = ["."] if whole else list(case.files)
    report = Workspace.open(tmp_path).check(
        paths, now=case.options.get("now", "2026-05-01"), compat=case.options.get("compat") == "true"
    )
    found = sorted((d.file, d.line, d.rule, d.severity.value) for d in report.diagnostics)
    wanted = sorted((e.file, e.line, e.rule, e.severity) for e in case.expected)
    assert found == wanted, "\n".join(
        f"{d.file}:{d.line} {d.rule} {d.severity.value} {d.path}: {d.message}" for d in report.diagnostics
    )
