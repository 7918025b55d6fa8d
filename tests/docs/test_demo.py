"""The demo workspace: nothing wrong with it, every tool answers, and `make run` tells its story as often as one likes."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from scripts import demo

import ferrule
from ferrule.workspace import Workspace
from tests.cli import run

DEMO = Path(__file__).parent.parent.parent / "demo"
SAMPLES: dict[str, dict[str, object]] = {
    "find-order": {"order_number": "TC-104233"},
    "check-stock": {"article": "CHAIN-9"},
    "refund-order": {"order_number": "TC-104233", "amount_eur": 12, "reason": "late"},
    "ask-workshop": {"question": "What is wrong with it?", "ticket": "R-2201"},
    "Shipping.GetQuote": {"weight_kg": 2.5, "country": "PT"},
    "Shipping.BookPickup": {"order_number": "TC-104301", "day": "2026-05-04"},
    "tool_weather_forecast": {"place": "Porto", "day": "2026-05-04"},
    "repair-planner.find_slots": {"from": "2026-05-04", "until": "2026-05-08"},
    "repair-planner.book_slot": {"slot": "tue-1430", "ticket": "R-2201"},
    "tidewater.count_shelves": {"shelves": 2, "seconds": 0.02},
    "tidewater.print_labels": {"labels": 2, "seconds": 0.02},
}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns(".ferrule", "ferrule.pub")))


def test_demo_has_no_mistake_and_shows_all_four_dialects() -> None:
    report = Workspace.open(DEMO).check(now="2026-05-01")
    assert not report.diagnostics, "\n".join(f"{d.file}:{d.line} {d.rule} {d.message}" for d in report.diagnostics)
    assert report.summary.tools == 9


def test_policy_says_what_its_cases_expect(copied: Path) -> None:
    ran = run.ferrule("policy", "test", folder=copied)
    assert ran.code == 0, ran.out + ran.err
    assert "0 failed" in ran.out


def test_every_tool_answers_once_it_is_allowed(copied: Path) -> None:
    async def main() -> None:
        (copied / "policy.toml").write_text('mode = "trusted"\n', encoding="utf-8")
        async with ferrule.open(copied) as app:
            surface = app.surface(principal="lena")
            assert set(surface.surface.entries) == set(SAMPLES)
            for name, arguments in SAMPLES.items():
                outcome = await surface.call(name, arguments)
                assert outcome.is_pending or not outcome.is_error, f"{name}: {outcome}"

    asyncio.run(main())


def test_the_story_can_be_told_twice(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for _ in range(2):
        assert demo.main(copied) == 0, capfd.readouterr().out
        told = capfd.readouterr().out
        for words in (
            "12 files, 9 tools: no problems",
            '"state": "delivered"',
            "waiting: ",
            "1 call waits",
            "the call succeeded",
            "approved  ",
            "denied: rule 'no-goodwill-above-50'",
            "nothing wrong in",
            "there is no tool 'refund-oder'",
            "help: did you mean 'refund-order'?",
        ):
            assert words in told, told


def test_a_story_that_goes_astray_says_so(copied: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (copied / "tools" / "find-order.tool.md").write_text("---\ntool_id: find-order\n---\n", encoding="utf-8")
    assert demo.main(copied) == 1
    assert "To start afresh: git checkout demo" in capfd.readouterr().out
