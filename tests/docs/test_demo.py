"""The demo workspace has exactly one mistake, the one `make run` is there to show."""

from __future__ import annotations

from pathlib import Path

from ferrule.workspace import Workspace

DEMO = Path(__file__).parent.parent.parent / "demo"


def test_demo_has_exactly_its_deliberate_mistake() -> None:
    found = Workspace.open(DEMO).check(now="2026-05-01").diagnostics
    assert [(diagnostic.rule, diagnostic.file.rpartition("/")[2]) for diagnostic in found] == [
        ("AML-91", "service-desk.agent.md")
    ], "\n".join(f"{d.file}:{d.line} {d.rule} {d.severity.value} {d.message}" for d in found)
    assert found[0].hint is not None
    assert "refund-order" in found[0].hint


def test_demo_shows_all_four_dialects() -> None:
    report = Workspace.open(DEMO).check()
    assert report.summary.tools == 9
